"""``understudy doctor``: what is wrong and what to do."""

import json
from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import DataFolderPath, Key, Url
from understudy.connection import default_data_folder
from understudy.doctor import examine_folder, examine_service, is_ailing
from understudy.plain_text import plain

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
    if as_json:
        findings = [one.to_json() for one in found]
        print(json.dumps({"status": "ailing" if ailing else "well", "findings": findings}, indent=2))
    else:
        console = Console()
        for one in found:
            text = f"{one.grade}: {one.detail}  [{one.code}]\n  {one.remedy}"
            console.print(plain(text), markup=False, highlight=False, soft_wrap=True)
        if not found:
            console.print("All is well.", markup=False, highlight=False)
    if ailing:
        raise typer.Exit(PROBLEMS)
