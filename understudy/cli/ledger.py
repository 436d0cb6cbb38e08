"""``understudy ledger``: what was spent, the signed head to keep elsewhere, and whether the ledger is whole."""

import json
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from understudy.cli.answers import write_answer
from understudy.cli.jobs import ledger
from understudy.cli.options import AlreadyJson, AsJson, DatasetId
from understudy.cli.service import Commands, Service
from understudy.documents import Json
from understudy.errors import InputUnusable, VerificationFailed


class _ShowByDefault(TyperGroup):
    """`understudy ledger DATASET` is short for `understudy ledger show DATASET`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer brings a click of its own
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = Commands(
    cls=_ShowByDefault,
    help="Show and verify the ledger of a dataset. `understudy ledger DATASET` shows it.",
    no_args_is_help=True,
)
app.command("show")(ledger)


@app.command("head")
def head(dataset: DatasetId, _as_json: AlreadyJson = False, *, service: Service) -> None:
    """Print the signed head of the ledger as JSON. Keep it elsewhere, for `ledger verify --witness`."""
    with service.any_client() as client:
        write_answer(client.auditing.read_ledger_head(dataset), (), as_json=True)


@app.command("verify")
def verify(
    dataset: DatasetId,
    witness: Annotated[
        Path | None,
        typer.Option("--witness", help="Head kept earlier, as `understudy ledger head` prints it."),
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Recompute every hash and total of the ledger. With --witness, check that it passes through a head kept earlier."""
    noted = None if witness is None else read_witness(witness)
    with service.any_client() as client:
        found = client.auditing.verify_ledger(dataset, witness=noted)
        # Not on the service's word alone: its own statement must show the head that was noted.
        seen = noted is None or shows(client.read_ledger(dataset).entries, noted)
    whole = [f"the ledger is whole: {found['checked']} entries"] if found["intact"] and seen else []
    write_answer(found, whole, as_json=as_json)
    if not found["intact"]:
        message = f"the ledger is broken: {found['problem']} (after {found['checked']} entries)"
        raise VerificationFailed(message)
    if noted is not None and not seen:
        message = f"the ledger does not show entry {noted['sequence']} with the hash that was noted"
        raise VerificationFailed(message)


def read_witness(file: Path) -> Json:
    """Read a head that `understudy ledger head` wrote.

    Raises:
        InputUnusable: if it is none.
    """
    try:
        document = json.loads(file.read_text())
        return {"sequence": int(document["sequence"]), "hash": str(document["hash"])}
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{file} is no head of a ledger; `understudy ledger head DATASET` writes one"
        raise InputUnusable(message) from None


def shows(entries: tuple[Json, ...], noted: Json) -> bool:
    """Return whether the entries of a statement hold a noted head."""
    return noted["sequence"] == 0 or any(
        (entry["sequence"], entry["hash"]) == (noted["sequence"], noted["hash"]) for entry in entries
    )
