"""A restored database: what it has forgotten is found before anything is spent twice. The commands are the operator's."""

import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from core.clock import FixedClock
from core.db.session import Database
from core.ledger import governance, ledger_queries
from core.ledger.errors import PopulationFrozen
from core.platform.settings import Settings
from core.platform.stored_objects import AGE, sweep_orphans
from core.platform.witness.ledger_witness import LedgerWitness
from core.platform.witness.verification import HEAD_MISSING
from tests.commands import run_here
from tests.workers.support import Workshop, environment_of, small_plan
from workers import backup as backup_command
from workers import ledger_audit

ROOT = Path(__file__).parents[2]


@pytest.fixture
def workshop(settings: Settings) -> Iterator[Workshop]:
    workshop = Workshop(settings)
    with workshop.database.transaction() as session:
        governance.set_cap(
            session,
            workshop.population_id,
            epsilon=1.0,
            delta=1e-4,
            by="admin",
            reason=None,
            clock=workshop.clock,
        )
    yield workshop
    workshop.close()


def restored_from(settings: Settings, backup: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workers.restore", str(backup)],
        env=environment_of(settings), cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def audited(settings: Settings, *words: object) -> int:
    return run_here(partial(ledger_audit.main, [*map(str, words)]), environment_of(settings)).returncode


def is_frozen(database: Database, population_id: UUID) -> bool:
    with database.read_only() as session:
        return ledger_queries.is_frozen(session, population_id)


def order(workshop: Workshop) -> UUID:
    """Order as the service does: the ledger is compared before."""
    witness = LedgerWitness.of(
        workshop.settings, database=workshop.database, store=workshop.store, clock=workshop.clock
    )
    witness.require_once(workshop.population_id)
    return workshop.order(small_plan(epsilon=0.9))


def test_a_spend_that_a_backup_has_forgotten_is_not_spent_again(workshop: Workshop, tmp_path: Path) -> None:
    settings, backup = workshop.settings, tmp_path / "backup"
    assert audited(settings) == 0
    made = run_here(partial(backup_command.main, [str(backup)]), environment_of(settings))
    assert made.returncode == 0, made.stderr
    spent = order(workshop)
    workshop.train(spent)
    release = workshop.release(spent)
    assert release is not None, workshop.job(spent).failure_code
    bundle = workshop.store.get_bytes(release.bundle_key)
    workshop.close()

    restored = restored_from(settings, backup)

    assert restored.returncode == 1, restored.stdout + restored.stderr
    assert f"ledger {workshop.population_id}: BROKEN: {HEAD_MISSING}" in restored.stdout
    with workshop.database.read_only() as session:
        assert ledger_queries.summary(session, workshop.population_id).balance.spent.epsilon_micros == 0, (
            "the database has forgotten it"
        )
        reasons = session.scalars(text("SELECT terms ->> 'reason' FROM ledger_entries WHERE kind = 'FROZEN'"))
        assert list(reasons) == [f"the ledger does not verify: {HEAD_MISSING}"]
    with pytest.raises(PopulationFrozen):
        order(workshop)
    with pytest.raises(PopulationFrozen):
        workshop.order(small_plan(epsilon=0.9))
    later = FixedClock(workshop.clock.now())
    later.advance(seconds=2 * AGE.total_seconds())
    sweep_orphans(workshop.database, workshop.store, clock=later)
    assert workshop.store.get_bytes(release.bundle_key) == bundle, "what was published is no orphan"
    assert audited(settings) == 1, "it stays found"
    assert audited(settings, "--accept", workshop.population_id) == 0
    assert audited(settings) == 0
    assert is_frozen(workshop.database, workshop.population_id), "accepting is not unfreezing"
    sweep_orphans(workshop.database, workshop.store, clock=later)
    assert workshop.store.exists(release.bundle_key)
