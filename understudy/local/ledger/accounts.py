"""Budget accounting on a dataset's ledger file: the cap, set once, and charges, reserved and spent before a row is read."""

import math
import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from core.clock import Clock, SystemClock
from core.dp.adjacency import PrivacyUnit
from core.dp.charge import FEMTO, MICRO, Charge
from core.dp.filters import Cap, admit
from core.dp.mechanism import to_json
from core.dp.remaining import ChargeAt, composed_epsilon
from core.errors import UnderstudyError as EngineError
from core.ledger.admission import decimal_text, require_cap_above
from core.ledger.entries import cap_set
from core.ledger.errors import BudgetNotSet
from core.ledger.hash_chain import Head
from core.ledger.reservation import EntryKind, Movement
from core.plan.domain.declared import domain_from_json
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.plan.quote import plan_charge
from understudy.connection import default_data_folder
from understudy.documents import Json
from understudy.errors import Conflict, InputUnusable, VerificationFailed, refusal
from understudy.local.html_tables import html_table, text_table
from understudy.local.ledger.file import OpenLedger, ledger_path, opened_ledger
from understudy.local.ledger.remaining import left_for, left_in_words, require_room, spent_in_words
from understudy.local.paths import AnyPath, path_of
from understudy.near_names import suggestion

OWNER = "the owner of the file"
UNIT = "privacy_unit"
"""Member of a reserved mechanism: the column of the privacy unit, or null where each record is its own. Trainings from before lack it."""
UNIT_DIFFERS = "unit-differs"
_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Account:
    """The state of a dataset's ledger.

    Attributes:
        cap: epsilon and delta that bound everything ever released; None before the cap is set.
        spent: sums of the trainings' own epsilons and deltas, as exact decimals. They are not the composed cost: each sum may exceed the
            cap.
        reserved: the same sums for trainings that never began; they count.
        composed_epsilon: the composed cost of all trainings, by the ledger's rule: the smallest epsilon of a cap with this cap's delta that would
            have admitted them; None before a cap is set.
        carried_by: the filter that holds with the most room; None if no filter holds.
        remaining_epsilon: the largest epsilon of one more training at `remaining_delta`; None before a cap is set.
        remaining_delta: the requested delta, or a smaller one if nothing is left at that.
        jobs: state of every training, by its id.
    """

    path: Path
    cap: Json | None
    spent: Json
    reserved: Json
    composed_epsilon: float | None
    carried_by: str | None
    remaining_epsilon: float | None
    remaining_delta: float | None
    jobs: Json

    def __repr__(self) -> str:
        """The spent and the remaining budget, by the ledger's rule."""
        return text_table("Account", self._facts())

    def _repr_html_(self) -> str:
        return html_table(("Account", ""), self._facts())

    def _facts(self) -> list[tuple[str, ...]]:
        if self.cap is None:
            return [("cap", "not set"), ("ledger", str(self.path))]
        return [
            ("cap", f"epsilon {self.cap['epsilon']:g}, delta {self.cap['delta']:g}"),
            ("spent", spent_in_words(self.composed_epsilon, self.cap, self.spent, len(self.jobs))),
            ("left for one more training", left_in_words(self.remaining_epsilon, self.remaining_delta)),
            ("trainings", str(len(self.jobs))),
            ("ledger", str(self.path)),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """The payment for one training.

    Attributes:
        population_id: population of the paying chain.
        reserved: the entry that reserved the charge.
        spent: the entry that spent the charge.
    """

    population_id: UUID
    reserved: Head
    spent: Head


def folder_of(ledgers: AnyPath | None) -> Path:
    """Return a caller's folder of ledgers; by default one inside the data folder of the local stack, shared by all programs of a user.

    Raises:
        InputUnusable: the value is no path.
    """
    return default_data_folder() / "ledgers" if ledgers is None else path_of(ledgers, "ledgers")


def set_cap(dataset: str, *, epsilon: float, delta: float, ledgers: AnyPath | None = None) -> Account:
    """Set the cap on everything ever released about a dataset; once, before the first training.

    Under the filters' rule, a cap with a training's epsilon and twice its delta suffices for that training.

    Args:
        dataset: name of the dataset; the same people must always have the same name.
        ledgers: folder of the ledgers, text or a path; default: one folder for all programs of this user.

    Raises:
        Conflict: a cap is already set.
        InvalidInput: the cap is out of range.
        VerificationFailed: the ledger file was altered.
    """
    path = ledger_path(folder_of(ledgers), dataset)
    with answered(), opened_ledger(path, dataset) as ledger:
        cap = Cap(epsilon=epsilon, delta=delta, rule=ledger.state.rule)
        if ledger.state.cap is not None:
            raise already_set(dataset, ledger.state.cap)
        require_cap_above(cap, ledger.state.balance.in_force)
        ledger.append(
            cap_set(epsilon=cap.epsilon, delta=cap.delta, by=OWNER, reason=None), clock=SystemClock()
        )
        return _account(ledger)


def set_first_cap(
    path: Path,
    dataset: str,
    cap: tuple[float, float],
    plan: Plan | ModelPlan,
    *,
    charge_at: ChargeAt | None = None,
) -> None:
    """Set the cap of a dataset that has none, if the cap admits a plan. Do nothing if the same cap is set.

    A cap can be set only once, so it is not set for an impossible training. `charge_at` is the plan's charge at other guarantees, for the
    offer in a refusal.

    Raises:
        BudgetRefused: the cap does not admit the plan; no cap was set.
        Conflict: another cap is set.
        InputUnusable: the cap is no pair of numbers.
        InvalidInput: the cap is out of range.
        VerificationFailed: the ledger file was altered.
    """
    epsilon, delta = pair_of_numbers(cap, "cap")
    with answered(), opened_ledger(path, dataset) as ledger:
        wanted, present = Cap(epsilon=epsilon, delta=delta, rule=ledger.state.rule), ledger.state.cap
        if present is not None:
            if (present.epsilon, present.delta) != (epsilon, delta):
                raise already_set(dataset, present)
            return
        require_room(
            wanted,
            ledger.state.balance.in_force,
            plan,
            remedy="No cap was set: give one that admits this training. It is set once.",
            charge_at=charge_at,
        )
        ledger.append(cap_set(epsilon=epsilon, delta=delta, by=OWNER, reason=None), clock=SystemClock())


def pair_of_numbers(pair: object, name: str) -> tuple[float, float]:
    """Return epsilon and delta of a caller's argument as floats.

    Raises:
        InputUnusable: the value is no pair of numbers.
    """
    if not isinstance(pair, tuple | list) or len(pair) != _PAIR:
        raise InputUnusable(f"{name} is a pair of numbers, (epsilon, delta), such as (4.0, 1e-5)")
    return _finite(pair[0], f"epsilon of {name}"), _finite(pair[1], f"delta of {name}")


def _finite(given: object, name: str) -> float:
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        raise InputUnusable(f"{name} must be a number, not {type(given).__name__}")
    if not math.isfinite(given):
        raise InputUnusable(f"{name} must be a finite number, not {float(given)}")
    return float(given)


def read_account(
    dataset: str,
    *,
    ledgers: AnyPath | None = None,
    delta: float | None = None,
    charge_at: ChargeAt | None = None,
) -> Account:
    """Verify a dataset's ledger from its first line and return its state.

    Args:
        ledgers: folder of the ledgers, text or a path; default: one folder for all programs of this user.
        delta: delta of the next training, for the remaining budget; default: a sixteenth of the cap's delta.
        charge_at: charge of that training at a guarantee; default: a typical one.

    Raises:
        VerificationFailed: the ledger file was altered.
    """
    path = ledger_path(folder_of(ledgers), dataset)
    with answered(), opened_ledger(path, dataset) as ledger:
        return _account(ledger, delta=delta, charge_at=charge_at)


def pay(
    path: Path,
    dataset: str,
    plan: Plan | ModelPlan,
    *,
    job_id: UUID,
    clock: Clock,
    charge_at: ChargeAt | None = None,
) -> Payment:
    """Reserve and spend the cost of a plan. The charge is on disk on return, whatever happens to the training.

    Raises:
        BudgetRefused: no filter admits the plan; nothing was written.
        Conflict: no cap is set, or earlier trainings protect another privacy unit.
        VerificationFailed: the ledger file was altered.
    """
    charge = plan_charge(plan)
    with answered(), opened_ledger(path, dataset) as ledger:
        cap = ledger.state.cap
        if cap is None:
            others = [other.stem for other in path.parent.glob("*.jsonl") if other.stem != dataset]
            raise BudgetNotSet(
                f"No cap is set for {dataset!r}{suggestion(dataset, others) or '.'}",
                remedy=f"Set it once: Synthesizer(..., cap=(epsilon, delta)), or understudy.local.set_cap({dataset!r}, epsilon=..., "
                "delta=...). A cap of its epsilon and twice its delta is enough for one training.",
            )
        if (other := other_unit(ledger, plan)) is not None:
            raise Conflict(
                409,
                {
                    "code": UNIT_DIFFERS,
                    "title": "The privacy unit differs",
                    "detail": unit_differs(dataset, other, plan),
                    "remedy": "Declare the privacy unit of the earlier trainings. Other people's records are another dataset, under another name.",
                },
            )
        require_room(
            cap,
            ledger.state.balance.in_force,
            plan,
            remedy="The cap of a dataset is set once.",
            charge_at=charge_at,
        )
        reserved, spent = ledger.append(
            _moved(EntryKind.RESERVED, job_id, charge),
            _moved(EntryKind.SPENT, job_id, charge),
            clock=clock,
            mechanism=to_json(plan.mechanism) | {UNIT: plan.privacy_unit.column},
        )
        return Payment(population_id=ledger.population_id, reserved=reserved, spent=spent)


def other_unit(ledger: OpenLedger, plan: Plan | ModelPlan) -> PrivacyUnit | None:
    """Return the privacy unit of earlier trainings if it is not the plan's: a cap on charges per record bounds nothing for a person with many."""
    noted = (entry.mechanism for entry in ledger.entries if entry.mechanism is not None)
    units = {mechanism[UNIT] for mechanism in noted if UNIT in mechanism} - {plan.privacy_unit.column}
    return PrivacyUnit(column=units.pop()) if units else None


def unit_differs(dataset: str, other: PrivacyUnit, plan: Plan | ModelPlan) -> str:
    """Return the sentence that refuses a plan of another privacy unit."""
    before, now = (
        "each record" if unit.column is None else f"each value of {unit.column!r}"
        for unit in (other, plan.privacy_unit)
    )
    return f"The earlier trainings of {dataset!r} protect {before}, and this one {now}: one cap cannot bound both."


def settle(
    path: Path, dataset: str, plan: Plan | ModelPlan, payment: Payment, *, job_id: UUID, clock: Clock
) -> None:
    """Record that a training finished. Its charge stays; an unsettled training costs the same.

    Raises:
        VerificationFailed: the ledger file was altered, or no longer holds the payment.
    """
    charge = plan_charge(plan)
    with answered(), opened_ledger(path, dataset) as ledger:
        if payment.spent not in {entry.head for entry in ledger.entries}:
            message = (
                f"{path} no longer holds the charge of this training: the file was replaced while it ran. The generator is "
                "not returned. Restore the file that holds every charge"
            )
            raise VerificationFailed(message)
        ledger.append(_moved(EntryKind.SETTLED, job_id, charge), clock=clock)


@contextmanager
def answered() -> Iterator[None]:
    """Raise the engine's refusals as client errors: the same classes, codes and facts."""
    try:
        yield
    except EngineError as error:
        raise refusal(
            error.status,
            {
                "code": error.code,
                "title": error.title,
                "detail": error.detail,
                "remedy": error.remedy,
                "facts": error.facts,
            },
        ) from None


def already_set(dataset: str, cap: Cap) -> Conflict:
    """Return the refusal of a second cap."""
    return Conflict(
        409,
        {
            "code": "cap-already-set",
            "detail": f"The cap of {dataset!r} is set: epsilon {cap.epsilon:g}, delta {cap.delta:g}.",
            "remedy": "It is set once. Other people's records are another dataset, under another name.",
        },
    )


def _moved(kind: EntryKind, job_id: UUID, charge: Charge) -> Movement:
    return Movement(kind=kind, job_id=job_id, charge=charge)


def _account(ledger: OpenLedger, *, delta: float | None = None, charge_at: ChargeAt | None = None) -> Account:
    state = ledger.state
    balance, cap = state.balance, state.cap
    left = None if cap is None else left_for(cap, balance.in_force, delta=delta, charge_at=charge_at)
    return Account(
        path=ledger.path,
        cap=None if cap is None else {"epsilon": cap.epsilon, "delta": cap.delta},
        spent=_decimals(balance.spent),
        reserved=_decimals(balance.reserved),
        composed_epsilon=None if cap is None else composed_epsilon(cap, [balance.in_force]),
        carried_by=None if cap is None else admit(cap, [balance.in_force]).carried_by,
        remaining_epsilon=None if left is None else left[0],
        remaining_delta=None if left is None else left[1],
        jobs={str(job_id): found.state.value for job_id, found in state.reservations.items()},
    )


def _decimals(charge: Charge) -> dict[str, str]:
    return {
        "epsilon": decimal_text(charge.epsilon_micros, MICRO),
        "delta": decimal_text(charge.delta_femtos, FEMTO),
    }


def require_domain(document: Json) -> None:
    """Refuse a domain document, without `declared_size`, that the service would refuse.

    Raises:
        InvalidInput: the document breaks a rule; the fact `pointer` gives the place in the document.
    """
    with answered():
        domain_from_json(document)
