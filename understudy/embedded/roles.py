"""Commands and environment of the roles that the supervisor starts."""

import os
import shutil
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from understudy.embedded.child import Command
from understudy.embedded.folder import DataFolder

HOST = "127.0.0.1"
NICENESS = 5
CELERY = ["-m", "celery", "-A", "workers.app", "worker", "--pool", "prefork", "--concurrency", "1"]
CELERY += ["--loglevel", "WARNING", "--without-gossip", "--without-mingle"]


def role_environment(folder: DataFolder, *, database_url: str, broker_url: str, port: int) -> dict[str, str]:
    """Return the environment of every role, with the SQLAlchemy address of the database and the kombu address of the queue."""
    here = str(Path(__file__).parents[2])
    path = os.pathsep.join(part for part in (here, os.environ.get("PYTHONPATH", "")) if part)
    return dict(os.environ) | {
        "PYTHONPATH": path,
        "PYTHONUTF8": "1",
        "PYTHONUNBUFFERED": "1",
        "UNDERSTUDY_MODE": "embedded",
        "UNDERSTUDY_DATABASE_URL": database_url,
        "UNDERSTUDY_BROKER_URL": broker_url,
        "UNDERSTUDY_STORAGE_URL": (folder.path / "objects").as_uri(),
        "UNDERSTUDY_SCRATCH_FOLDER": str(folder.path / "scratch"),
        "UNDERSTUDY_MASTER_KEY": folder.master_key(),
        "UNDERSTUDY_HOST": HOST,
        "UNDERSTUDY_PORT": str(port),
    }


def migrations(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Bring the database to the newest migration; runs once and ends."""
    return _python(folder, environment, "migrations", ["-m", "migrations.upgrade"])


def provision(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Register the API keys of the data folder, and its sign-in link if there is one; runs once and ends."""
    return _python(folder, environment, "provision", ["-m", "service.provision", *provision_words(folder)])


def provision_words(folder: DataFolder) -> list[str]:
    """Arguments of `service.provision`: the API keys of the data folder, and its sign-in link if there is one."""
    words = ["--keys", str(folder.keys_file)]
    return [*words, "--link", str(folder.link_file)] if folder.link_file.exists() else words


def link_address(url: str, token: str) -> str:
    """The address that signs in. Browsers send no fragment, so the token is in no request line and no log."""
    return f"{url}/sign-in/link#{token}"


def api(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Serve the HTTP API on the loopback interface."""
    words = ["-m", "uvicorn", "service.asgi:app", "--host", HOST, "--port", environment["UNDERSTUDY_PORT"]]
    words += ["--http", "service.edge.http_protocol:DeadlineProtocol", "--no-proxy-headers"]
    quiet = ["--no-access-log", "--log-level", "warning", "--timeout-graceful-shutdown", "5"]
    return _python(folder, environment, "api", words + quiet)


def worker(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Train, one job at a time.

    The clean end asked for is celery's cold shutdown: a training is not waited for, since it resumes from its
    sealed checkpoint at the next start. When the supervisor dies, the worker dies at once and its training with it: at
    SIGTERM it would wait for the training, and the next start would wait for its lease.
    """
    command = _python(folder, environment, "worker", CELERY, stop_signal=signal.SIGQUIT)
    return replace(command, death_signal=signal.SIGKILL)


def reports(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Make reports, one at a time, at a lower priority than trainings."""
    command = worker(folder, environment)
    nice = shutil.which("nice")
    mild = [] if nice is None else [nice, "-n", str(NICENESS)]
    return replace(
        command,
        name="reports",
        arguments=[*mild, *command.arguments, "--queues", "reports", "--hostname", "reports@%h"],
        log=folder.log("reports"),
    )


def upkeep(folder: DataFolder, environment: Mapping[str, str]) -> Command:
    """Resend lost messages and audit the ledger."""
    return _python(folder, environment, "upkeep", ["-m", "workers.upkeep"])


def once(folder: DataFolder, environment: Mapping[str, str], name: str, module: str, *words: str) -> Command:
    """Run a command of the operator's and end."""
    return _python(folder, environment, name, ["-m", module, *words])


def _python(
    folder: DataFolder,
    environment: Mapping[str, str],
    name: str,
    words: list[str],
    *,
    stop_signal: int = signal.SIGTERM,
) -> Command:
    return Command(
        name=name,
        arguments=[sys.executable, *words],
        log=folder.log(name),
        environment=environment,
        stop_signal=stop_signal,
        folder=folder.path,
    )
