import os

import pytest

from tests import in_memory as module
from tests.in_memory import in_memory


@pytest.fixture(autouse=True)
def _room(monkeypatch):
    monkeypatch.setattr(module, "ENOUGH_BYTES", 1)


def test_the_folder_is_of_this_process_and_gone_afterwards(tmp_path):
    with in_memory(tmp_path) as folder:
        assert folder == tmp_path / f"understudy-tests-{os.getpid()}"
        (folder / "file").write_text("x")
    assert not list(tmp_path.iterdir())


def test_folders_of_dead_processes_are_removed_and_of_live_ones_kept(tmp_path):
    dead, live = (tmp_path / f"understudy-tests-{pid}" for pid in (2**30, os.getppid()))
    dead.mkdir()
    live.mkdir()
    with in_memory(tmp_path):
        assert live.exists()
        assert not dead.exists()


def test_without_room_there_is_none(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ENOUGH_BYTES", 1 << 62)
    with in_memory(tmp_path) as folder:
        assert folder is None
    with in_memory(tmp_path / "absent") as folder:
        assert folder is None
