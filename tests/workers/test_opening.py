"""Rows are opened after a durable mark, whatever the kind of job: how long that takes depends on them."""

from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from uuid import UUID

import pytest

from core.db.tables import Job
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import endings
from core.ledger.reservation import NOTHING
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from tests.models.classifier.small import owners_of_sizes
from tests.workers.support import DOCUMENT, ROWS, SMALL, Workshop, planned, small_plan
from tests.workers.test_private_models import tiny_model
from tests.workers.test_selection import tiny_selection
from workers import training_child
from workers.child import AttemptEnded, ExitCode
from workers.training_child import attempt


@cache
def of_a_critic_alone() -> Plan:
    options = {name: value for name, value in SMALL.items() if name != "pretraining_steps"}
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options | {"anchor": False}),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=ROWS,
        domain=TableDomain.from_json(DOCUMENT | {}),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def refusal(workshop: Workshop, job_id: UUID, fence: int) -> ExitCode:
    with pytest.raises(AttemptEnded) as ended:
        attempt(
            workshop.settings, database=workshop.database, store=workshop.store, job_id=job_id, fence=fence
        )
    return ended.value.code


def of_kind(workshop: Workshop, kind: str) -> UUID:
    """A waiting job of one kind."""
    match kind:
        case "critic":
            return workshop.order(of_a_critic_alone())
        case "counts":
            return workshop.order(planned(ROWS))
        case "model":
            return workshop.order(tiny_model())
        case "averaged":
            plan = tiny_model(
                2 * ROWS, owners=owners_of_sizes(ROWS, ROWS), averaging_rounds=2, accuracy_share=0.0
            )
            return workshop.order_together(plan, [workshop.neighbour()])[0]
        case "selection":
            return workshop.order(tiny_selection())
        case _:
            return workshop.order()


KINDS = ("anchor", "critic", "counts", "model", "averaged", "selection")


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_opened_after_a_mark_that_is_charged(workshop, monkeypatch, kind):
    """How long they take to be opened depends on them, so a cancel at a chosen time must not show it for nothing."""

    class Opened(Exception):
        pass

    def opened(*_):
        raise Opened

    monkeypatch.setattr(training_child, "open_private_rows", opened)
    monkeypatch.setattr(training_child, "PrivateShards", opened)
    job_id = of_kind(workshop, kind)
    claim = workshop.claim(job_id)
    assert endings.begun_charge(workshop.job(job_id)) == NOTHING
    assert refusal(workshop, job_id, 1) is ExitCode.DATA
    job = workshop.job(job_id)
    assert (job.stage, job.step) == ("measure", 0)
    workshop.cancel(job_id)
    with workshop.database.transaction() as session:
        charged = endings.stop(session, claim, clock=workshop.clock)
    assert charged.epsilon_micros > 0


@pytest.mark.parametrize("kind", KINDS)
def test_cancelled_before_rows_are_opened_a_job_costs_nothing(workshop, monkeypatch, kind):
    monkeypatch.setattr(training_child, "open_private_rows", lambda *_: pytest.fail("rows were opened"))
    monkeypatch.setattr(training_child, "PrivateShards", lambda *_: pytest.fail("rows were opened"))
    job_id = of_kind(workshop, kind)
    workshop.claim(job_id)
    workshop.cancel(job_id)
    assert refusal(workshop, job_id, 1) is ExitCode.CANCELLED
    assert endings.begun_charge(workshop.job(job_id)) == NOTHING, "the mark is rolled back"


def test_a_later_attempt_does_not_put_the_mark_back(workshop, monkeypatch):
    """Of a federation it says which rounds have begun."""
    monkeypatch.setattr(
        training_child, "open_private_rows", lambda *_: pytest.fail("a failure among the rows")
    )
    job_id = workshop.order(small_plan())
    workshop.advance(workshop.claim(job_id), stage="train", step=30)
    with workshop.database.transaction() as session:
        session.get_one(Job, job_id).lease_expires_at = datetime.fromtimestamp(0, UTC)
    workshop.claim(job_id)
    with suppress(BaseException):
        refusal(workshop, job_id, 2)
    assert (workshop.job(job_id).stage, workshop.job(job_id).step) == ("train", 30)
