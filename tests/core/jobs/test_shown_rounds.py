"""A job of a federation releases every round before it ends, so its stopping time may depend on its output."""

from uuid import UUID

import pytest

from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import endings
from core.jobs.states import Cause, JobState
from core.jobs.visible_progress import PARTS
from core.ledger.reservation import EntryKind
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.federation import Federation, FederationMember
from tests.core.jobs.support import SIZE, cost, plan
from tests.models.classifier.small import TABLE

MEMBERS = (
    FederationMember(name="north", declared_size=SIZE),
    FederationMember(name="south", declared_size=400),
)
TOTAL = 2 * PARTS


@pytest.fixture(scope="module")
def federated() -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options={"steps": TOTAL, "averaging_rounds": PARTS}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=1400,
        domain=TABLE,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        federation=Federation(federation_id=str(UUID(int=7)), member="north", members=MEMBERS),
    )


@pytest.mark.parametrize("how", ["cancel", "hand back", "end of the federation"])
def test_it_is_settled_at_the_epsilon_of_the_plan_and_the_divergences_of_the_rounds(desk, federated, how):
    claim = desk.claimed(desk.order(federated))
    desk.advance(claim, "train", 6, TOTAL)
    if how == "end of the federation":
        ended = desk.fail(claim, code="federation-ended", cause=Cause.MACHINERY, max_attempts=0)
    else:
        desk.cancel(claim.job_id)
        ended = desk.fail(claim) if how == "cancel" else desk.hand_back(claim)
    assert ended is (JobState.FAILED if how == "end of the federation" else JobState.CANCELLED)
    kept, begun = desk.reservation(claim.job_id), cost(federated, 6)
    assert kept.state is EntryKind.SETTLED
    assert kept.in_force.rdp_micros == begun.rdp_micros < kept.reserved.rdp_micros
    assert begun.epsilon_micros < kept.reserved.epsilon_micros
    pair = kept.in_force.epsilon_micros, kept.in_force.delta_femtos
    assert pair == (kept.reserved.epsilon_micros, kept.reserved.delta_femtos)


def test_what_would_be_charged_is_said_so(federated):
    for steps in (1, 6, TOTAL):
        said = epsilons(endings.charged_at_delta(federated, steps), delta=federated.guarantee.delta)
        assert said == federated.epsilons
    assert endings.charged_at_delta(federated, 0) == federated.executed(2), "nothing was shown yet"
    alone = plan()
    assert endings.charged_at_delta(alone, 5) == alone.executed(5)


def test_what_is_shown_to_nobody_is_settled_at_its_own_epsilon(desk):
    claim = desk.claimed(desk.order())
    desk.advance(claim, "train", 5)
    desk.cancel(claim.job_id)
    desk.fail(claim)
    assert desk.reservation(claim.job_id).in_force == cost(plan(), 5)
