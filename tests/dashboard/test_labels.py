"""What pages say: amounts that never promise too much, times as the API rounds them, bars that add up."""

import math
import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from fastapi.routing import APIRoute

from core.artifacts.certificate_form import MechanismForm
from core.artifacts.reports.page import environment
from core.plan.domain.columns.kinds import LabelColumn, NullPolicy, NumericColumn, TimeColumn
from core.plan.domain.table import TableDomain
from service.budgets.schemas import BudgetOrder, BudgetView
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import Form, order
from service.dashboard.release_drawing import plot, titles_of
from service.dossier.promise import protected
from service.wording import amounts, labels
from service.wording.amounts import delta_up, epsilon_up, factor_up
from service.wording.budget_pictures import BAR_WIDTH, bar_of
from service.wording.certificate_text import in_words, mechanisms
from service.wording.domain_text import holds, missing_words, otherwise, rule
from tests.core.artifacts.certified import certified
from tests.core.artifacts.certified_selection import WINNER, selection_statement
from tests.core.artifacts.stand_in import DOMAIN
from tests.core.plan.domain.ruled import COMPUTED, EVERY_RULE, FLAGS
from tests.dashboard.every_page import GROUPS
from workers import upkeep


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (1.0, "1"),
        ("0.500000", "0.5"),
        (2.6476, "2.6476"),
        (0.00004, "0"),
        (10, "10"),
        (100.0, "100"),
        (None, "–"),
    ],
)
def test_epsilons(amount: float | str | None, shown: str) -> None:
    assert amounts.epsilon(amount) == shown


def test_numbers_are_grouped_in_one_way_in_pages_and_reports() -> None:
    for number in (7, 3500, 20_000, 1_234_567):
        assert amounts.count(number) == environment().filters["count"](number)
    assert amounts.decimal(1234.56) == environment().filters["decimal"](1234.56) == "1\u202f234.6"
    assert amounts.decimal(0.12345, 4) == "0.1235"
    folder = Path(labels.__file__).parents[1]
    for file in [*folder.glob("dashboard/templates/*.html"), *folder.glob("dashboard/static/[a-t]*.js")]:
        assert not re.search(r'\{:,|toLocaleString\("en"\)(?!\.replaceAll)', file.read_text()), file.name


def test_a_refused_attempt_is_explained() -> None:
    routes = [route for group in GROUPS for route in group.router.routes if isinstance(route, APIRoute)]
    names = {route.endpoint.__name__ for route in routes if "POST" in route.methods}
    assert names <= labels.ATTEMPTS.keys(), names - labels.ATTEMPTS.keys()
    assert labels.action("place") == "tried to place an order"
    assert labels.refused_for("budget-refused") == "it would exceed the cap"
    assert labels.refused_for("release-not-found") == "release not found"


def test_times_are_rounded_up_as_the_api_rounds_them() -> None:
    at = datetime(2026, 3, 1, 12, 0, 1, tzinfo=UTC)
    assert amounts.moment(at) == "2026-03-01 12:01"
    assert amounts.moment(at.replace(second=0)) == "2026-03-01 12:00"
    assert amounts.moment(at.astimezone(timezone(timedelta(hours=5))).isoformat()) == "2026-03-01 12:01"


def test_a_certificate_in_words_never_promises_more_than_it_says() -> None:
    certificate = certified({"steps": 40}).bundle.certificate
    promised = certificate["privacy_parameters"]["epsilon"]
    first = in_words(certificate)[0]
    told = float(first.partition("at most ")[2].partition(" times")[0])
    assert math.exp(promised) <= told <= math.exp(promised) + 0.1
    assert float(epsilon_up(0.99991)) >= 0.99991
    assert in_words({"schema": "understudy.certificate/1"}) == []
    assert any(
        line.startswith("Split of the budget: noisy counts and moments (anchor) ")
        and line.endswith(" %, which separates real records from generated ones.")
        for line in in_words(certificate)
    )


def test_a_selection_shows_its_selecting_too() -> None:
    """Only what the winner released was listed, under the epsilon of everything."""
    certificate, one = selection_statement(), certified({"steps": 40}).bundle.certificate
    listed = mechanisms(certificate)
    assert [times for _, times in listed[:2]] == ["2 ×", "1 ×"]
    assert "candidate" in listed[0][0]
    assert "selection" in listed[1][0]
    assert listed[2:], "and what the winner's training released"
    told = " ".join(in_words(certificate))
    assert (
        f"2 candidates were trained on disjoint parts of the units. Number {WINNER + 1} in the order was selected"
        in told
    )
    assert "candidate" not in " ".join([*in_words(one), *(what for what, _ in mechanisms(one))])


@pytest.mark.parametrize("amount", [1e-6, 0.1, 1.0, 1.00004, 2.0, 11.5, 13.0, 1000.0])
def test_numbers_of_a_promise_are_rounded_up(amount: float) -> None:
    """13 was told as 442413 times, which e^13 = 442413.392 exceeds; 1e-6 as “epsilon 0”, and 1000 as e^100 times."""
    exact = Decimal(str(amount))
    assert exact <= Decimal(epsilon_up(amount)) <= exact + Decimal("0.0001")
    assert exact.exp() <= Decimal(factor_up(amount)) <= exact.exp() * Decimal("1.00001") + Decimal("0.1")
    assert amount / 1e9 <= float(delta_up(amount / 1e9)) <= 1.01 * amount / 1e9
    told = in_words({"privacy_parameters": {"epsilon": amount, "delta": 1.2341e-6}})[0]
    assert f"at most {factor_up(amount)} times as likely (epsilon {epsilon_up(amount)})" in told
    assert "1.24e-6" in told
    assert f"{factor_up(amount)} in how likely it is (epsilon {epsilon_up(amount)})" in " ".join(
        protected(None, {"epsilon": amount, "delta": 1.2341e-6})
    )


@pytest.mark.parametrize("sent", ["1_0", "1_000.5", "\u0661", "0x10"])
def test_a_number_with_other_signs_than_digits_is_a_slip(sent: str) -> None:
    """Reproduced: `1_0` for `1.0` asked for an epsilon of ten."""
    with pytest.raises(FormInvalid, match="not a number"):
        Form({"epsilon": [sent]}).number("epsilon")


@pytest.mark.parametrize(
    ("span", "shown"), [(None, "not yet known"), (59, "59 s"), (90, "2 min"), (3600, "1 h"), (4680, "1.3 h")]
)
def test_durations(span: float | None, shown: str) -> None:
    assert amounts.seconds(span) == shown


def _budget(*, cap: float, spent: float, reserved: float, left: float) -> BudgetView:
    return BudgetView.model_validate(
        {
            "population_id": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10", "rule": "filters", "frozen_at": None, "filters": [],
            "cap": {"epsilon": cap, "delta": 1e-5}, "carried_by": None, "remaining_epsilon": left,
            "spent": {"epsilon": str(spent), "delta": "0"}, "reserved": {"epsilon": str(reserved), "delta": "0"},
        }
    )  # fmt: skip


def test_bars() -> None:
    bar = bar_of(_budget(cap=2, spent=1.5, reserved=0.5, left=1.0))
    assert bar is not None
    assert (bar.spent, bar.reserved) == (375, 125), "half of the bar, three to one"
    assert "50 %" in bar.label
    full = bar_of(_budget(cap=2, spent=9, reserved=0, left=0))
    assert full is not None
    assert (full.spent, full.reserved) == (BAR_WIDTH, 0)
    empty = bar_of(_budget(cap=2, spent=0, reserved=0, left=2))
    assert empty is not None
    assert (empty.spent, empty.reserved) == (0, 0)
    assert bar_of(_budget(cap=2, spent=0, reserved=0, left=2).model_copy(update={"cap": None})) is None


def test_forms_are_read_strictly() -> None:
    form = Form({"a": ["0,5"], "b": ["1e-6"], "c": ["x", "y"], "d": [" "], "e": ["nan"]})
    assert (form.number("a"), form.number("b"), form.number("d"), form.text("missing")) == (
        0.5,
        1e-6,
        None,
        None,
    )
    for wrong in (lambda: form.text("c"), lambda: form.required("d"), lambda: form.identity("a"),
                  lambda: order(BudgetOrder, epsilon=form.number("e"), delta=1e-6),
                  lambda: order(BudgetOrder, epsilon=1.0), lambda: order(BudgetOrder, epsilon=1.0, delta=1e-6, of="me")):  # fmt: skip
        with pytest.raises(FormInvalid) as refusal:
            wrong()
        assert "nan" not in refusal.value.detail


@pytest.mark.parametrize(
    ("sent", "read"),
    [("2500", 2500), ("2 500", 2500), ("2,500", 2500), ("2\u202f500", 2500), ("1\u00a0234\u00a0567", 1_234_567), ("12'500", 12_500), ("", None)],
)  # fmt: skip
def test_a_whole_number_may_have_its_thousands_grouped(sent: str, read: int | None) -> None:
    assert Form({"declared_size": [sent]}).whole("declared_size") == read


@pytest.mark.parametrize(
    "sent", ["2.5", "2.500", "2,5", "25,00", "2,500 000", "2,500.0", "1 2500", "-5", "many", "9" * 5000, "٣"]
)
def test_what_is_no_whole_number_is_refused_with_examples_that_are(sent: str) -> None:
    with pytest.raises(FormInvalid, match="The field “declared size” is not a whole number") as refusal:
        Form({"declared_size": [sent]}).whole("declared_size")
    assert refusal.value.remedy == "Enter it without decimals and without a point, such as 2500 or 2 500."


def test_columns_in_words() -> None:
    columns = {column["name"]: column for column in DOMAIN["columns"]}  # type: ignore[index]
    assert holds(columns["age"]) == "0 to 99"
    assert "nearest bound" in otherwise(columns["age"])
    assert holds(columns["sick"]) == "yes or no"
    assert holds({"kind": "ordinal", "levels": ["mild", "severe"]}) == "in this order: mild, severe"
    pressure = {"kind": "numeric", "lower": 70, "upper": 180, "specials": [120, 0]}
    assert holds(pressure) == "70 to 180; special values: 120, 0"
    assert otherwise(columns["ward"]) == "not listed: row refused; missing: row refused"
    gathered = {"kind": "categorical", "categories": ["a"], "other": "rest", "null": "category"}
    assert otherwise(gathered) == (
        "not listed: counted together as “rest”; missing: kept as a separate category"
    )
    assert missing_words(DOMAIN) == "an empty field"
    assert missing_words({"csv": {"null_values": ["", "?"]}}) == "an empty field, “?”"
    many = {"kind": "categorical", "categories": [str(number) for number in range(30)], "null": {"use": "7"}}
    assert holds(many).endswith("and 18 more")
    assert otherwise(many) == "not listed: row refused; missing: replaced by 7"


def test_rules_in_words() -> None:
    told = {name: rule(domain["rules"][0]) for name, domain in EVERY_RULE.items()}
    assert told == {
        "impossible": "impossible combinations of sex, pregnant, age: 2 declared",
        "possible": "possible combinations of age, stage: 3 declared, and no others",
        "at_most": "admitted is at most discharged",
        "duration": "stay is the number of whole days from admitted to discharged",
        "sum": "gross is the sum of net, tax, within 0.05",
        "null_together": "died, cause, hour: all missing or none missing",
        "exactly_one": f"{', '.join(FLAGS[:12])} and 28 more: exactly one is set",
        "determines": "city determines land, by a code book of 4",
    }
    assert rule(COMPUTED["rules"][0]) == (
        "enrolled is the sum of present, absent; present is computed from the others"
    )


def test_plots_count_codes() -> None:
    ward, age = TableDomain.from_json(DOMAIN).modelled[:2]
    bars = plot(ward, np.array([2, 2, 0, 2], dtype=np.int16)).bars
    assert [(bar.label, bar.share, bar.height) for bar in bars][:2] == [("Ü", 0.75, 100.0), ("A", 0.25, 33.3)]
    drawn = plot(age, np.array([1, 1, 0, 1], dtype=np.int16))
    assert drawn.ends == ("0", "99")
    assert [bar.height for bar in drawn.bars][:2] == [33.3, 100.0]


def test_values_without_a_place_on_the_scale_are_drawn_apart() -> None:
    pressure = NumericColumn(
        name="systolic", integer=True, lower=70, upper=180, bin_count=10, specials=(120.0,),
        null=NullPolicy(action="category"),
    )  # fmt: skip
    drawn = plot(pressure, np.array([0] * 6 + [1, 1, 10, 11]))

    assert [bar.share for bar in drawn.bars] == [0.2, *[0] * 8, 0.1], "the ten bins alone"
    assert [bar.height for bar in drawn.bars] == [100, *[0] * 8, 50], "relative to the tallest bin"
    assert [(bar.label, bar.share, bar.height) for bar in drawn.apart] == [
        ("exactly 120", 0.6, 60),
        ("(missing)", 0.1, 10),
    ]
    assert drawn.axis == ("70", "125", "180")


def test_levels_that_are_not_listed_are_drawn_apart() -> None:
    grades = LabelColumn(
        name="grade",
        kind="ordinal",
        labels=tuple("abcdefghij"),
        other="z",
        null=NullPolicy(action="category"),
    )
    drawn = plot(grades, np.array([0, 9, 9, 10, 11]))
    assert (len(drawn.bars), drawn.axis) == (10, ("a", "j"))
    assert [(bar.label, bar.share) for bar in drawn.apart] == [("(other)", 0.2), ("(missing)", 0.2)]


def test_the_middle_of_a_scale_is_what_stands_in_the_middle_of_the_drawing() -> None:
    spread = NumericColumn(
        name="income", integer=False, lower=0, upper=200_000, edges=(0, 10, 100, 1000, 200_000)
    )
    assert plot(spread, np.array([0])).axis == ("0", "100", "200\u202f000"), (
        "the edge between the second and third bin"
    )
    visits = NumericColumn(name="visits", integer=True, lower=1, upper=5)
    assert plot(visits, np.array([0])).axis == ("1", "3", "5")
    flag = NumericColumn(name="flag", integer=True, lower=0, upper=1)
    assert plot(flag, np.array([0])).axis == ("0", "1")
    moment = TimeColumn(name="seen", kind="datetime", lower=0, upper=86_399, resolution="hour")
    assert plot(moment, np.array([0])).axis == ("1970-01-01 00:00:00", "1970-01-01 23:59:59")
    stay = TimeColumn(name="seen", kind="date", lower=0, upper=9, resolution="day")
    assert plot(stay, np.array([0])).axis == ("1970-01-01", "1970-01-10"), "no room for a third"


def test_every_task_of_upkeep_has_words() -> None:
    table = [line.split("|")[1] for line in (upkeep.__doc__ or "").splitlines() if line.startswith("| ")]
    assert set(labels.CHORES) == {name.strip() for row in table[1:] for name in row.split(",")}


def test_every_action_that_is_logged_has_words() -> None:
    """Names of actions are constants of the modules that log them."""
    named = re.compile(r'(?:action=|action = |ACTION: Final = |_note\([^"]*|_record\()"([a-z-]+\.[a-z-]+)"')
    root = Path(__file__).parents[2]
    found = {
        name
        for folder in ("core", "service", "workers", "understudy/embedded")
        for path in (root / folder).rglob("*.py")
        for name in named.findall(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 40
    assert found - set(labels.ACTIONS) == set()


def test_every_mechanism_of_a_certificate_has_words():
    names = MechanismForm.model_json_schema()["properties"]["name"]["enum"]
    assert "anchor-tables" in names
    for name in names:
        ((told, times),) = mechanisms({"mechanisms": [{"name": name, "times": 1}]})
        assert told != name
        assert times == "1 ×"


def test_learnt_parts_are_marked_as_learnt() -> None:
    learnt = {"kind": "numeric", "lower": 0, "upper": 9, "bounds": "learn", "bins": "learn"}

    assert holds({"kind": "categorical", "categories": "learn", "most": 7}) == (
        "at most 7 categories, learnt in each training at a privacy cost"
    )
    assert holds(learnt) == (
        "0 to 9; bounds learnt in each training at a privacy cost; bins learnt in each training at a privacy cost"
    )


def test_a_distance_stands_beside_the_bounds() -> None:
    date = {"kind": "date", "lower": "2023-01-01", "upper": "2024-12-31"}
    assert holds(date | {"difference": {"from": "admitted", "upper": 60}}) == (
        "2023-01-01 to 2024-12-31; modelled by its distance from admitted, 0 to 60 days"
    )
    time = {
        "kind": "datetime",
        "resolution": "minute",
        "lower": "2023-01-01T00:00",
        "upper": "2024-01-01T00:00",
    }
    assert holds(time | {"difference": {"from": "seen", "upper": 90}}).endswith("seen, 0 to 90 minutes")
    amount = {"kind": "numeric", "lower": 0, "upper": 9, "difference": {"from": "net", "upper": 5}}
    assert holds(amount).endswith("net, 0 to 5")


def test_a_distance_is_drawn_with_its_unit() -> None:
    day = {"kind": "date", "lower": "2023-01-01", "upper": "2024-12-31"}
    number = {"kind": "numeric", "type": "integer", "lower": 0, "upper": 99}
    domain = TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "columns": [
                {"name": "admitted"} | day,
                {"name": "discharged", "difference": {"from": "admitted", "upper": 60}} | day,
                {"name": "net"} | number,
                {"name": "gross", "difference": {"from": "net", "upper": 30}} | number,
            ],
        }
    )
    titles = titles_of(domain)
    assert titles == {
        "discharged.difference": "discharged, days after admitted", "gross.difference": "gross less net",
    }  # fmt: skip
    stay = next(column for column in domain.coded if column.name == "discharged.difference")
    assert plot(stay, np.array([0]), title=titles[stay.name]).name == "discharged, days after admitted"


def test_shares_have_two_digits() -> None:
    shown = [amounts.share(part) for part in (0.0, 0.0000123, 0.00457, 0.1752, 1.0)]
    assert shown == ["0\u202f%", "0.0012\u202f%", "0.46\u202f%", "18\u202f%", "100\u202f%"]


def test_levels_are_drawn_in_their_order() -> None:
    few = LabelColumn(
        name="age", kind="ordinal", labels=("young", "middle", "old"), null=NullPolicy(action="category")
    )
    drawn = plot(few, np.array([2, 2, 2, 0, 3]))
    assert [(bar.label, bar.share) for bar in drawn.bars] == [
        ("young", 0.2),
        ("middle", 0),
        ("old", 0.6),
        ("(missing)", 0.2),
    ]
    hours = LabelColumn(name="hour", kind="ordinal", labels=tuple(f"{hour:02}" for hour in range(24)))
    drawn = plot(hours, np.arange(24))
    assert (drawn.ends, len(drawn.bars), drawn.further) == (("00", "23"), 24, 0)
