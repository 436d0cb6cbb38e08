"""Whole jobs that take over the counts of an earlier release: what they publish, and what happens where those are gone."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from core.artifacts.bundle import COUNTS, unpack
from core.artifacts.counts import ReleasedCounts
from core.db.tables import Dataset, Release
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.reuse_rules import EarlierCounts, with_reuse
from core.plan.spec import SynthesisSpec
from tests.workers.in_process import here_and_in_a_child
from tests.workers.support import DOCUMENT, Workshop, small_plan
from workers.child import AttemptEnded, ExitCode
from workers.training_child import attempt

DOMAIN = TableDomain.from_json(DOCUMENT)
KEY = bytes(range(32))


def plain() -> Plan:
    """A plan that counts and fits, and has no critic."""
    ordinary = small_plan()
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": False, "pretraining_steps": 20}),
        guarantee=ordinary.guarantee,
        declared_size=ordinary.declared_size,
        domain=DOMAIN,
        adjacency=ordinary.adjacency,
        privacy_unit=ordinary.privacy_unit,
    )


def released(workshop: Workshop, plan: Plan, *, randomness: bytes | None = None) -> EarlierCounts:
    """Train a plan to its release."""
    job_id = workshop.order(plan, randomness=randomness)
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None, workshop.job(job_id).failure_code
    digest = release.certificate["artefacts"][COUNTS]["sha256"]
    return EarlierCounts(release_id=str(release.id), plan=plan, counts_sha256=digest)


def bundle_of(workshop: Workshop, release: EarlierCounts) -> bytes:
    return workshop.store.get_bytes(key_of(workshop, release))


def key_of(workshop: Workshop, release: EarlierCounts) -> str:
    with workshop.database.read_only() as session:
        return session.get_one(Release, UUID(release.release_id)).bundle_key


def counts_of(workshop: Workshop, release: EarlierCounts) -> ReleasedCounts:
    content = unpack(bundle_of(workshop, release)).counts
    assert content is not None
    return ReleasedCounts.from_bytes(content)


def test_a_release_that_reuses_another_is_more_precise_says_so_and_is_verified(
    workshop: Workshop, tmp_path: Path
) -> None:
    first = released(workshop, plain())
    plan = with_reuse(plain(), [first], DOMAIN)
    second = released(workshop, plan)
    old, new = counts_of(workshop, first), counts_of(workshop, second)
    assert [one.columns for one in new.tables] == [one.columns for one in old.tables]
    for one, other in zip(old.tables, new.tables, strict=True):
        assert other.noise_std == pytest.approx(one.noise_std / 2**0.5)
    packed = bundle_of(workshop, second)
    stated = unpack(packed).certificate
    assert stated["plan"]["reused"] == plan.to_json()["reused"]
    assert stated["mechanism"] == unpack(bundle_of(workshop, first)).certificate["mechanism"]
    workshop.verified(packed, tmp_path / "bundle.zip")


def test_the_same_order_with_the_same_key_leaves_the_same_counts(workshop: Workshop) -> None:
    first = released(workshop, plain())
    plan = with_reuse(plain(), [first], DOMAIN)
    twice = [released(workshop, plan, randomness=KEY) for _ in range(2)]
    assert twice[0].counts_sha256 == twice[1].counts_sha256
    alone = released(workshop, plain(), randomness=KEY)
    assert alone.counts_sha256 != twice[0].counts_sha256


@here_and_in_a_child
def test_a_job_whose_earlier_counts_are_missing_fails_before_a_row_is_read_and_costs_nothing(
    workshop: Workshop, in_child: bool
) -> None:
    first = released(workshop, plain())
    key, content = key_of(workshop, first), bundle_of(workshop, first)

    def damage() -> EarlierCounts:
        workshop.store.put_bytes(key, content[:-100])
        return first

    def delete() -> EarlierCounts:
        workshop.store.delete(key)
        return first

    def of_another_version() -> EarlierCounts:
        """The same counts, published of other rows."""
        workshop.store.put_bytes(key, content)
        with workshop.database.transaction() as session:
            ordinary = session.get_one(Dataset, workshop.dataset_id)
            columns = {column.key: getattr(ordinary, column.key) for column in Dataset.__table__.columns}
            version = Dataset(**columns | {"id": uuid4()})
            session.add(version)
            session.flush()
            session.get_one(Release, UUID(first.release_id)).dataset_id = version.id
        return first

    altered = replace(first, counts_sha256="0" * 64)
    job_id = workshop.order(with_reuse(plain(), [altered], DOMAIN))
    workshop.train(job_id, in_child=in_child)
    job = workshop.job(job_id)
    assert (job.state, job.failure_code) == ("failed", "reused-counts-missing")
    assert job.stage is None, "nothing private has begun"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    assert workshop.reservation(job_id).in_force.epsilon_micros == 0
    # The others end with the same code, from which the rest follows; in this process, as a child takes seconds to start.
    for harm in (damage, delete, of_another_version):
        job_id = workshop.order(with_reuse(plain(), [harm()], DOMAIN))
        fence = workshop.claim(job_id).fence
        with pytest.raises(AttemptEnded) as ended:
            attempt(
                workshop.settings,
                database=workshop.database,
                store=workshop.store,
                job_id=job_id,
                fence=fence,
            )
        assert ended.value.code is ExitCode.REUSED_MISSING
        assert workshop.job(job_id).stage is None, "nothing private has begun"
