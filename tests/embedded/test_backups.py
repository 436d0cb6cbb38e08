"""`understudy backup` and `understudy restore` on a data folder, with a spend between the two."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.clock import SystemClock
from core.data.master_keys import MasterKeys
from core.data.objects import open_store
from core.db.session import Database
from core.dp.filters import AdmissionRule
from core.ledger import governance
from core.platform.witness.ledger_witness import LedgerWitness
from core.platform.witness.witness_store import Witnesses
from tests.conftest import upgrade
from understudy.embedded import backups
from understudy.embedded.errors import FolderInUse, FolderUnusable, ServerFailed
from understudy.embedded.folder import DataFolder
from understudy.embedded.tasks import running_postgres


@contextmanager
def database_of(folder: DataFolder, *, made: bool = False) -> Iterator[Database]:
    with running_postgres(folder) as postgres:
        if made:
            upgrade(postgres.url())
        database = Database(postgres.url())
        try:
            yield database
        finally:
            database.close()


@pytest.mark.long
def test_a_restore_says_which_ledger_has_forgotten_something(tmp_path: Path) -> None:
    folder, target = DataFolder.prepare(tmp_path / "data"), tmp_path / "backup"
    with pytest.raises(FolderUnusable, match=r"master\.key"):
        backups.restore(folder, target, notice=print)
    key, clock = folder.master_key(), SystemClock()
    store = open_store((folder.path / "objects").as_uri())
    store.put_bytes("datasets/rows", b"sealed")
    with database_of(folder, made=True) as database, database.transaction() as session:
        population_id = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
    backups.back_up(folder, target)
    assert (target / "database.dump").stat().st_mode & 0o077 == 0
    with pytest.raises(ServerFailed, match="not empty"):
        backups.back_up(folder, target)

    def restored() -> tuple[bool, list[str]]:
        lines: list[str] = []
        return backups.restore(folder, target, notice=lines.append), lines

    store.delete("datasets/rows")
    assert restored() == (True, [f"ledger {population_id}: whole, 0 entries", "audit log: whole, 0 events"])
    assert store.get_bytes("datasets/rows") == b"sealed"
    with database_of(folder) as database:
        with database.transaction() as session:
            governance.set_cap(
                session, population_id, epsilon=1.0, delta=1e-6, by="a", reason=None, clock=clock
            )
        witness = LedgerWitness(
            database,
            witnesses=Witnesses(store),
            master_keys=MasterKeys(current=bytes.fromhex(key), previous=None),
            clock=clock,
        )
        assert witness.note_decisions() == 1
    store.put_bytes("datasets/rows", b"newer")
    whole, lines = restored()
    assert not whole
    assert f"ledger {population_id}: BROKEN: entries that were witnessed are missing" in lines
    assert store.get_bytes("datasets/rows") == b"newer", "what the store has is newer"
    lock = folder.lock()
    try:
        with pytest.raises(FolderInUse):
            restored()
    finally:
        lock.release()
