"""Register the embedded stack's own keys: ``python -m service.provision --keys FILE [--link FILE]``.

FILE is JSON, ``{"owner": "us_...", "analyst": "us_...", "admin": "us_..."}``, written by the supervisor and readable
only by its user. ``--link`` names a file with the token of a sign-in link, which then works once, for ten minutes. Running the command again changes nothing. Production refuses it; there
``python -m service.provision --first-admin`` creates the first admin key and prints it once.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from uuid import UUID

from sqlalchemy.orm import Session

from core.clock import Clock, SystemClock
from core.db.session import Database
from core.ledger import audit_log
from core.ledger.audit_log import DONE
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import KeyText, parse_key, parse_link_token
from core.platform.access.names import name_principal, names_of
from core.platform.access.pepper import kept_pepper
from core.platform.access.roles import Role
from core.platform.access.sign_in_links import SignInLinks
from core.platform.settings import Settings, read_settings

ACTOR = "provision"
"""The actor of the audit log: a program that a person with the data folder started."""


class KeysFileInvalid(ValueError):
    """The file is not a JSON object of roles and well-formed keys."""


def read_keys(path: Path) -> dict[Role, KeyText]:
    """Read the key file.

    Raises:
        KeysFileInvalid: The file is not in the documented format. The message names roles, never keys.
    """
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        raise KeysFileInvalid("the key file is not readable as JSON") from None
    if not isinstance(document, dict) or not document or not set(document) <= {role.value for role in Role}:
        raise KeysFileInvalid(f"the file must contain an object with keys for: {', '.join(Role)}")
    keys = {Role(name): parse_key(str(text)) for name, text in document.items()}
    malformed = sorted(role for role, key in keys.items() if key is None)
    if malformed:
        raise KeysFileInvalid(f"the key is malformed for: {', '.join(malformed)}")
    return {role: key for role, key in keys.items() if key is not None}


def read_link(path: Path) -> KeyText:
    """Read the token of a sign-in link.

    Raises:
        KeysFileInvalid: The file is not readable or holds no token.
    """
    try:
        token = parse_link_token(path.read_text().strip())
    except (OSError, ValueError):
        token = None
    if token is None:
        raise KeysFileInvalid("the file of the link holds no token")
    return token


def provision(
    database: Database,
    directory: KeyDirectory,
    keys: dict[Role, KeyText],
    *,
    mode: str,
    link: KeyText | None = None,
    links: SignInLinks,
    clock: Clock,
) -> None:
    """Register each key for its role, name its principal after it, and register a sign-in link if one is given.

    Registered keys and given names are left unchanged.

    The link signs the owner in with the roles of all keys, so that one person sees all pages.

    Raises:
        KeysFileInvalid: The service is not in embedded mode.
    """
    if mode != "embedded":
        raise KeysFileInvalid("keys generated elsewhere can be registered in embedded mode only")
    with database.transaction() as session:
        rows = {
            role: directory.register(session, key, name=f"embedded {role.value}", roles=[role])
            for role, key in keys.items()
        }
        _name(session, {role: row.principal_id for role, row in rows.items()}, clock=clock)
        if link is None:
            return
        if Role.OWNER not in rows:
            raise KeysFileInvalid("a sign-in link needs the owner's key")
        known = directory.key_of_all_roles(session, rows[Role.OWNER], rows)
        made = links.register(session, link, known=known)
        _note(session, action="sign-in-link.make", object_id=made.id, clock=clock)


def _name(session: Session, principals: Mapping[Role, UUID], *, clock: Clock) -> None:
    """Name each principal after its role, also in a folder of an earlier release. A name that somebody set stays.

    Pages show the name beside the id, by which nobody knows a role.
    """
    known = names_of(session, principals.values())
    by = principals.get(Role.ADMIN) or next(iter(principals.values()))
    for role, principal_id in principals.items():
        if principal_id not in known:
            name_principal(session, principal_id, role.value, by=by, clock=clock)
            _note(session, action="principal.name", object_id=principal_id, clock=clock)


def _note(session: Session, *, action: str, object_id: UUID, clock: Clock) -> None:
    audit_log.append(session, actor=ACTOR, action=action, object=str(object_id), outcome=DONE, at=clock.now())


def first_admin(database: Database, directory: KeyDirectory) -> KeyText:
    """Create an admin key in a database without keys.

    Raises:
        KeysFileInvalid: There are keys already. An admin creates people through the API, and people create their own keys.
    """
    with database.transaction() as session:
        if directory.list_keys(session):
            raise KeysFileInvalid(
                "this database already has keys; ask an admin to create a person with POST /v1/people"
            )
        _, key = directory.issue(session, name="first admin", roles=[Role.ADMIN])
        return key


def main(arguments: list[str] | None = None, *, settings: Settings | None = None) -> int:
    """Run the command; the exit status is 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m service.provision", description=__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--keys", type=Path, help="register the keys in this file (embedded mode only)")
    parser.add_argument("--link", type=Path, help="with --keys: the token of a sign-in link to make valid")
    choice.add_argument("--first-admin", action="store_true", help="create and print the first admin key")
    options = parser.parse_args(arguments)
    if options.link is not None and options.keys is None:
        parser.error("--link needs --keys")
    settings = settings or read_settings()
    database, clock = Database(settings.database_url), SystemClock()
    try:
        with database.transaction() as session:
            pepper = kept_pepper(session, master_keys=settings.master_keys, clock=clock)
        directory = KeyDirectory(pepper=pepper, clock=clock, entropy=os.urandom)
        if options.first_admin:
            sys.stdout.write(first_admin(database, directory).text + "\n")
        else:
            provision(
                database,
                directory,
                read_keys(options.keys),
                mode=settings.mode,
                link=None if options.link is None else read_link(options.link),
                links=SignInLinks(pepper=pepper, clock=clock),
                clock=clock,
            )
    except KeysFileInvalid as refusal:
        sys.stderr.write(f"provision: {refusal}\n")
        return 2
    finally:
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
