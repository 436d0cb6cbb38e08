"""Register the embedded stack's own keys: ``python -m service.provision --keys FILE``.

FILE is JSON, ``{"owner": "us_...", "analyst": "us_...", "admin": "us_..."}``, made by the supervisor and readable by
its user only. Running it again changes nothing. Refused in production, where the first admin key is made with
``python -m service.provision --first-admin`` and printed once.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from core.access.directory import KeyDirectory
from core.access.keys import KeyText, parse_key
from core.access.pepper import kept_pepper
from core.access.roles import Role
from core.clock import SystemClock
from core.db.session import Database
from core.settings import Settings, read_settings


class KeysFileInvalid(ValueError):
    """The file is not a JSON object of roles and well-formed keys."""


def read_keys(path: Path) -> dict[Role, KeyText]:
    """Read the file of keys.

    Raises:
        KeysFileInvalid: It is not of the documented form; the message names roles, never a key.
    """
    try:
        document = json.loads(path.read_text())
    except (OSError, ValueError):
        raise KeysFileInvalid("the file of keys cannot be read as JSON") from None
    if not isinstance(document, dict) or not document or not set(document) <= {role.value for role in Role}:
        raise KeysFileInvalid(f"the file must hold an object with keys for: {', '.join(Role)}")
    keys = {Role(name): parse_key(str(text)) for name, text in document.items()}
    malformed = sorted(role for role, key in keys.items() if key is None)
    if malformed:
        raise KeysFileInvalid(f"the key is malformed for: {', '.join(malformed)}")
    return {role: key for role, key in keys.items() if key is not None}


def provision(database: Database, directory: KeyDirectory, keys: dict[Role, KeyText], *, mode: str) -> None:
    """Register each key for its role, once.

    Raises:
        KeysFileInvalid: The service does not run in embedded mode.
    """
    if mode != "embedded":
        raise KeysFileInvalid("keys made elsewhere are registered in embedded mode only")
    with database.transaction() as session:
        for role, key in keys.items():
            directory.register(session, key, name=f"embedded {role.value}", roles=[role])


def first_admin(database: Database, directory: KeyDirectory) -> KeyText:
    """Make an admin key on a database that has no keys.

    Raises:
        KeysFileInvalid: There are keys already; an admin creates people through the API, who make their own.
    """
    with database.transaction() as session:
        if directory.list_keys(session):
            raise KeysFileInvalid(
                "this database has keys; ask an admin to create a person with POST /v1/people"
            )
        _, key = directory.issue(session, name="first admin", roles=[Role.ADMIN])
        return key


def main(arguments: list[str] | None = None, *, settings: Settings | None = None) -> int:
    """Run the command; the exit status says whether it worked."""
    parser = argparse.ArgumentParser(prog="python -m service.provision", description=__doc__)
    choice = parser.add_mutually_exclusive_group(required=True)
    choice.add_argument("--keys", type=Path, help="register the keys in this file (embedded mode only)")
    choice.add_argument("--first-admin", action="store_true", help="make and print the first admin key")
    options = parser.parse_args(arguments)
    settings = settings or read_settings()
    database = Database(settings.database_url)
    try:
        with database.transaction() as session:
            pepper = kept_pepper(session, master_keys=settings.master_keys, clock=SystemClock())
        directory = KeyDirectory(pepper=pepper, clock=SystemClock(), entropy=os.urandom)
        if options.first_admin:
            sys.stdout.write(first_admin(database, directory).text + "\n")
        else:
            provision(database, directory, read_keys(options.keys), mode=settings.mode)
    except KeysFileInvalid as refusal:
        sys.stderr.write(f"provision: {refusal}\n")
        return 2
    finally:
        database.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
