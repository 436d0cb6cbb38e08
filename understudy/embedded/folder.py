"""The data folder of an embedded stack: mode 0700, one supervisor at a time, secrets in files of mode 0600.

::

  supervisor.lock   held (flock) while a supervisor lives; the kernel lets go of it however that process ends
  users.lock        held (flock, shared) by commands that use a stack which another command started and would stop
  master.key        wraps every data key; without it the stored rows, checkpoints and API keys are useless
  keys.json         the API keys of the three roles
  sign-in-link      the token of a sign-in link, for the moment in which it is made valid
  connection.json   where the running service listens and the keys: what the client reads
  postgres/ redis/  the servers' files;  objects/  sealed rows, checkpoints, bundles;  scratch/  spool files
  logs/             one log per role;  run/  sockets
"""

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from understudy.embedded.errors import FolderInUse, FolderUnusable
from understudy.embedded.leftovers import PRIVATE, socket_folder

ROLES = ("owner", "admin", "analyst")
SUBFOLDERS = ("postgres", "redis", "objects", "scratch", "logs")
LEDGERS_OF_THE_LIBRARY = "ledgers"
"""Folder of `understudy.local` in the same place, with or without a stack."""


@dataclass(frozen=True, slots=True)
class DataFolder:
    """Paths and secrets of one embedded stack; the path is absolute."""

    path: Path

    @classmethod
    def prepare(cls, path: Path) -> "DataFolder":
        """Create the folder, or what it lacks.

        Raises:
            FolderUnusable: if it is a file, belongs to another user, or holds other things.
        """
        path = path.expanduser().resolve()
        try:
            path.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        except OSError as error:
            message = f"cannot make the data folder {path}: {error.strerror}"
            raise FolderUnusable(message) from error
        if path.stat().st_uid != os.geteuid():
            message = f"{path} belongs to another user; choose another --data-folder"
            raise FolderUnusable(message)
        others = {entry.name for entry in path.iterdir()} - {LEDGERS_OF_THE_LIBRARY}
        if others and not (path / "supervisor.lock").exists():
            message = (
                f"{path} holds other files and is no data folder of understudy; choose another --data-folder"
            )
            raise FolderUnusable(message)
        (path / "supervisor.lock").touch(mode=0o600)
        path.chmod(PRIVATE)
        for name in SUBFOLDERS:
            (path / name).mkdir(mode=PRIVATE, exist_ok=True)
        return cls(path)

    def lock(self) -> "FolderLock":
        """Take the folder for this process.

        Raises:
            FolderInUse: if another supervisor has it.
        """
        return FolderLock(self.path / "supervisor.lock")

    @property
    def run_folder(self) -> Path:
        """Folder of the sockets."""
        return socket_folder(self.path)

    @property
    def connection_file(self) -> Path:
        """File from which clients read the address and the keys."""
        return self.path / "connection.json"

    @property
    def keys_file(self) -> Path:
        """The API keys in plain text, for the provisioning of the database."""
        return self.path / "keys.json"

    @property
    def link_file(self) -> Path:
        """The token of a new sign-in link in plain text, for the provisioning of the database."""
        return self.path / "sign-in-link"

    def log(self, role: str) -> Path:
        """Return the log file of a role."""
        return self.path / "logs" / f"{role}.log"

    def master_key(self) -> str:
        """Return the master key as 64 hexadecimal digits, made at the first call."""
        file = self.path / "master.key"
        if not file.exists():
            write_private(file, secrets.token_hex(32) + "\n")
        return file.read_text().strip()

    def keys(self) -> dict[str, str]:
        """Return the API key of each role, made at the first call (``us_``, 8 hexadecimal digits, 256 random bits)."""
        if not self.keys_file.exists():
            made = {role: f"us_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}" for role in ROLES}
            write_private(self.keys_file, json.dumps(made, indent=2) + "\n")
        keys: dict[str, str] = json.loads(self.keys_file.read_text())
        return keys

    @contextmanager
    def new_link(self) -> Iterator[str]:
        """Yield the token of a new sign-in link (``ul_``, 8 hexadecimal digits, 256 random bits), which `link_file` holds meanwhile."""
        token = f"ul_{secrets.token_hex(4)}_{secrets.token_urlsafe(32)}"
        write_private(self.link_file, token + "\n")
        try:
            yield token
        finally:
            self.link_file.unlink(missing_ok=True)

    def clear_scratch(self) -> None:
        """Remove leftovers of interrupted uploads. The caller holds the lock, and no role is running yet."""
        for left in (self.path / "scratch").iterdir():
            if left.is_file():
                left.unlink(missing_ok=True)

    def announce(self, url: str) -> None:
        """Write the address of the API for clients of this user."""
        write_private(self.connection_file, json.dumps({"url": url, "keys": self.keys()}, indent=2) + "\n")

    def withdraw(self) -> None:
        """Remove the announcement."""
        self.connection_file.unlink(missing_ok=True)


class FolderLock:
    """The exclusive right to supervise a data folder, held until closed or the process ends."""

    def __init__(self, file: Path) -> None:
        """Take the lock without waiting. The file's content is the holder's process id, for people only.

        Raises:
            FolderInUse: if another process holds it.
        """
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._descriptor, 20, 0).decode().strip()
            os.close(self._descriptor)
            message = (
                f"{file.parent} is in use by another supervisor (process {holder or 'unknown'}); "
                "stop that one, or choose another --data-folder"
            )
            raise FolderInUse(message) from None
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the folder."""
        os.close(self._descriptor)


def write_private(file: Path, text: str) -> None:
    """Write a file of mode 0600 atomically: to a temporary file in the same folder, then renamed."""
    partial = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    partial.replace(file)
