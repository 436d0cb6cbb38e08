"""Spool files have no name, so nothing of them stays when their process is killed."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from core.data.intake.intake import store_rows
from core.data.intake.sniffing import CSV
from core.data.intake.spool import remove_leftovers
from core.data.objects import open_store
from core.data.sealing import new_data_key
from core.data.upload_parts import seal_part
from core.plan.domain.table import TableDomain

DOMAIN = {
    "schema": "understudy.domain/1",
    "target": None,
    "privacy_unit": None,
    "columns": [{"name": "sick", "kind": "boolean"}],
}
ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from pathlib import Path
from tests.core.data.test_spool import {name}
def kill():
    os.kill(os.getpid(), signal.SIGKILL)
{name}(Path(sys.argv[1]), halfway=kill)
"""


def take_part(scratch: Path, *, halfway: object) -> None:
    def pieces() -> Iterator[bytes]:
        yield bytes(2_000_000)
        halfway()  # type: ignore[operator]
        yield bytes(2_000_000)

    store = open_store("memory://")
    seal_part(
        pieces(), store=store, key="a", data_key=new_data_key(), scratch_folder=scratch, size_bytes=4_000_000,
        sha256=sha256(bytes(4_000_000)).digest(),
    )  # fmt: skip


def take_rows(scratch: Path, *, halfway: object) -> None:
    def lines() -> Iterator[bytes]:
        yield b"sick\n" + b"true\n" * 1_000_000
        halfway()  # type: ignore[operator]
        yield b"false\n" * 1_000_000

    store = open_store("memory://")
    report = store_rows(
        lines(), content_type=CSV, domain=TableDomain.from_json(DOMAIN), store=store, key="a",
        data_key=new_data_key(), scratch_folder=scratch, threads=1,
    )  # fmt: skip
    assert report.rows_accepted == 2_000_000
    assert store.size_of("a") > 0


@pytest.mark.parametrize("name", ["take_part", "take_rows"])
def test_a_process_that_is_killed_while_it_takes_an_upload_leaves_no_file(tmp_path: Path, name: str) -> None:
    words = [sys.executable, "-c", KILLED.format(name=name), str(tmp_path)]
    ended = subprocess.run(words, cwd=ROOT, env=dict(os.environ), check=False, timeout=300)
    assert ended.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("take", [take_part, take_rows])
def test_an_upload_is_stored_from_a_file_without_a_name(tmp_path: Path, take: Callable[..., None]) -> None:
    seen: list[Path] = []
    take(tmp_path, halfway=lambda: seen.extend(tmp_path.iterdir()))
    assert seen == []


def test_what_earlier_versions_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    for name in ("intake-ab12", "part-x_9", "upkeep.alive", "gpu-0.lock"):
        (tmp_path / name).write_bytes(b"sealed")
    (tmp_path / "part-folder").mkdir()
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gpu-0.lock", "part-folder", "upkeep.alive"]
    remove_leftovers(tmp_path / "never made")
