"""Commands of the operator's that run once on a data folder, whether or not its stack runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.embedded import roles
from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.errors import ServerFailed
from understudy.embedded.folder import DataFolder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer

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
    """Run a module and wait for its end. Return its exit status.

    Args:
        folder: the data folder, whose database server runs.
        name: for messages and the log file.
        module: what to run.
        *words: its arguments.
        accepted: exit statuses that are no failure.

    Raises:
        ServerFailed: any other exit status; the message has the end of the log.
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
