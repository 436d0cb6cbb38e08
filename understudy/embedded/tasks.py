"""Commands of the operator's that run once on a data folder, whether or not its stack runs."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.embedded import roles
from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.errors import FolderInUse, ServerFailed
from understudy.embedded.folder import DataFolder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer
from understudy.errors import NoService

_UNUSED_PORT = 1
"""The settings require a port; no such command listens."""


def postgres_of(folder: DataFolder) -> PostgresServer:
    """The database server of a data folder, running or not."""
    return PostgresServer(folder.path / "postgres", run_folder=folder.run_folder, log=folder.log("postgres"))


@contextmanager
def running_postgres(folder: DataFolder) -> Iterator[PostgresServer]:
    """The database server of a folder whose stack is stopped, inside the block."""
    postgres = postgres_of(folder)
    postgres.start()
    try:
        yield postgres
    finally:
        postgres.stop()


def environment_of(folder: DataFolder) -> dict[str, str]:
    """The environment of a role on a data folder, for a further worker or a command; it holds the master key."""
    redis = RedisServer(folder.path / "redis", run_folder=folder.run_folder, log=folder.log("redis"))
    return roles.role_environment(
        folder, database_url=postgres_of(folder).url(), broker_url=redis.broker_url, port=_UNUSED_PORT
    )


def run(
    folder: DataFolder,
    name: str,
    module: str,
    *words: str,
    accepted: frozenset[int] | set[int] = frozenset({0}),
) -> int:
    """Run a module and return its exit status. The database server of the folder runs; the name is for messages and the log file.

    Raises:
        ServerFailed: the exit status is not accepted; the message has the end of the log.
    """
    command: Command = roles.once(folder, environment_of(folder), name, module, *words)
    child = Child(command)
    while child.exit_status is None:
        child.wait(60.0)
    status = child.stop()
    if status not in accepted:
        message = f"{name} failed; the end of its log says:\n{log_tail(command.log)}"
        raise ServerFailed(message)
    return status


def new_link(folder: DataFolder) -> str:
    """Make a sign-in link valid, for one use within ten minutes, and return its address.

    Raises:
        NoService: no stack runs on the folder.
        ServerFailed: the link could not be registered; the message says why.
    """
    if not _is_running(folder):
        message = f"no stack runs on {folder.path}; start it with `understudy up`, which prints a link"
        raise NoService(message)
    url: str = json.loads(folder.connection_file.read_text())["url"]
    with folder.new_link() as token:
        run(folder, "sign-in", "service.provision", *roles.provision_words(folder))
    return roles.link_address(url, token)


def _is_running(folder: DataFolder) -> bool:
    """Whether a supervisor holds the folder and its API has an address; a killed one leaves its connection file."""
    try:
        folder.lock().release()
    except FolderInUse:
        return folder.connection_file.exists()
    return False
