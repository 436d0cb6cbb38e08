"""The remaining budget of a ledger for trainings on this machine, and the wording of its refusals and its state."""

import math

from core.dp.charge import FEMTO, MICRO, Charge
from core.dp.filters import Cap
from core.dp.guarantee import PrivacyGuarantee
from core.dp.remaining import ChargeAt, admitted_instead, gaussian_charge_at, largest_epsilon
from core.errors import BudgetRefused
from core.ledger import admission
from core.ledger.admission import decimal_text
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.plan.quote import plan_charge
from understudy.documents import Json


def left_for(
    cap: Cap, in_force: Charge, *, delta: float | None = None, charge_at: ChargeAt | None = None
) -> tuple[float, float]:
    """Return epsilon and delta of the largest training that a cap still admits; epsilon 0 if none.

    Args:
        in_force: everything spent and reserved.
        delta: delta of the training; default: a sixteenth of the cap's. A smaller one is taken if nothing is left at it.
        charge_at: charge of that training; default: a typical one.
    """
    delta = cap.default_job_delta() if delta is None else delta
    charge_at = charge_at or gaussian_charge_at
    epsilon = largest_epsilon(cap, [in_force], delta=delta, charge_at=charge_at)
    if epsilon:
        return epsilon, delta
    wanted = PrivacyGuarantee(epsilon=cap.epsilon, delta=delta)
    instead = admitted_instead(cap, [in_force], wanted, charge_at=charge_at)
    return (0.0, delta) if instead is None else (instead.epsilon, instead.delta)


def require_room(
    cap: Cap, in_force: Charge, plan: Plan | ModelPlan, *, remedy: str, charge_at: ChargeAt | None
) -> None:
    """Admit a plan on top of the charges in force.

    Args:
        in_force: everything spent and reserved.
        remedy: remedy of the refusal, after the admitted alternative.
        charge_at: charge of the plan at other guarantees; None for no alternative.

    Raises:
        core.errors.BudgetRefused: no filter admits the plan. The message names the missing part and the admitted alternative.
    """
    try:
        admission.require_room(cap, in_force, plan_charge(plan), remedy=remedy)
    except BudgetRefused as refused:
        if charge_at is None:
            raise
        detail = refusal_text(cap, in_force, plan, charge_at)
        raise BudgetRefused(detail, remedy=remedy, **refused.facts) from None


def refusal_text(cap: Cap, in_force: Charge, plan: Plan | ModelPlan, charge_at: ChargeAt) -> str:
    """The cost of a training, the part that is short, and the admitted alternative, whichever filter decides."""
    charge, wanted = plan_charge(plan), plan.guarantee
    costs = (
        f"This training costs epsilon {decimal_text(charge.epsilon_micros, MICRO)} at delta"
        f" {float(decimal_text(charge.delta_femtos, FEMTO)):g}."
    )
    instead = admitted_instead(cap, [in_force], wanted, charge_at=charge_at)
    if instead is None:
        return f"{costs} Of the dataset's cap nothing is left for one more training."
    if instead.delta == wanted.delta:
        short = "Epsilon is short"
    elif instead.epsilon == wanted.epsilon:
        short = "Delta is short, epsilon is not"
    else:
        short = "Epsilon and delta are short"
    return f"{costs} {short}: the dataset's cap admits (epsilon, delta) = ({shown(instead.epsilon)}, {instead.delta:g}) now."


def spent_in_words(together: float | None, cap: Json, spent: Json, trainings: int) -> str:
    """The composed cost of trainings at the cap's delta, by the ledger's rule: `together` is the smallest epsilon of a cap that admits them.

    Sums of their own epsilons and deltas, `spent`, are no such cost.
    """
    epsilon = math.ceil(round((together or 0.0) * 10**6) / 100) / 10**4
    said = f"epsilon {shown(epsilon)} of {cap['epsilon']:g}"
    if trainings < 2:  # noqa: PLR2004 - one training composes with nothing
        return said
    return (
        f"{said} at the cap's delta {cap['delta']:g}, as the ledger composes {trainings} trainings (their own epsilons add up to"
        f" {float(spent['epsilon']):.4g})"
    )


def left_in_words(epsilon: float | None, delta: float | None) -> str:
    """An admitted guarantee of one more training."""
    return f"epsilon {shown(epsilon)} at delta {delta:g}" if epsilon else "nothing"


def shown(epsilon: float) -> str:
    """An epsilon with all its digits, so that none is rounded up: remaining epsilons are multiples of 0.0001."""
    return f"{epsilon:.10g}"
