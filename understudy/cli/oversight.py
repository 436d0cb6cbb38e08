"""``understudy overview``, ``dossier``, ``signing-keys`` and ``doctor``: what the people who watch over a service read."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.answers import write_answer
from understudy.cli.options import AlreadyJson, AsJson, DatasetId
from understudy.cli.screen import TerminalScreen
from understudy.cli.service import Service
from understudy.client.auditing import DOSSIER_FORMATS
from understudy.connection import default_data_folder
from understudy.doctor import examine_folder, examine_service, is_ailing
from understudy.documents import Json, take
from understudy.errors import InputUnusable

PROBLEMS = 1


def overview(as_json: AsJson = False, *, service: Service) -> None:
    """Show what needs attention: budgets, open requests, grants that expire, jobs, refusals."""
    with service.any_client() as client:
        document = client.read_overview()
    write_answer(
        document, list(overview_lines(document)) or ["nothing that this key may see"], as_json=as_json
    )


def overview_lines(document: Json) -> Iterator[str]:
    """Format an overview; parts that the key may not list are left out."""
    known = ("datasets", "requests", "own_grants", "expiring_grants", "live_jobs", "failed_jobs", "refusals")
    datasets, requests, own, expiring, live, failed, refusals = take(document, *known)
    for one in datasets or ():
        yield f"dataset {one['id']} {one['name']!r}: {one['state']}; {_budget(one['budget'])}"
    for one in requests or ():
        now, after = one["remaining_epsilon"], one["remaining_epsilon_after"]
        missing = "no cap yet" if now is None else "does not fit"
        left = missing if after is None else f"would leave epsilon {after:.4g}"
        yield f"request {one['id']} on {one['dataset_name']!r}: epsilon {one['epsilon']:g}, {left}"
    for one in own or ():
        yield f"your grant {one['id']}: epsilon {one['orderable_epsilon']:.4g} can be ordered, until {one['expires_at'][:10]}"
    for one in expiring or ():
        yield f"grant {one['id']} expires {one['expires_at'][:10]}"
    for one in (*(live or ()), *(failed or ())):
        yield f"job {one['id']}: {one['kind']}, {one['state']}"
    for one in refusals or ():
        yield f"refused {one['at'][:10]}: {one['action']} [{one['outcome']}]"


def _budget(budget: Json | None) -> str:
    if budget is None or budget["cap"] is None:
        return "no cap"
    return f"cap epsilon {budget['cap']['epsilon']:g}, delta {budget['cap']['delta']:g}"


def dossier(
    dataset: DatasetId,
    out: Annotated[Path, typer.Option("--out", help="File to write: .html to print, .json for signed JSON.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Write the dossier of a dataset: promise, budget, requests, releases, certificates, ledger (owner, admin, auditor)."""
    file_format = out.suffix.removeprefix(".")
    if file_format not in DOSSIER_FORMATS:
        message = "--out ends in .html (a paper that prints) or in .json (the same, signed)"
        raise InputUnusable(message)
    with service.client("admin") as client:
        client.auditing.export_dossier(dataset, out, file_format=file_format)
    if as_json:
        write_answer({"file": str(out.resolve()), "format": file_format}, (), as_json=True)
    else:
        TerminalScreen(Console(stderr=True)).say(f"wrote {out}")


def signing_keys(
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: standard output.")
    ] = None,
    _as_json: AlreadyJson = False,
    *,
    service: Service,
) -> None:
    """Print the service's public signing keys, for `understudy verify --keys`."""
    with service.any_client() as client:
        text = json.dumps({"items": client.auditing.list_signing_keys()}, indent=2) + "\n"
    if out is None:
        print(text, end="")
    else:
        out.write_text(text)


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    *,
    service: Service,
) -> None:
    """Diagnose a running service, or the local stack and its data folder. Exits with 1 if there is a problem."""
    found = (
        None if service.data_folder and not service.url else examine_service(url=service.url, key=service.key)
    )
    if found is None:
        found = examine_folder(service.data_folder or default_data_folder())
    ailing = is_ailing(found)
    report = {"status": "ailing" if ailing else "well", "findings": [one.to_json() for one in found]}
    lines = [
        line for one in found for line in (f"{one.grade}: {one.detail}  [{one.code}]", f"  {one.remedy}")
    ]
    write_answer(report, lines or ["All is well."], as_json=as_json)
    if ailing:
        raise typer.Exit(PROBLEMS)
