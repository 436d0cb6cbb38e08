"""``understudy doctor``: what is wrong and what to do."""

from typing import Annotated

import typer

from understudy.cli.answers import tell
from understudy.cli.options import DataFolderPath, Key, Url
from understudy.connection import default_data_folder
from understudy.doctor import examine_folder, examine_service, is_ailing

PROBLEMS = 1


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Write the findings as JSON.")] = False,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Examine a running service, or the local stack and its data folder; exit status 1 where there is a problem."""
    found = None if data_folder and not url else examine_service(url=url, key=key)
    if found is None:
        found = examine_folder(data_folder or default_data_folder())
    ailing = is_ailing(found)
    told = {"status": "ailing" if ailing else "well", "findings": [one.to_json() for one in found]}
    lines = [
        line for one in found for line in (f"{one.grade}: {one.detail}  [{one.code}]", f"  {one.remedy}")
    ]
    tell(told, lines or ["All is well."], as_json=as_json)
    if ailing:
        raise typer.Exit(PROBLEMS)
