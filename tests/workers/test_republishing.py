"""A job that a restored database runs again publishes what it had published, or nothing: other sums under the same noise would show it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete

from core.artifacts.bundle import unpack
from core.db.tables import Job, OwnerReport, Release
from core.ledger.errors import PopulationFrozen
from core.ledger.reservation import EntryKind
from core.platform.stored_objects import bundle_key
from core.platform.witness.ledger_witness import LedgerWitness
from models.tables.measurement import second_round
from tests.workers.support import ROWS, Workshop, planned


def ran_and_forgotten(workshop: Workshop) -> tuple[Any, bytes]:
    """A job that has published, in a database that was restored to before its first mark. Returns its id and what it published."""
    job_id = workshop.order(planned(ROWS, pretraining_steps=20))
    key = workshop.job(job_id).sealed_randomness_key
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None
    with workshop.database.transaction() as session:
        session.execute(delete(OwnerReport).where(OwnerReport.release_id == release.id))
        session.delete(session.get_one(Release, release.id))
        job = session.get_one(Job, job_id)
        job.state, job.sealed_randomness_key, job.finished_at = "queued", key, None
        job.stage, job.step, job.attempts = None, 0, 0
    return job_id, workshop.store.get_bytes(release.bundle_key)


def test_on_the_same_machine_it_publishes_the_same_again(workshop: Workshop) -> None:
    job_id, published = ran_and_forgotten(workshop)
    workshop.train(job_id)
    again = workshop.release(job_id)
    assert again is not None
    one, other = unpack(published), unpack(workshop.store.get_bytes(again.bundle_key))
    assert (one.weights, one.network, one.counts) == (other.weights, other.network, other.counts)


def test_what_another_machine_makes_of_the_same_noise_is_not_published(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    job_id, published = ran_and_forgotten(workshop)

    def otherwise(distribution: Any, **_options: Any) -> Any:
        """Shares that another processor has rounded differently lead to other groups."""
        return np.arange(len(distribution)) // 2

    monkeypatch.setattr(second_round, "group_codes", otherwise)
    workshop.train(job_id)

    assert workshop.release(job_id) is None, "counts of two groupings under one noise differ by rows alone"
    job = workshop.job(job_id)
    assert (job.state, job.failure_code) == ("failed", "training-failed")
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert workshop.store.get_bytes(bundle_key(job_id, 1)) == published, "the one release stays"
    witness = LedgerWitness.of(
        workshop.settings, database=workshop.database, store=workshop.store, clock=workshop.clock
    )
    with pytest.raises(PopulationFrozen):
        witness.require(workshop.population_id)
