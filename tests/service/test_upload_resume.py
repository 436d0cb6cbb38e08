"""Interrupted uploads, with real processes: the sender is killed, the API is killed, and only what is missing goes again."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from core.clock import SystemClock
from core.db.session import Database
from core.platform.access.directory import KeyDirectory
from core.platform.access.pepper import kept_pepper
from core.platform.access.roles import Role
from core.platform.settings import Settings
from tests.core.artifacts.stand_in import DOMAIN
from understudy import Client
from understudy.http.calls import Call
from understudy.http.uploads import UploadNote, note_of
from understudy.results.datasets import Upload

PART = 64 * 1024
ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0
SENDER = """
import sys, time
from pathlib import Path
from understudy.http.calls import Call
from understudy import Client
url, key, dataset_id, rows, pause = sys.argv[1:]
with Client(url, key=key) as client:
    report = client.upload_rows(dataset_id, Path(rows), resumable_from=1, seen=lambda _: time.sleep(float(pause)))
print(report.rows_accepted)
"""


@dataclass
class Api:
    """The service as its own process, on one port for as long as the test lasts."""

    settings: Settings
    port: int
    process: subprocess.Popen[bytes] | None = None
    log: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        kept = {name: text for name, text in os.environ.items() if not name.startswith("UNDERSTUDY_")}
        own = {
            "UNDERSTUDY_MODE": "embedded",
            "UNDERSTUDY_DATABASE_URL": self.settings.database_url,
            "UNDERSTUDY_BROKER_URL": self.settings.broker_url,
            "UNDERSTUDY_STORAGE_URL": self.settings.storage_url,
            "UNDERSTUDY_SCRATCH_FOLDER": str(self.settings.scratch_folder),
            "UNDERSTUDY_MASTER_KEY": self.settings.master_key.get_secret_value(),
            "UNDERSTUDY_UPLOAD_PART_BYTES": str(PART),
        }
        words = ["-m", "uvicorn", "service.asgi:app", "--port", str(self.port), "--log-level", "critical"]
        self.process = subprocess.Popen(
            [sys.executable, *words], env=kept | own, cwd=ROOT, stdout=subprocess.DEVNULL
        )
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                if httpx.get(f"{self.url}/v1/health", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(0.1)
        raise AssertionError("the API did not start")

    def kill(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None


class Counting(httpx.HTTPTransport):
    """Sends, and notes which parts were."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[int] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.method == "PUT":
            self.sent.append(int(request.url.path.rpartition("/")[2]))
        return super().handle_request(request)


@pytest.fixture
def api(settings: Settings) -> Iterator[Api]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    api = Api(settings, port)
    yield api
    api.kill()


@pytest.fixture
def key(settings: Settings) -> str:
    database = Database(settings.database_url, pool_size=1, max_overflow=1)
    with database.transaction() as session:
        pepper = kept_pepper(session, master_keys=settings.master_keys, clock=SystemClock())
        directory = KeyDirectory(pepper=pepper, clock=SystemClock(), entropy=os.urandom)
        _row, made = directory.issue(session, name="owner", roles=[Role.OWNER])
    database.close()
    return made.text


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"ward,age,sick,seen\n" + b"A,30,yes,2020-01-02\n" * 130_000)
    return file


@pytest.mark.long
def test_a_killed_sender_and_a_killed_api_cost_only_the_parts_on_the_way(
    api: Api, key: str, rows: Path, settings: Settings
) -> None:
    api.start()
    with Client(api.url, key=key) as client:
        dataset = client.declare_dataset(name="wards", domain=DOMAIN, declared_size=200_000)
        total = -(-rows.stat().st_size // PART)

        # The sender's process is killed after a few parts.
        words = [sys.executable, "-c", SENDER, api.url, key, dataset.id, str(rows), "0.1"]
        sender = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL)
        there = await_parts(client, rows, api.url, 5)
        sender.kill()
        sender.wait()
        known = UploadNote.read(rows, url=api.url)
        assert known is not None
        there = parts_there(client, known.upload_id)
        assert 5 <= len(there) < total

    # Another one goes on; midway the API is killed and started again.
    killed = threading.Event()
    counting = Counting()

    def seen(_count: int) -> None:
        if len(counting.sent) == 5 and not killed.is_set():
            killed.set()
            api.kill()
            threading.Thread(target=api.start).start()

    with Client(api.url, key=key, transport=counting) as client:
        report = client.upload_rows(dataset.id, rows, resumable_from=1, seen=seen)
        assert report.rows_accepted == 130_000
        assert client.read_dataset(dataset.id).state == "ready"
    assert killed.is_set()
    missing, sent = set(range(1, total + 1)) - there, set(counting.sent)
    assert sent <= missing, "nothing is sent that was there"
    assert missing - sent <= {max(there) + 1}, (
        "but what the killed sender had on the way may still have arrived"
    )
    assert not note_of(rows).exists()
    assert [found.name for found in settings.scratch_folder.glob("part-*")] == []


def parts_there(client: Client, upload_id: str) -> set[int]:
    return set(client.run(Call("GET", f"/v1/uploads/{upload_id}", Upload.from_json)).parts)


def await_parts(client: Client, rows: Path, url: str, count: int) -> set[int]:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        known = UploadNote.read(rows, url=url)
        there = set() if known is None else parts_there(client, known.upload_id)
        if len(there) >= count:
            return there
        time.sleep(0.05)
    raise AssertionError("no parts arrive")
