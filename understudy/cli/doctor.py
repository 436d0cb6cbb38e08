"""``understudy doctor``: what is wrong and what to do."""

from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.service import Service
from understudy.connection import default_data_folder
from understudy.doctor import examine_folder, examine_service, is_ailing

PROBLEMS = 1


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
    tell(report, lines or ["All is well."], as_json=as_json)
    if ailing:
        raise typer.Exit(PROBLEMS)
