"""A desk that takes uploads in, and a real S3 server on the loopback address for what has to hold for buckets too."""

import http.client
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from tests.core.data.desk import Desk
from understudy.embedded.supervisor import free_port

START_SECONDS = 120.0


@dataclass(frozen=True)
class Bucket:
    """An empty bucket."""

    endpoint: str
    name: str


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    """The port of an S3 server of this test process."""
    port = free_port(0)
    words = [str(Path(sys.executable).parent / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + START_SECONDS
    while _asked(port, "GET", "/") is None:
        assert server.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    yield port
    server.terminate()
    server.wait()


@pytest.fixture
def s3_bucket(s3_port: int, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A bucket of this test, and credentials in the environment where the library looks for them."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "understudy")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", uuid4().hex)
    bucket = Bucket(endpoint=f"http://127.0.0.1:{s3_port}", name=f"bucket-{uuid4().hex}")
    assert _asked(s3_port, "PUT", f"/{bucket.name}") == http.client.OK
    return bucket


def _asked(port: int, method: str, path: str) -> int | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        connection.request(method, path)
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()
