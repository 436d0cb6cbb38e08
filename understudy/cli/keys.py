"""``understudy keys``: make, list, rotate and revoke API keys."""

from typing import Annotated

import typer

from understudy.cli.answers import write_answer, write_secret
from understudy.cli.options import AsJson
from understudy.cli.service import Commands, Service
from understudy.client import Client
from understudy.results.keys import ApiKey

app = Commands(help="Create, list, rotate and revoke API keys.", no_args_is_help=True)

KeyId = Annotated[str, typer.Argument(help="Id of the key; `understudy keys list` shows it.")]


@app.command("create")
def create(
    name: Annotated[str, typer.Argument(help="Label of the key.")],
    role: Annotated[list[str], typer.Option("--role", help="owner, analyst, admin or auditor. Repeatable.")],
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", help="Restrict the key to a scope, such as datasets:write. Repeatable."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help='Expiry, such as 2027-01-31T12:00:00Z, or "never".')
    ] = None,
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Create another key for yourself and print it once. It has no more rights, and no longer life, than the key in use."""
    with _client(role[0], service) as client:
        made = client.create_key(name=name, roles=role, scopes=scope or (), expires_at=expires)
    write_secret(made.document, made.key, [key_line(made.facts)], as_json=as_json)


@app.command("name")
def name_principal(
    principal: Annotated[str, typer.Argument(help="Id of the principal; `understudy keys list` shows it.")],
    called: Annotated[str, typer.Argument(metavar="NAME", help="Display name.")],
    as_json: AsJson = False,
    *,
    service: Service,
) -> None:
    """Set the display name of a principal, shown beside its id. A name gives no rights."""
    with service.client("admin") as client:
        document = client.name_principal(principal, called)
    write_answer(document, [f"{document['principal_id']}  {document['name']}"], as_json=as_json)


@app.command("list")
def list_keys(as_json: AsJson = False, *, service: Service) -> None:
    """List your keys, or everybody's with an admin's key. Secrets are not shown."""
    with service.governing_client() as client:
        found = client.list_keys()
    write_answer([each.document for each in found], map(key_line, found), as_json=as_json)


@app.command("rotate")
def rotate(key_id: KeyId, as_json: AsJson = False, *, service: Service) -> None:
    """Replace the key in use and print the new one. The old key keeps working for a while."""
    with service.governing_client() as client:
        made = client.rotate_key(key_id)
    notes = [key_line(made.facts), f"the old key works until {made.document['old_key_ends_at']}"]
    write_secret(made.document, made.key, notes, as_json=as_json)


@app.command("revoke")
def revoke(key_id: KeyId, as_json: AsJson = False, *, service: Service) -> None:
    """Revoke one of your keys and its sessions; an admin may revoke anybody's."""
    with service.governing_client() as client:
        found = client.revoke_key(key_id)
    write_answer(found.document, [key_line(found)], as_json=as_json)


def _client(role: str, service: Service) -> Client:
    """Return a client with a key of this role if there is one: a new key has no more roles than the key that makes it."""
    connection = service.connect()
    return connection.client(role) if role in connection.keys else connection.governing_client()


def key_line(found: ApiKey) -> str:
    """Format a key as one line."""
    parts = [found.id, f"us_{found.prefix}_...", ",".join(found.roles), found.name]
    if found.principal_name is not None:
        parts.append(f"of {found.principal_name}")
    parts.append(f"principal {found.principal_id}")
    if found.scopes:
        parts.append(f"only {','.join(found.scopes)}")
    if found.revoked_at is not None:
        return "  ".join([*parts, f"revoked {found.revoked_at}"])
    parts.append("never expires" if found.expires_at is None else f"expires {found.expires_at}")
    parts.append("never used" if found.last_used_at is None else f"last used {found.last_used_at}")
    return "  ".join(parts)
