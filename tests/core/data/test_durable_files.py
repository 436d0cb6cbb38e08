"""What is flushed, in which order: the only part of surviving a power failure that a test can see."""

import errno
import os
from pathlib import Path

import pytest

from core.data.durable_files import DurableFolder
from core.data.objects import open_store


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Flushes and renames in the order in which the kernel is asked for them."""
    events: list[tuple[str, str]] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(number: int) -> None:
        events.append(("flush", Path(f"/proc/self/fd/{number}").readlink().name.split("#")[0]))
        fsync(number)

    def watched_replace(self: Path, target: Path) -> Path:
        events.append(("rename", target.name))
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    return events


def test_content_is_flushed_before_the_rename_and_names_after_it(tmp_path: Path, seen: list[tuple[str, str]]):
    store = open_store((tmp_path / "objects").as_uri())
    source = tmp_path / "source"
    source.write_bytes(b"x" * 3_000_000)
    store.put_file("datasets/7/rows", source)
    # The new folder 7 is a name in datasets, datasets one in objects.
    new = [("flush", "7"), ("flush", "datasets"), ("flush", "objects")]
    assert seen == [("flush", "rows"), ("rename", "rows"), *new]
    seen.clear()
    store.put_bytes("datasets/7/rows", b"again")
    assert seen == [("flush", "rows"), ("rename", "rows"), ("flush", "7")]
    assert store.get_bytes("datasets/7/rows") == b"again"


def test_a_full_disk_leaves_the_old_object_and_no_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = open_store(tmp_path.as_uri())
    store.put_bytes("a/b", b"old")

    def full(_number: int) -> None:
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        store.put_bytes("a/b", b"new")
    assert store.get_bytes("a/b") == b"old"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]


def test_an_unfinished_file_of_a_crash_is_no_object(tmp_path: Path):
    store = open_store(tmp_path.as_uri())
    store.put_bytes("a/b", b"whole")
    (tmp_path / "a" / "c#123").write_bytes(b"half")
    assert [found.key for found in store.list("a")] == ["a/b"]


@pytest.mark.parametrize("key", ["", "/a", "a//b", "../a", "a/../b", ".a", "a b", "a#1", "a/", "ä", "a\n"])
def test_strange_keys_are_refused(tmp_path: Path, key: str):
    with pytest.raises(ValueError, match="key"):
        DurableFolder(tmp_path).put(key, b"")
