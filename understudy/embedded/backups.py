"""Backing up and restoring the data folder of an embedded stack, by the roles' own commands."""

from collections.abc import Callable
from pathlib import Path

from understudy.embedded.child import log_tail
from understudy.embedded.errors import FolderInUse, FolderUnusable, ServerFailed
from understudy.embedded.folder import DataFolder
from understudy.embedded.tasks import run, running_postgres

Notice = Callable[[str], None]
_UPGRADE_FIRST = 3
"""Exit status of workers.restore for a backup of another release."""


def back_up(folder: DataFolder, target: Path) -> None:
    """Write database and objects into a folder that is new or empty; the stack may run.

    Raises:
        ServerFailed: if it could not be made; the message says why.
    """
    try:
        lock = folder.lock()
    except FolderInUse:
        # A supervisor keeps Postgres running, and a backup needs nothing else.
        run(folder, "backup", "workers.backup", str(target))
        return
    try:
        with running_postgres(folder):
            run(folder, "backup", "workers.backup", str(target))
    finally:
        lock.release()


def restore(folder: DataFolder, source: Path, *, notice: Notice) -> bool:
    """Restore a backup into a data folder whose stack is stopped. Return whether every ledger still holds all noted spends.

    Raises:
        FolderUnusable: the folder has no master key, so nothing that is restored could be opened.
        FolderInUse: the stack runs.
        ServerFailed: the backup could not be put back; the database is what it was.
    """
    if not (folder.path / "master.key").exists():
        message = f"{folder.path} has no master.key: put the one there that the backup was made with"
        raise FolderUnusable(message)
    lock = folder.lock()
    try:
        with running_postgres(folder):
            # Restoring compares the backup's schema with the one of this release.
            run(folder, "migrations", "migrations.upgrade")
            log = folder.log("restore")
            log.unlink(missing_ok=True)
            status = run(folder, "restore", "workers.restore", str(source), accepted={0, 1, _UPGRADE_FIRST})
            if status == _UPGRADE_FIRST:
                run(folder, "migrations", "migrations.upgrade")
                status = run(folder, "restore", "workers.ledger_audit", accepted={0, 1})
    finally:
        lock.release()
    verdicts = [line for line in log.read_text().splitlines() if line.startswith(("ledger ", "audit log"))]
    for line in verdicts:
        notice(line)
    if status != 0 and not any("BROKEN" in line for line in verdicts):
        message = f"the ledgers could not be verified; the end of the log says:\n{log_tail(log)}"
        raise ServerFailed(message)
    return status == 0
