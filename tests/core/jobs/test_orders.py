from contextlib import nullcontext
from dataclasses import replace
from uuid import uuid4

import pytest

from core.dp.adjacency import PrivacyUnit
from core.errors import BudgetRefused
from core.jobs.errors import DatasetNotReady, JobNotFound, PlanDoesNotFit
from core.jobs.orders import place_order
from core.ledger.reservation import EntryKind
from core.plan.learning import LearningPlan, LearningRelease
from core.plan.plan import Plan
from tests.core.jobs.support import STEPS, cost, plan


def test_an_order_is_a_reservation_a_job_and_a_message(desk):
    job_id = desk.order()
    job = desk.job(job_id)
    assert (job.state, job.fence, job.attempts, job.stage, job.total_steps) == ("queued", 0, 0, None, STEPS)
    assert Plan.from_json(job.plan) == plan()
    assert job.plan_digest == plan().digest()
    assert desk.reservation(job_id).state is EntryKind.RESERVED
    assert desk.reservation(job_id).in_force == cost(plan())
    assert desk.queue.sent == [job_id]


def test_a_refused_order_leaves_nothing(desk):
    with pytest.raises(BudgetRefused):
        desk.order(plan(6.0))
    assert desk.queue.sent == []
    assert desk.statement().movements == ()


def test_the_message_follows_the_commit_and_a_rollback_sends_none(desk):
    def order_and(then):
        with desk.database.transaction() as session:
            place_order(
                session,
                dataset=desk.dataset,
                plan=plan(),
                ordered_by=uuid4(),
                job_id=uuid4(),
                grant_id=None,
                sealed_randomness_key=b"sealed",
                queue=desk.queue,
                clock=desk.clock,
            )
            assert desk.queue.sent == []
            then()

    def fail():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        order_and(fail)
    assert desk.queue.sent == []
    assert desk.statement().movements == ()
    order_and(lambda: None)
    assert len(desk.queue.sent) == 1


def test_a_dataset_without_rows_cannot_be_ordered_from(desk):
    desk.dataset.state = "declared"
    with pytest.raises(DatasetNotReady):
        desk.order()


@pytest.mark.parametrize(
    "other", [plan(declared_size=2000), replace(plan(), privacy_unit=PrivacyUnit(column="patient"))]
)
def test_a_plan_of_another_dataset_is_refused(desk, other):
    with pytest.raises(PlanDoesNotFit):
        desk.order(other)


@pytest.mark.parametrize(
    ("declared", "planned", "fits"), [(4, 4, True), (4, 5, False), (4, None, False), (None, 4, False)]
)
def test_a_plan_counts_as_many_records_of_a_unit_as_the_dataset_declares(desk, declared, planned, fits):
    column = {"name": "patient", "kind": "unit"} | ({} if declared is None else {"records": declared})
    desk.dataset.privacy_unit = "patient"
    desk.dataset.domain = {"columns": [{"name": "age", "kind": "numeric"}, column]}
    with nullcontext() if fits else pytest.raises(PlanDoesNotFit):
        desk.order(replace(plan(), privacy_unit=PrivacyUnit(column="patient", records=planned)))


@pytest.mark.parametrize(
    ("declared", "learns", "fits"),
    [("learn", True, True), ("learn", False, False), (4, True, False), (None, True, False)],
)
def test_a_plan_learns_how_many_records_of_a_unit_count_where_the_dataset_says_so(
    desk, declared, learns, fits
):
    column = {"name": "patient", "kind": "unit"} | ({} if declared is None else {"records": declared})
    desk.dataset.privacy_unit = "patient"
    desk.dataset.domain = {"columns": [{"name": "age", "kind": "numeric"}, column]}
    releases = (LearningRelease(column=None, learns="records", sensitivity=1.0),)
    learning = LearningPlan(noise_multiplier=100.0, delta=0.0, releases=releases) if learns else None
    with nullcontext() if fits else pytest.raises(PlanDoesNotFit):
        desk.order(replace(plan(), privacy_unit=PrivacyUnit(column="patient"), learning=learning))


def test_an_unknown_job(desk):
    with pytest.raises(JobNotFound):
        desk.job(uuid4())
    with pytest.raises(JobNotFound):
        desk.claim(uuid4())
