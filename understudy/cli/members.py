"""``understudy members``: which analysts may see a dataset."""

from typing import Annotated

import typer

from understudy.cli.answers import write_answer
from understudy.cli.options import AsJson, DatasetId
from understudy.cli.service import Commands, Service
from understudy.results.governance import Member

app = Commands(help="Manage which analysts may see a dataset (owner or admin).", no_args_is_help=True)

PrincipalId = Annotated[
    str, typer.Argument(help="Principal of the analyst; `understudy members me` prints yours.")
]


@app.command("add")
def add(dataset: DatasetId, principal: PrincipalId, as_json: AsJson = False, *, service: Service) -> None:
    """Let an analyst see a dataset and request budget."""
    with service.governing_client() as client:
        write_members(client.governance.add_member(dataset, principal), as_json=as_json)


@app.command("remove")
def remove(dataset: DatasetId, principal: PrincipalId, as_json: AsJson = False, *, service: Service) -> None:
    """Hide a dataset from an analyst. Jobs already ordered go on."""
    with service.governing_client() as client:
        write_members(client.governance.remove_member(dataset, principal), as_json=as_json)


@app.command("list")
def list_members(dataset: DatasetId, as_json: AsJson = False, *, service: Service) -> None:
    """List the analysts who may see a dataset."""
    with service.governing_client() as client:
        write_members(client.governance.list_members(dataset), as_json=as_json)


@app.command("me")
def me(as_json: AsJson = False, *, service: Service) -> None:
    """Print the principal of the analyst's key, for `understudy members add`."""
    with service.client("analyst") as client:
        who = client.governance.who_am_i()
    write_answer(who.document, [who.principal_id], as_json=as_json)


def write_members(members: tuple[Member, ...], *, as_json: bool) -> None:
    """List members."""
    lines = [f"{member.principal_id}  since {member.added_at}" for member in members]
    no_members = "no members: only its owner, admins and auditors see the dataset"
    write_answer([member.document for member in members], lines or [no_members], as_json=as_json)
