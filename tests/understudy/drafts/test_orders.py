"""A draft says of numbers that they are never below others, where that is no matter of chance, and proposes a rule."""

from datetime import date, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer

from core.plan.domain.table import TableDomain
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.categories import NOTE
from understudy.drafts.confirmation import walk
from understudy.drafts.dependencies import require_possible
from understudy.drafts.display import rule_lines
from understudy.drafts.hints import order_of_times, rules_of
from understudy.drafts.marked_values import KINDS, accept_kinds
from understudy.drafts.tables import draft_frame
from understudy.table_files import MARK

RNG = np.random.default_rng(9)
BOUGHT = np.round(RNG.gamma(2, 100, 500), 2)
PAID = np.round(BOUGHT * RNG.random(500), 2)


def note(of: str = "bought", **columns: np.ndarray) -> str:
    return str(column(draft_frame(pa.table(columns)), of)[NOTE])


def rules(*, target: np.ndarray | None = None, **columns: np.ndarray) -> list[dict[str, Any]]:
    named = columns if target is None else columns | {"target": target}
    return list(draft_frame(pa.table(named)).get("rules", []))


def test_a_number_that_is_never_below_another_one_says_so_and_has_a_rule() -> None:
    found = note(paid=PAID, bought=BOUGHT)
    assert "Never below paid in any row that was compared" in found
    assert (
        "A rule is drafted, so that synthetic rows keep the order. A real row that breaks it is counted unchanged"
        in found
    )
    assert "Never below" not in note("paid", paid=PAID, bought=BOUGHT)
    assert rules(paid=PAID, bought=BOUGHT) == [
        {"kind": "at_most", "columns": ["paid", "bought"], MARK: ["columns"]}
    ]


def test_of_numbers_that_mostly_are_equal_a_line_says_how_to_declare_it() -> None:
    mostly = np.where(RNG.random(500) < 0.55, BOUGHT, PAID)
    assert "declare the rule 'at_most' of paid and bought" in note(paid=mostly, bought=BOUGHT)
    assert rules(paid=mostly, bought=BOUGHT) == []


def test_a_target_has_no_rule() -> None:
    assert rules(paid=PAID, target=BOUGHT) == []
    assert "declare the rule 'at_most' of paid and target" in note("target", paid=PAID, target=BOUGHT)


def test_a_chain_has_a_rule_for_each_step() -> None:
    high = np.round(BOUGHT * (1 + 3 * RNG.random(500)), 2)
    found = rules(low=PAID, middle=BOUGHT, high=high)
    assert [rule["columns"] for rule in found] == [["low", "middle"], ["middle", "high"]]


def test_what_is_confirmed_is_a_domain_with_the_rule() -> None:
    draft = draft_frame(pa.table({"paid": PAID, "bought": BOUGHT}))
    domain = TableDomain.from_json(confirmed(draft))
    assert [(rule.kind, rule.columns) for rule in domain.rules] == [("at_most", ("paid", "bought"))]


def answered(*answers: str) -> tuple[dict[str, Any], str]:
    """A draft whose rules are asked about, and what was said."""
    draft, said, left = draft_frame(pa.table({"paid": PAID, "bought": BOUGHT})), list[str](), list(answers)
    accept_kinds(draft, [kind for kind in KINDS if kind != "rules"])
    walk(draft, lambda _: left.pop(0), said.append)
    assert not left
    return draft, "\n".join(said)


def test_a_person_accepts_or_drops_the_rule() -> None:
    draft, said = answered("?", "")
    assert "RULES (1 to confirm)" in said
    assert "paid is at most bought" in said
    assert "the first is at most the second" in said
    assert draft["rules"] == [{"kind": "at_most", "columns": ["paid", "bought"]}]
    assert "rules" not in answered("d")[0]
    ignored = answered("i")[0]
    assert "rules" not in ignored
    assert column(ignored, "bought")["kind"] == "ignored"


def test_a_rule_goes_with_its_columns_and_is_named_where_a_draft_is_shown() -> None:
    draft = draft_frame(pa.table({"paid": PAID, "bought": BOUGHT}))
    assert "paid <= bought" in rules_of(draft, answer="a")[0]
    assert rule_lines(draft) == ["paid is at most bought."]
    column(draft, "paid")["kind"] = "ignored"
    require_possible(draft)
    assert "rules" not in draft


def test_an_order_of_numbers_leaves_the_order_of_dates_to_be_asked_about() -> None:
    days = [date(2020, 1, 1) + timedelta(days=int(n) * 5) for n in RNG.integers(0, 300, 500)]
    others = [date(2020, 1, 1) + timedelta(days=int(n) * 5) for n in RNG.integers(0, 300, 500)]
    draft = draft_frame(pa.table({"paid": PAID, "bought": BOUGHT, "came": days, "left": others}))
    assert draft["rules"]
    assert order_of_times(draft, answer="x")


@pytest.mark.parametrize(
    "other",
    [np.where(np.arange(500) == 7, BOUGHT + 1, PAID), PAID / 1000, BOUGHT],
    ids=["one row", "another scale", "equal"],
)
def test_other_numbers_do_not(other: np.ndarray) -> None:
    assert "Never below" not in note(paid=other, bought=BOUGHT)


def test_few_rows_say_nothing() -> None:
    assert "Never below" not in note(paid=PAID[:150], bought=BOUGHT[:150])


def test_the_worst_of_several_measurements_is_never_below_their_mean() -> None:
    frame = load_breast_cancer(as_frame=True).frame
    draft = draft_frame(pa.Table.from_pandas(frame, preserve_index=False))
    for name in ("texture", "area"):
        assert f"Never below mean {name}" in column(draft, f"worst {name}")[NOTE]
    for name in ("radius", "perimeter"):
        assert column(draft, f"worst {name}")["difference"]["lower"] == 0


def _times(**bounds: tuple[str, str]) -> dict[str, object]:
    """A domain of dates and datetimes with these bounds."""
    return {
        "columns": [
            {"name": name, "kind": "datetime" if "T" in low + high else "date", "lower": low, "upper": high}
            for name, (low, high) in bounds.items()
        ]
    }


@pytest.mark.parametrize(
    ("born", "came", "asks"),
    [
        (("1920-01-01", "2015-12-31"), ("2019-01-01", "2024-12-31"), False),
        (("2019-01-01", "2024-12-31"), ("1920-01-01", "2015-12-31"), False),
        (("1920-01-01", "2019-01-01"), ("2019-01-01", "2024-12-31"), False),
        (("1920-01-01", "2019-01-02"), ("2019-01-01", "2024-12-31"), True),
        (("1920-01-01", "2018-12-31"), ("2019-01-01T00:00:00", "2024-12-31T00:00:00"), False),
        (("1920-01-01", "2019-01-01"), ("2019-01-01T09:00:00", "2024-12-31T00:00:00"), True),
        (
            ("1920-01-01T00:00:00", "2019-01-01T09:00:00"),
            ("2019-01-01T09:00:00", "2024-12-31T00:00:00"),
            False,
        ),
    ],
)
def test_an_order_that_the_bounds_settle_is_not_asked_about(
    born: tuple[str, str], came: tuple[str, str], *, asks: bool
) -> None:
    assert bool(order_of_times(_times(born=born, came=came), answer="x")) is asks


def test_only_columns_with_an_open_order_are_named() -> None:
    later = ("2019-01-01", "2024-12-31")
    found = order_of_times(_times(born=("1920-01-01", "2015-12-31"), came=later, left=later), answer="x")
    assert "If one of came, left is never after another" in found[0]
    learnt = _times(born=("1920-01-01", "2015-12-31"), came=later)
    learnt["columns"][1]["bounds"] = "learn"  # type: ignore[index]
    assert order_of_times(learnt, answer="x"), "learnt bounds settle nothing"
    edges = _times(born=("1920-01-01", "2015-12-31"), came=later)
    came = edges["columns"][1]  # type: ignore[index]
    came["edges"] = [came.pop("lower"), "2021-01-01", came.pop("upper")]
    assert not order_of_times(edges, answer="x")
