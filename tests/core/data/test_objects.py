import errno
from datetime import UTC, datetime, timedelta
from pathlib import Path

import obstore
import pytest
from obstore.exceptions import BaseError as StoreError
from obstore.exceptions import GenericError

from core.data.errors import ObjectMissing, StorageUnavailable
from core.data.objects import ObjectStore, open_store


@pytest.fixture(params=["memory", "local", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """Every promise below holds for each kind of store."""
    if request.param == "s3":
        bucket = request.getfixturevalue("s3_bucket")
        return open_store(f"s3://{bucket.name}/some/prefix?endpoint={bucket.endpoint}&region=us-east-1")
    return open_store("memory://" if request.param == "memory" else (tmp_path / "a b" / "objects").as_uri())


def test_bytes_come_back(store: ObjectStore):
    store.put_bytes("a/b", b"one")
    store.put_bytes("a/b", b"two")
    assert store.get_bytes("a/b") == b"two"


def test_an_empty_object_is_an_object(store: ObjectStore):
    store.put_bytes("a", b"")
    assert store.exists("a")
    assert store.get_bytes("a") == b""
    assert store.open("a").read() == b""


def test_a_file_is_stored_by_content(store: ObjectStore, tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 40_000)  # 10 MB: more than one part
    store.put_file("jobs/1/file", path)
    path.write_bytes(b"changed")
    assert store.get_bytes("jobs/1/file") == bytes(range(256)) * 40_000


def test_objects_open_as_seekable_files(store: ObjectStore):
    store.put_bytes("a", bytes(range(100)))
    with store.open("a") as file:
        assert file.read(3) == b"\0\1\2"
        assert file.seek(50) == file.tell() == 50
        assert file.read(1) == b"2"
        assert file.seek(0, 2) == 100
        assert file.read(1) == b""
        assert file.seekable()
        assert file.readable()


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (OSError("error sending request"), StorageUnavailable),
        (GenericError("the store is gone"), StorageUnavailable),
        (OSError("Cannot allocate memory (os error 12)"), MemoryError),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), MemoryError),
    ],
)
def test_an_open_object_tells_a_store_that_fails_from_memory_that_is_short(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, told: type[Exception]
):
    class Failing:
        def read(self, _: int) -> bytes:
            raise raised

    store = open_store("memory://")
    store.put_bytes("a", b"content")
    monkeypatch.setattr(obstore, "open_reader", lambda *_, **__: Failing())
    with pytest.raises(told):
        store.open("a").read(3)


def test_missing_objects(store: ObjectStore):
    assert not store.exists("a")
    store.delete("a")
    for read in (store.get_bytes, store.open):
        with pytest.raises(ObjectMissing):
            read("a")


def test_deleted_objects_are_gone(store: ObjectStore):
    store.put_bytes("a", b"1")
    assert store.exists("a")
    store.delete("a")
    assert not store.exists("a")


def test_a_local_store_keeps_its_objects(tmp_path: Path):
    open_store(tmp_path.as_uri()).put_bytes("a", b"1")
    assert open_store(tmp_path.as_uri()).get_bytes("a") == b"1"


def test_s3_is_configured_by_url():
    # private: what a URL configures is seen otherwise only by an S3 server
    backend = open_store("s3://bucket/some/prefix?endpoint=http://localhost:9000&region=eu-1")._backend
    assert backend.prefix == "some/prefix"
    assert backend.config["endpoint"] == "http://localhost:9000"
    assert backend.config["bucket"] == "bucket"
    assert backend.client_options["allow_http"] == "true"


def test_a_store_that_is_away_is_given_up_within_seconds(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    store = open_store("s3://bucket?endpoint=http://127.0.0.1:1&region=us-east-1")
    # private: a connection that is refused ends before the limit is tried
    assert store._backend.retry_config["retry_timeout"] <= timedelta(seconds=15)
    with pytest.raises(StoreError):
        store.exists("a")


def test_a_bucket_that_is_missing_is_no_missing_object(s3_bucket):
    store = open_store(f"s3://no-such-bucket?endpoint={s3_bucket.endpoint}&region=us-east-1")
    with pytest.raises((StoreError, ObjectMissing, FileNotFoundError)):
        store.put_bytes("a", b"1")


@pytest.mark.parametrize("url", ["ftp://x", "/tmp/x", "file://host/x", "s3://bucket?secret=x", ""])
def test_other_urls_are_refused(url: str):
    with pytest.raises(ValueError, match="URL"):
        open_store(url)


def test_objects_are_listed_by_folder(store: ObjectStore):
    before = datetime.now(UTC) - timedelta(minutes=5)
    for key in ("a/b", "a/c/d", "ab/c"):
        store.put_bytes(key, b"1")
    found = {item.key: item.stored_at for item in store.list("a")}
    assert set(found) == {"a/b", "a/c/d"}
    assert all(at > before for at in found.values())
    assert list(store.list("none")) == []
