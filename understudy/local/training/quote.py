"""A quote of a training on this machine, from public facts and the ledger file: no row is read, nothing is charged."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from core.dp.adjacency import PrivacyUnit
from core.dp.charge import FEMTO, MICRO, Charge, total
from core.dp.filters import AdmissionRule, Cap, admit
from core.dp.guarantee import PrivacyGuarantee
from core.ledger.admission import decimal_text
from core.plan.plan import Plan
from core.plan.quote import plan_charge
from core.plan.training_quote import make_quote
from understudy.local.html_tables import html_table
from understudy.local.ledger.accounts import (
    UNIT_DIFFERS,
    answered,
    folder_of,
    other_unit,
    pair_of_numbers,
    unit_differs,
)
from understudy.local.ledger.file import ledger_path, opened_ledger
from understudy.local.ledger.remaining import left_for, left_in_words, refusal_text
from understudy.local.paths import AnyPath
from understudy.local.training.planning import Order
from understudy.local.warned import warn
from understudy.results.jobs import Quote
from understudy.wording.quotes import noise_line, training_lines

NO_DATASET: Final = "no-dataset"
NO_CAP: Final = "budget-not-set"
ANOTHER_CAP: Final = "cap-already-set"
TOO_LITTLE: Final = "budget-refused"
"""Reasons for which `fit` would refuse now; the last three and `UNIT_DIFFERS` are error codes."""


class LargeExpectedError(UserWarning):
    """The expected error of the synthetic rows' counts is so large that they would be of little use."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TrainingQuote(Quote):
    """The price and the precision of a training; `print` it, or let a notebook show it.

    Attributes:
        document: the members of a service's quote (docs/choosing-epsilon.md).
        epsilon: the charge, as an exact decimal.
        delta: the charge, as an exact decimal.
        remaining_epsilon_after: the largest epsilon of one more training like this one, at `remaining_delta_after`; None without a cap.
        remaining_delta_after: the delta of this training, or a smaller one if nothing is left at that delta.
        room: whether `fit` would be admitted now, and what remains, as a sentence.
    """

    epsilon: str
    delta: str
    remaining_epsilon_after: float | None
    remaining_delta_after: float | None
    room: str

    def __repr__(self) -> str:
        """The lines of `understudy quote`, for the ledger on this machine."""
        return "\n".join([*training_lines(self.document), *self._ledger()])

    def _repr_html_(self) -> str:
        head, *lines = [*training_lines(self.document), *self._ledger()]
        cells = [line.strip().partition(": ") for line in lines]
        return html_table((*head.split(": ", 1),), [(name, said) for name, _, said in cells])

    def _ledger(self) -> Iterator[str]:
        yield f"  charged when fit begins: epsilon {self.epsilon}, delta {float(self.delta):g}; a training that fails costs the same"
        yield f"  fits into the budget: {self.room}"


def quote_of(
    order: Order,
    guarantee: PrivacyGuarantee,
    *,
    dataset: str | None,
    cap: tuple[float, float] | None,
    ledgers: AnyPath | None,
) -> TrainingQuote:
    """Plan an order as `fit` does, and compare its charge with the dataset's ledger. No ledger is created.

    Args:
        dataset: name of the ledger's dataset; None for no ledger.
        cap: the cap that `fit` would set if there is none.

    Warns:
        LargeExpectedError: the expected error is so large that counts of the rows would be of little use.

    Raises:
        InvalidInput: the plan is impossible, or the cap is out of range.
        InputUnusable: the cap is no pair of numbers, or the dataset's name cannot be a file name.
        VerificationFailed: the ledger file was altered.
    """
    with answered():
        plan = order.plan(guarantee)
        present, in_force, other = _ledger_of(dataset, ledgers, plan)
        given = None if cap is None else _cap_of(cap)
        used = given if present is None else present
        document = make_quote(plan, used, [in_force], domain=order.domain).to_json()
        refusal = _refusal(plan, dataset, present, given, in_force, other)
        charge = plan_charge(plan)
        after = in_force if refusal else total([in_force, charge])
        left = (
            None if used is None else left_for(used, after, delta=guarantee.delta, charge_at=order.charge_at)
        )
        room = _room(refusal, plan, order, used, in_force, left, set_already=present is not None)
        if other is not None and refusal == UNIT_DIFFERS:
            room = f"NO. {unit_differs(str(dataset), other, plan)}"
    if (said := noise_line(document["expected_error"])) is not None:
        warn(said, LargeExpectedError)
    own: dict[str, Any] = {
        "fits": refusal is None,
        "refusal": refusal,
        "grant": None,
        "remaining_epsilon_after": None if left is None else left[0],
    }
    return TrainingQuote(
        document=document | own,
        epsilon=decimal_text(charge.epsilon_micros, MICRO),
        delta=decimal_text(charge.delta_femtos, FEMTO),
        remaining_epsilon_after=None if left is None else left[0],
        remaining_delta_after=None if left is None else left[1],
        room=room,
    )


def _ledger_of(
    dataset: str | None, ledgers: AnyPath | None, plan: Plan
) -> tuple[Cap | None, Charge, PrivacyUnit | None]:
    """The cap, the charges in force, and the privacy unit of earlier trainings if it is not the plan's; a missing ledger is not created."""
    path = None if dataset is None else ledger_path(folder_of(ledgers), dataset)
    if path is None or dataset is None or not path.exists():
        return None, total([]), None
    with opened_ledger(path, dataset) as ledger:
        return ledger.state.cap, ledger.state.balance.in_force, other_unit(ledger, plan)


def _cap_of(cap: tuple[float, float]) -> Cap:
    epsilon, delta = pair_of_numbers(cap, "cap")
    return Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule.FILTERS)


def _refusal(
    plan: Plan,
    dataset: str | None,
    present: Cap | None,
    given: Cap | None,
    in_force: Charge,
    other: PrivacyUnit | None,
) -> str | None:
    """The code of `fit`'s refusal; None if `fit` would proceed."""
    if dataset is None:
        return NO_DATASET
    if present is None and given is None:
        return NO_CAP
    if present is not None and given is not None and present != given:
        return ANOTHER_CAP
    if other is not None:
        return UNIT_DIFFERS
    used = given if present is None else present
    assert used is not None, "one of them is set"
    return None if admit(used, [in_force, plan_charge(plan)]).admitted else TOO_LITTLE


def _room(
    refusal: str | None,
    plan: Plan,
    order: Order,
    cap: Cap | None,
    in_force: Charge,
    left: tuple[float, float] | None,
    *,
    set_already: bool,
) -> str:
    if refusal == NO_DATASET:
        return "not known: name the dataset, Synthesizer(dataset=...)"
    if refusal == NO_CAP or cap is None or left is None:
        return "NO. No cap is set: Synthesizer(cap=(epsilon, delta)) sets it, once"
    bound = f"the cap of epsilon {cap.epsilon:g}, delta {cap.delta:g}"
    if refusal == ANOTHER_CAP:
        return (
            f"NO. Another cap is set: epsilon {cap.epsilon:g}, delta {cap.delta:g}. It is set once; omit cap="
        )
    if refusal == TOO_LITTLE:
        return f"NO. {refusal_text(cap, in_force, plan, order.charge_at)}"
    begun = "" if set_already else ", which fit sets"
    return f"yes, under {bound}{begun}; left for one more like it: {left_in_words(*left)}"
