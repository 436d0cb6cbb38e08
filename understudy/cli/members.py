"""``understudy members``: the analysts to whom a dataset is shown."""

from typing import Annotated

import typer
from rich.console import Console

from understudy.cli.options import DataFolderPath, Key, Url
from understudy.cli.screen import TerminalScreen
from understudy.connection import find_connection
from understudy.governance.results import Member

app = typer.Typer(help="Show a dataset to analysts (owner or admin).", no_args_is_help=True)

DatasetId = Annotated[str, typer.Argument(help="Id of the dataset.")]
PrincipalId = Annotated[
    str, typer.Argument(help="The analyst's principal; `understudy members me` tells one's own.")
]


@app.command("add")
def add(
    dataset: DatasetId,
    principal: PrincipalId,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Show a dataset to an analyst, who may then file budget requests."""
    connection = find_connection(url=url, key=key, data_folder=data_folder)
    with connection.governing_client() as client:
        tell(client.governance.add_member(dataset, principal))


@app.command("remove")
def remove(
    dataset: DatasetId,
    principal: PrincipalId,
    url: Url = None,
    key: Key = None,
    data_folder: DataFolderPath = None,
) -> None:
    """Show a dataset to an analyst no longer; jobs already ordered go on."""
    connection = find_connection(url=url, key=key, data_folder=data_folder)
    with connection.governing_client() as client:
        tell(client.governance.remove_member(dataset, principal))


@app.command("list")
def list_members(
    dataset: DatasetId, url: Url = None, key: Key = None, data_folder: DataFolderPath = None
) -> None:
    """List the analysts to whom a dataset is shown."""
    connection = find_connection(url=url, key=key, data_folder=data_folder)
    with connection.governing_client() as client:
        tell(client.governance.list_members(dataset))


@app.command("me")
def me(url: Url = None, key: Key = None, data_folder: DataFolderPath = None) -> None:
    """Say which principal the analyst's key speaks for: what an owner adds as a member."""
    connection = find_connection(url=url, key=key, data_folder=data_folder)
    with connection.client("analyst") as client:
        TerminalScreen(Console()).say(client.governance.who_am_i().principal_id)


def tell(members: tuple[Member, ...]) -> None:
    """List members.

    Args:
        members: the members.
    """
    screen = TerminalScreen(Console())
    if not members:
        screen.say("no members: only its owner, admins and auditors see the dataset")
    for member in members:
        screen.say(f"{member.principal_id}  since {member.added_at}")
