"""Commands of the operator's that run once on a data folder, whether or not its stack runs."""

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


def run(
    folder: DataFolder,
    postgres: PostgresServer,
    name: str,
    module: str,
    *words: str,
    accepted: frozenset[int] | set[int] = frozenset({0}),
) -> int:
    """Run a module and wait for its end. Return its exit status.

    Args:
        folder: the data folder.
        postgres: its database server, which runs.
        name: for messages and the log file.
        module: what to run.
        *words: its arguments.
        accepted: exit statuses that are no failure.

    Raises:
        ServerFailed: any other exit status; the message has the end of the log.
    """
    redis = RedisServer(folder.path / "redis", run_folder=folder.run_folder, log=folder.log("redis"))
    environment = roles.role_environment(
        folder, database_url=postgres.url(), broker_url=redis.broker_url, port=_UNUSED_PORT
    )
    command: Command = roles.once(folder, environment, name, module, *words)
    child = Child(command)
    while child.exit_status is None:
        child.wait(60.0)
    status = child.stop()
    if status not in accepted:
        message = f"{name} failed; the end of its log says:\n{log_tail(command.log)}"
        raise ServerFailed(message)
    return status
