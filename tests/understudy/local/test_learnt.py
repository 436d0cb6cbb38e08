"""A domain that is learnt, on a user's own machine: from a frame to rows with its heaps, paid for and verified."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import understudy
from core.artifacts.statements import LEARNT_NAMES_PREPROCESSING, LEARNT_PREPROCESSING
from core.plan.domain.table import TableDomain
from core.plan.learning import NAMES
from tests.understudy.local.test_fitting import SMALL
from understudy import BudgetRefused
from understudy.local import Fitted, fit, read_account, set_cap
from understudy.verifying.bundle_file import Opened, open_bundle
from understudy.verifying.learning import learning_problems
from understudy.verifying.planned import canonical_digest
from understudy.verifying.verification import Outcome, verify_bundle, verify_opened

ROWS = 3000
DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": "person",
    "columns": [
        {"name": "person", "kind": "unit"},
        {"name": "dose", "kind": "numeric", "type": "real", "lower": -1000, "upper": 17000, "bins": "learn"},
        {"name": "fee", "kind": "numeric", "type": "real", "decimals": 2, "bounds": "learn", "bins": "learn"},
        {"name": "code", "kind": "categorical", "categories": "learn", "most": 20, "null": "category"},
        {"name": "sick", "kind": "boolean"},
    ],
}
GUARANTEE = (4.0, 1e-6)


def frame() -> pa.Table:
    rng = np.random.default_rng(8)
    return pa.table({
        "person": [f"p{n // 2}" for n in range(ROWS)],
        "dose": rng.choice([120.0, 98.6, 130.5], ROWS, p=[0.6, 0.3, 0.1]),
        "fee": np.round(np.exp(rng.normal(2, 0.5, ROWS)), 2),
        "code": [None if n % 10 == 0 else f"S{n % 3}" for n in range(ROWS - 1)] + ["of one person"],
        "sick": rng.random(ROWS) < 0.5,
    })  # fmt: skip


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledgers")
    set_cap("wards", epsilon=6.0, delta=4e-6, ledgers=folder)
    return folder


@pytest.fixture(scope="module")
def fitted(ledgers: Path) -> Fitted:
    options = {"anchor": True, "critic": False, "pretraining_steps": 600}
    return fit(
        frame(), DOMAIN, GUARANTEE, dataset="wards", declared_size=1500, options=options, ledgers=ledgers
    )


@pytest.fixture
def opened(fitted: Fitted, tmp_path: Path) -> Opened:
    return open_bundle(fitted.save(tmp_path / "bundle.zip"))


def test_rows_have_the_heaps_the_decimals_and_the_words_of_the_real_ones(fitted: Fitted) -> None:
    drawn = fitted.sample(5000, form="arrow")
    dose, fee = drawn["dose"].to_numpy(), drawn["fee"].to_numpy()
    real = frame()["fee"].to_numpy()

    for value, share in ((120.0, 0.6), (98.6, 0.3)):
        assert abs((dose == value).mean() - share) < 0.06
    # A heap that the noise may hide keeps its share, in the cell that it lies in.
    assert abs((dose > 125.0).mean() - 0.1) < 0.06
    assert np.median(dose) == 120.0
    assert np.median(fee) == pytest.approx(np.median(real), rel=0.15)
    assert np.abs(np.round(fee, 2) - fee).max() == 0
    assert {"S0", "S1", "S2", None} <= set(drawn["code"].to_pylist())


def test_the_released_domain_is_an_ordinary_one_and_names_nobody(fitted: Fitted, opened: Opened) -> None:
    found = TableDomain.from_json(opened.domain)

    assert not found.learnt
    assert found.modelled[2].labels == ("S0", "S1", "S2")  # type: ignore[union-attr]
    assert b"of one person" not in fitted.bundle
    assert fitted.certificate["data_domain"]["sha256"] == found.digest()
    assert fitted.ask("code")


def test_the_bundle_verifies(fitted: Fitted, tmp_path: Path) -> None:
    report = verify_bundle(fitted.save(tmp_path / "bundle.zip"), allow_unsigned=True)

    assert report.outcome is Outcome.VERIFIED, report.lines()


def refused(opened: Opened, *place: str | int, value: object) -> bool:
    changed = copy.deepcopy(dict(opened.certificate))
    node: Any = changed
    for name in place[:-1]:
        node = node[name]
    node[place[-1]] = value
    opened.certificate.clear()  # type: ignore[attr-defined]
    opened.certificate.update(changed)  # type: ignore[attr-defined]
    return verify_opened(opened, allow_unsigned=True).outcome is Outcome.REFUSED


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("plan", "learning", "delta"), 0.0),
        (("plan", "learning", "delta"), 1e-12),
        (("plan", "learning", "noise_multiplier"), 1.0),
        (("plan", "learning", "releases", 0, "sensitivity"), 1.0),
        (("plan", "learning", "releases", 0, "learns"), "bounds"),
        (("plan", "learning", "releases", 0, "column"), 40),
        (("mechanism", "parts", 0, "noise_multiplier"), 100.0),
        (("mechanisms", 0, "noise_std"), 1.0),
        (("executed", "releases", "learning"), [[0, 1, 3]]),
        (("charge", "rdp_micros", "8"), 12),
        (("noise_grid", "learning"), 0.5),
        (("plan", "learning", "names_per_unit"), 31),
        (("plan", "learning", "names_per_unit"), 1000),
        (("plan", "learning", "names_per_unit"), 1),
        (("plan", "learning", "names_per_unit"), None),
        (("plan", "privacy_unit", "column"), None),
    ],
)
def test_a_changed_statement_about_learning_is_refused(opened: Opened, place: Any, value: object) -> None:
    assert refused(opened, *place, value=value)


def test_a_plan_in_which_several_names_of_a_unit_count_is_stated_and_checked(opened: Opened) -> None:
    plan, said = opened.certificate["plan"], opened.certificate["preprocessing"]
    assert plan["learning"]["names_per_unit"] == NAMES
    assert "as many different ones of each unit as the plan's member 'names_per_unit' says" in said[3]
    problems = list(learning_problems(plan, 4))
    assert problems == []

    for names in (1, 31, 33, 1000):
        other = {**plan, "learning": {**plan["learning"], "names_per_unit": names}}
        assert list(learning_problems(other, 4)) == ["plan/learning/names_per_unit"]

    # A plan that says less than it does: of units that are records, or where no categories are learnt.
    by_record = {**plan, "privacy_unit": {"column": None}}
    assert list(learning_problems(by_record, 4)) == ["plan/learning/names_per_unit"]
    bins = [one for one in plan["learning"]["releases"] if one["learns"] != "categories"]
    learning = {**plan["learning"], "releases": bins, "delta": 0.0}
    assert "plan/learning/names_per_unit" in list(learning_problems({**plan, "learning": learning}, 4))


def as_before(opened: Opened, **more: object) -> dict[str, Any]:
    """The certificate as it was written when the first record of a unit counted alone."""
    changed = copy.deepcopy(dict(opened.certificate))
    del changed["plan"]["learning"]["names_per_unit"]
    changed |= {"preprocessing": list(LEARNT_PREPROCESSING), "plan_digest": canonical_digest(changed["plan"])}
    return changed | more


def test_a_release_from_before_is_verified_and_one_sentence_of_it_changed_is_not(opened: Opened) -> None:
    old = as_before(opened)
    report = verify_opened(replace(opened, certificate=old), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.lines()

    said = as_before(opened, preprocessing=list(LEARNT_NAMES_PREPROCESSING))
    assert verify_opened(replace(opened, certificate=said), allow_unsigned=True).outcome is Outcome.REFUSED
    assert refused(opened, "preprocessing", value=list(LEARNT_PREPROCESSING))


def test_learning_left_out_of_the_plan_is_refused(opened: Opened) -> None:
    plan = {name: value for name, value in opened.certificate["plan"].items() if name != "learning"}

    assert refused(opened, "plan", value=plan)


def test_a_domain_that_is_still_to_be_learnt_is_none_of_a_release(opened: Opened) -> None:
    opened.domain["columns"][1]["bins"] = "learn"

    report = verify_opened(opened, allow_unsigned=True)
    assert "domain.json leaves something to be learnt" in str([check.detail for check in report.refusals])


def test_a_report_on_the_owners_rows_reads_them_by_what_was_learnt(fitted: Fitted, tmp_path: Path) -> None:
    html = fitted.report(frame(), tmp_path / "report.html").read_text()

    assert "S2" in html
    assert "of one person" not in html


def test_a_training_that_learns_categories_is_carried_by_basic_composition(
    fitted: Fitted, ledgers: Path
) -> None:
    charge = fitted.certificate["charge"]
    account = read_account("wards", ledgers=ledgers)

    assert set(charge["rdp_micros"].values()) == {10**15}
    assert account.remaining_epsilon == pytest.approx(2.0, abs=0.001)
    with pytest.raises(BudgetRefused):
        understudy.fit(
            frame(), DOMAIN, (2.5, 1e-6), dataset="wards", declared_size=1500, options=SMALL, ledgers=ledgers
        )


def test_columns_whose_values_are_learnt_are_missing_together_where_a_rule_says_so(tmp_path: Path) -> None:
    domain = copy.deepcopy(DOMAIN)
    domain["columns"][2]["null"] = "category"
    domain["rules"] = [{"kind": "null_together", "columns": ["fee", "code"]}]
    rows = frame()
    rows = rows.set_column(2, "fee", pc.if_else(pc.is_null(rows["code"]), None, rows["fee"]))
    set_cap("stays", epsilon=6.0, delta=4e-6, ledgers=tmp_path)
    options = {"anchor": True, "critic": False, "pretraining_steps": 600}
    found = fit(
        rows, domain, GUARANTEE, dataset="stays", declared_size=1500, options=options, ledgers=tmp_path
    )

    drawn = found.sample(3000, form="arrow")
    assert drawn["fee"].is_null().equals(drawn["code"].is_null())
    assert 0.05 < drawn["fee"].null_count / 3000 < 0.2
    report = verify_bundle(found.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.lines()
