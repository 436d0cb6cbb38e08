"""A member whose database was restored while its federation went on: no round is released a second time, and none is given back."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
import safetensors.torch

from core.data.boards import Board
from core.db.tables import Job
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.federation import Federation, FederationMember
from core.plan.several_owners.member_plan import MemberPlan, make_member_plan
from core.plan.spec import SynthesisSpec
from core.platform.stored_objects import checkpoint_key
from tests.commands import run_here
from tests.workers.support import DOCUMENT, ROWS, Workshop, environment_of, small_plan
from workers import ledger_audit, training_child
from workers.child import AttemptEnded, ExitCode

BOARD = Board(url="https://board.example", token="uf_token")


def plan_of(kind: str) -> ModelPlan | MemberPlan:
    ordinary = small_plan()
    members = tuple(FederationMember(name=name, declared_size=ROWS) for name in ("north", "south"))
    terms: dict[str, Any] = {
        "guarantee": ordinary.guarantee,
        "declared_size": 2 * ROWS,
        "domain": TableDomain.from_json(DOCUMENT),
        "adjacency": ordinary.adjacency,
        "privacy_unit": ordinary.privacy_unit,
        "federation": Federation(federation_id=str(uuid4()), member="north", members=members),
    }
    if kind == "weights":
        return make_model_plan(model=ModelSpec(options={"steps": 9, "averaging_rounds": 3}), **terms)
    spec = SynthesisSpec(synthesizer="idpgan", options={"pretraining_steps": 4})
    return make_member_plan(spec=spec, **terms)


class Dishonest:
    """A board that answers every attempt otherwise, and falls silent in its last round; of north's states it forgets none."""

    def __init__(self, *, last: int) -> None:
        self.last, self.attempt = last, 0
        self.states: defaultdict[int, set[bytes]] = defaultdict(set)

    def require_same(self) -> None:
        self.attempt += 1

    def exchange(self, number: int, state: bytes) -> Sequence[bytes]:
        self.states[number].add(state)
        if number == self.last:
            raise AttemptEnded(ExitCode.MACHINERY)
        return [state, self._other(state)]

    def _other(self, state: bytes) -> bytes:
        try:
            own = safetensors.torch.load(state)
        except safetensors.SafetensorError:
            return (np.frombuffer(state, "<i8") + self.attempt * 2**22).tobytes()
        changed = {
            name: value + self.attempt if value.is_floating_point() else value for name, value in own.items()
        }
        return bytes(safetensors.torch.save(changed))


@pytest.fixture
def dishonest(monkeypatch: pytest.MonkeyPatch) -> Dishonest:
    board = Dishonest(last=1)
    monkeypatch.setattr(training_child, "board_of", lambda *_: board)
    return board


def restored(workshop: Workshop, job_id: UUID) -> None:
    """The database knows of no mark of the job. Its checkpoint is gone: a later claim, or the end of the job, had removed it."""
    with workshop.database.transaction() as session:
        job = session.get_one(Job, job_id)
        job.state, job.lease_expires_at, job.lease_owner = "queued", None, None
        job.stage, job.step, job.steps_begun, job.attempts = None, 0, 0, 0
    workshop.store.delete(checkpoint_key(job_id, 1))


@pytest.mark.parametrize("kind", ["weights", "counts"])
def test_a_restored_member_releases_no_round_again_and_stays_charged(
    workshop: Workshop, dishonest: Dishonest, kind: str
) -> None:
    plan = plan_of(kind)
    job_id = workshop.order(plan, board=BOARD)  # type: ignore[arg-type]
    workshop.train(job_id)
    assert set(dishonest.states) == {0, 1}
    restored(workshop, job_id)
    workshop.train(job_id)

    assert [len(dishonest.states[number]) for number in (0, 1)] == [1, 1], "no round has two states"
    job, kept = workshop.job(job_id), workshop.reservation(job_id)
    assert (job.state, job.failure_code) == ("failed", "federation-checkpoint-lost")
    assert workshop.movements(job_id)[-1] in {EntryKind.SPENT, EntryKind.SETTLED}
    assert kept.in_force == kept.reserved, "the rounds that the database forgot stay charged"


@pytest.mark.parametrize("kind", ["weights", "counts"])
def test_a_cancel_after_the_restore_gives_no_round_back(
    workshop: Workshop, dishonest: Dishonest, kind: str
) -> None:
    job_id = workshop.order(plan_of(kind), board=BOARD)  # type: ignore[arg-type]
    workshop.train(job_id)
    restored(workshop, job_id)
    # As workers.restore does in the end.
    assert run_here(partial(ledger_audit.main, []), environment_of(workshop.settings)).returncode == 0
    assert workshop.cancel(job_id) == "cancelled"

    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    kept = workshop.reservation(job_id)
    assert kept.in_force == kept.reserved, "the rounds that the database forgot stay charged"


@pytest.mark.parametrize("kind", ["weights", "counts"])
def test_a_member_whose_database_forgot_nothing_goes_on(
    workshop: Workshop, dishonest: Dishonest, kind: str
) -> None:
    plan = plan_of(kind)
    dishonest.last = 2 if kind == "weights" else 1
    job_id = workshop.order(plan, board=BOARD)  # type: ignore[arg-type]
    workshop.train(job_id)
    marks = workshop.job(job_id)
    assert run_here(partial(ledger_audit.main, []), environment_of(workshop.settings)).returncode == 0
    with workshop.database.transaction() as session:
        job = session.get_one(Job, job_id)
        assert (job.stage, job.step, job.steps_begun) == (marks.stage, marks.step, marks.steps_begun)
        job.state, job.lease_expires_at, job.lease_owner = "queued", None, None
    dishonest.last = -1
    workshop.train(job_id)

    assert workshop.job(job_id).state == "succeeded"
    assert all(len(states) == 1 for states in dishonest.states.values()), "the same bytes were handed in"
