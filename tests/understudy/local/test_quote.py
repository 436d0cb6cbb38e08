"""The price in Python, before anything is spent: the plan that `fit` makes, its expected errors, and the ledger."""

import doctest
import re
import warnings
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pytest

from core.clock import SystemClock
from core.dp.guarantee import PrivacyGuarantee
from tests.core.artifacts.certified import plan_for
from tests.understudy.local.test_synthesizer import html, made, table
from understudy import BudgetRefused, DraftNotAccepted, InputUnusable, Synthesizer
from understudy.local import LargeExpectedError, read_account, set_cap
from understudy.local.ledger.accounts import pay
from understudy.local.ledger.file import ledger_path
from understudy.local.training import quote
from understudy.local.training.planning import Order

pytestmark = [
    pytest.mark.filterwarnings("ignore::understudy.local.training.quote.LargeExpectedError"),
    pytest.mark.filterwarnings("ignore::understudy.errors.HiddenByNoise"),
]
LEARNT = {
    "schema": "understudy.domain/1",
    "declared_size": 400,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": "learn"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 110, "bins": "learn"},
    ],
}
DECLARED = {
    "schema": "understudy.domain/1",
    "declared_size": 400,
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["surgery", "oncology", "geriatrics"]},
        {"name": "died", "kind": "categorical", "categories": ["yes", "no"]},
    ],
}


def of(ledgers: Path, domain: dict[str, Any], **more: Any) -> Synthesizer:
    """A synthesizer of counts alone, of a declared domain and a cap that is set."""
    return made(ledgers, domain=domain).set_params(options=None, cap=None, **more)


def rows_of(domain: dict[str, Any]) -> pa.Table:
    return table().select([column["name"] for column in domain["columns"]])


def accepted(ledgers: Path, **more: Any) -> Synthesizer:
    found = made(ledgers, **more)
    found.draft(table())
    return found.accept_draft(declared_size=500)


def test_a_quote_says_what_is_measured_how_well_and_at_what_price(tmp_path: Path) -> None:
    found = accepted(tmp_path)
    quoted = found.quote()
    assert not list(tmp_path.iterdir()), "no ledger is begun"
    for shown in (repr(quoted), html(quoted)):
        for said in (
            "expected error of counts",
            "if columns were independent",
            "measured",
            "split of the budget",
        ):
            assert said in shown
        assert "yes, under the cap of epsilon 2, delta 4e-06, which fit sets" in shown
    assert quoted.fits
    assert quoted.refusal is None
    assert quoted.expected_error is not None


@pytest.mark.parametrize("domain", [None, LEARNT, DECLARED])
def test_fit_charges_what_the_quote_says_and_leaves_what_it_says(
    tmp_path: Path, domain: dict[str, Any] | None
) -> None:
    found = (
        accepted(tmp_path)
        if domain is None
        else of(tmp_path, domain).set_params(cap=(2.0, 1e-5), epsilon=1.5)
    )
    quoted = found.quote()
    found.fit(table() if domain is None else rows_of(domain))
    assert found.account_.spent == {"epsilon": quoted.epsilon, "delta": quoted.delta}
    assert found.account_.remaining_epsilon == quoted.remaining_epsilon_after
    assert found.account_.remaining_delta == quoted.remaining_delta_after
    assert found.fitted_.expected_error == quoted.expected_error
    assert "which fit sets" not in repr(found.quote())


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        ({"dataset": None}, "no-dataset", "name the dataset"),
        ({"cap": None}, "budget-not-set", "No cap is set"),
        (
            {"cap": (0.5, 4e-6)},
            "budget-refused",
            "Epsilon is short: the dataset's cap admits (epsilon, delta) = (0.5, 1e-06)",
        ),
    ],
)
def test_a_quote_says_why_fit_would_refuse(
    tmp_path: Path, more: dict[str, Any], code: str, said: str
) -> None:
    found = accepted(tmp_path).set_params(**more)
    quoted = found.quote()
    assert (quoted.fits, quoted.refusal) == (False, code)
    assert said in repr(quoted)
    assert not list(tmp_path.iterdir())


def test_another_cap_than_the_one_that_is_set_is_said(tmp_path: Path) -> None:
    set_cap("wards", epsilon=3.0, delta=1e-5, ledgers=tmp_path)
    assert accepted(tmp_path).quote().refusal == "cap-already-set"
    assert accepted(tmp_path).set_params(cap=None).quote().fits


def test_without_a_domain_or_a_size_there_is_no_quote(tmp_path: Path) -> None:
    found = made(tmp_path)
    with pytest.raises(DraftNotAccepted, match="no domain to quote for"):
        found.quote()
    found.draft(table())
    with pytest.raises(DraftNotAccepted):
        found.quote()
    sizeless = {key: value for key, value in DECLARED.items() if key != "declared_size"}
    with pytest.raises(InputUnusable, match="no declared size"):
        made(tmp_path, domain=sizeless).quote()
    assert made(tmp_path, domain=sizeless, declared_size=400).quote().fits


def test_rows_that_would_be_noise_are_warned_of(tmp_path: Path) -> None:
    with pytest.warns(LargeExpectedError, match="mostly noise: even in single columns"):
        quoted = accepted(tmp_path).set_params(epsilon=0.001).quote()
    assert "WARNING: the rows would be mostly noise" in repr(quoted)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "WARNING" not in repr(of(tmp_path, DECLARED, declared_size=50_000).quote())


def order_of(found: Synthesizer) -> Order:
    return Order.read(found.domain, declared_size=None, synthesizer=found.synthesizer, options=found.options)


def spend(found: Synthesizer, ledgers: Path) -> None:
    """Pay as `fit` does, without a training."""
    plan = order_of(found).plan(PrivacyGuarantee(epsilon=found.epsilon, delta=found.delta))
    pay(ledger_path(ledgers, "wards"), "wards", plan, job_id=uuid4(), clock=SystemClock())


def test_a_quote_knows_that_fit_would_refuse_another_privacy_unit(tmp_path: Path) -> None:
    set_cap("wards", epsilon=9.0, delta=1e-4, ledgers=tmp_path)
    path = ledger_path(tmp_path, "wards")
    pay(path, "wards", plan_for({"critic": False}, unit="person"), job_id=uuid4(), clock=SystemClock())
    quoted = of(tmp_path, DECLARED).quote()
    assert (quoted.refusal, quoted.fits) == ("unit-differs", False)
    assert "NO. The earlier trainings of 'wards' protect each value of 'person'" in quoted.room


def offered(text: str) -> tuple[float, float]:
    ((epsilon, delta),) = re.findall(r"admits \(epsilon, delta\) = \(([0-9.e-]+), ([0-9.e-]+)\) now", text)
    return float(epsilon), float(delta)


@pytest.mark.parametrize("domain", [DECLARED, LEARNT])
@pytest.mark.parametrize(
    ("cap", "guarantee"),
    [
        ((2.0, 1e-5), (0.5, 1e-6)),
        ((2.0, 4e-6), (0.4, 1.5e-6)),
        ((2.0, 1e-6), (1.0, 1e-6)),
        ((1.0, 1e-5), (3.0, 1e-5)),
    ],
)
def test_what_a_refusal_offers_is_admitted(
    tmp_path: Path, domain: dict[str, Any], cap: tuple[float, float], guarantee: tuple[float, float]
) -> None:
    epsilon, delta = guarantee
    set_cap("wards", epsilon=cap[0], delta=cap[1], ledgers=tmp_path)
    found = of(tmp_path, domain, epsilon=epsilon, delta=delta)
    while (quoted := found.quote()).fits:
        spend(found, tmp_path)
    assert quoted.refusal == "budget-refused"
    if "nothing is left" in quoted.room:
        left = read_account("wards", ledgers=tmp_path, delta=delta, charge_at=order_of(found).charge_at)
        assert not left.remaining_epsilon
        return
    wanted = offered(quoted.room)
    assert wanted[0] < epsilon or wanted[1] < delta
    assert found.set_params(epsilon=wanted[0], delta=wanted[1]).quote().fits
    spend(found, tmp_path)


@pytest.mark.parametrize(
    ("domain", "times", "delta"), [(DECLARED, 11, 1e-6), (LEARNT, 2, 1e-6), (LEARNT, 0, 4e-6)]
)
def test_what_is_said_to_be_left_is_admitted(
    tmp_path: Path, domain: dict[str, Any], times: int, delta: float
) -> None:
    """Of eleven trainings at delta 1e-6 the deltas add up to more than the cap's: Renyi filters carry them, at the order's own delta."""
    set_cap("wards", epsilon=2.0, delta=1e-5, ledgers=tmp_path)
    found = of(tmp_path, domain, epsilon=0.4, delta=1e-6)
    for _ in range(times):
        spend(found, tmp_path)
    found.set_params(delta=delta, epsilon=0.1).fit(rows_of(domain))
    ((epsilon, left),) = re.findall(
        r"left for one more training: epsilon ([0-9.]+) at delta ([0-9.e-]+)\n", repr(found)
    )
    assert (float(left) == delta) is (delta == 1e-6)
    above = of(tmp_path, domain, epsilon=float(epsilon) + 2e-4, delta=float(left))
    with pytest.raises(BudgetRefused, match="short"):
        above.fit(rows_of(domain))
    above.set_params(epsilon=float(epsilon)).fit(rows_of(domain))


def test_what_is_spent_is_shown_as_the_ledger_composes_it(tmp_path: Path) -> None:
    set_cap("wards", epsilon=2.0, delta=1e-5, ledgers=tmp_path)
    found = of(tmp_path, DECLARED, epsilon=0.45, delta=1e-6)
    for _ in range(11):
        spend(found, tmp_path)
    account = read_account("wards", ledgers=tmp_path)
    assert float(account.spent["delta"]) > account.cap["delta"], "a sum of what each training promises"
    assert account.composed_epsilon is not None
    assert 1.5 < account.composed_epsilon < 2.0
    for shown in (repr(account), html(account)):
        assert re.search(
            r"epsilon 1\.[0-9]{1,4} of 2 at the cap&#x27;s delta|epsilon 1\.[0-9]{1,4} of 2 at the cap's delta",
            shown,
        )
        assert "1.1e-05" not in shown
        assert "0.000011" not in shown
        assert "their own epsilons add up to 4.95" in shown


def test_the_example_of_the_class_is_true(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quote, "folder_of", lambda ledgers: tmp_path if ledgers is None else ledgers)
    found = doctest.DocTestFinder(recurse=False).find(
        Synthesizer, "Synthesizer", globs={"Synthesizer": Synthesizer}
    )
    assert sum(len(test.examples) for test in found) == 3
    assert not sum(doctest.DocTestRunner().run(test).failed for test in found)


IMAGES = {"schema": "understudy.images/1", "height": 8, "width": 8, "channels": 1, "labels": ["a", "b"], "declared_size": 60_000}  # fmt: skip


def test_an_option_that_a_smaller_epsilon_does_not_allow_leaves_less_and_raises_nothing(
    tmp_path: Path,
) -> None:
    """A critic of labels is the default from epsilon 1 on, and without a critic nothing is shared with it.

    `fit` asks what is left when the training is paid for and done: it raised then, and the generator could not be drawn from.
    """
    order = Order.read(IMAGES, declared_size=None, synthesizer="idpgan", options={"anchor_share": 0.5})
    path = ledger_path(tmp_path, "faces")
    set_cap("faces", epsilon=2.5, delta=1e-5, ledgers=tmp_path)
    plan = order.plan(PrivacyGuarantee(epsilon=2.0, delta=1e-6))
    pay(path, "faces", plan, job_id=uuid4(), clock=SystemClock(), charge_at=order.charge_at)

    account = read_account("faces", ledgers=tmp_path, delta=1e-6, charge_at=order.charge_at)
    assert account.remaining_epsilon == 0
    with pytest.raises(BudgetRefused, match="nothing is left"):
        pay(path, "faces", plan, job_id=uuid4(), clock=SystemClock(), charge_at=order.charge_at)
