"""Tables of prices and precisions that a quote answers are what the planner answers."""

import re
from pathlib import Path

import pytest

from benchmarks.tables.sources import domain_of
from core.dp.accountant import epsilons
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Composed
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import make_quote
from core.plan.utility_reports.planning import precision_of
from tests.core.plan.test_report_plan import plan_of, wide
from tests.core.plan.test_selection import DELTA, selection_of
from understudy.results.jobs import Quote
from understudy.wording.quotes import quote_lines

MECHANISMS = Path(__file__).parents[2] / "docs" / "mechanisms"
NUMBER = r"([\d,.]+)"
PRECISIONS = re.findall(
    r"^\| " + r" \| ".join([NUMBER] * 8) + r" \|$",
    (MECHANISMS / "utility-report.md").read_text(),
    re.MULTILINE,
)
PRICES = re.findall(
    rf"^\| (\d) \| {NUMBER} / {NUMBER} \| (\d) \| {NUMBER} \| {NUMBER} \| {NUMBER} \|$",
    (MECHANISMS / "selection.md").read_text(),
    re.MULTILINE,
)


def is_shown(value: float, shown: str) -> bool:
    return abs(value - float(shown)) <= 0.51 * 10.0 ** -len(shown.partition(".")[2])


def test_the_example_of_an_expected_error_is_what_the_command_prints() -> None:
    domain = domain_of("nist-ma")
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=5796,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    told = {"grant": None, "refusal": "budget-not-set"}
    lines = quote_lines(Quote(document={**make_quote(plan, None, [], domain=domain).to_json(), **told}))
    page = (MECHANISMS.parent / "choosing-epsilon.md").read_text()
    assert "\n".join(line for line in lines if "columns" in line) in page


def test_the_tables_are_there() -> None:
    assert (len(PRECISIONS), len(PRICES)) == (5, 6)


@pytest.mark.parametrize("row", PRECISIONS)
def test_a_report_is_as_precise_as_the_page_says(row: tuple[str, ...]) -> None:
    size, epsilon, columns, *shown = row
    plan = plan_of(
        wide(int(columns)), epsilon=float(epsilon), declared_size=int(size.replace(",", "")), target="c0"
    )
    told = {kind: 100 * part.half_width_95 for kind, part in precision_of(plan).items()}
    # Means are of as many numbers as there are columns or pairs, whose noise is independent.
    terms = {kind: part.terms for kind, part in precision_of(plan).items()}
    means = [told[kind] / terms[kind] ** 0.5 for kind in ("columns", "pairs")]
    answers = [told["columns"], told["pairs"], *means, told["score"]]
    assert all(map(is_shown, answers, shown)), answers


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, marks=() if number == 0 else pytest.mark.long) for number, row in enumerate(PRICES)],
)
def test_a_selection_costs_what_the_page_says(row: tuple[str, ...]) -> None:
    count, each, choice, winner, *shown = row
    candidates = [
        {"steps": 250 * (number + 1), "anchor_share": (9 - number) / 10} for number in range(int(count))
    ]
    plan = selection_of(
        *candidates, epsilon=float(each), choice=float(choice), final=float(winner), declared_size=50_000
    )
    together = Composed(
        parts=(*(candidate.mechanism for candidate in plan.candidates), plan.choice, plan.training)
    )
    answers = [plan.epsilons.pld, plan.epsilons.rdp, epsilons(together, delta=DELTA).pld]
    assert all(map(is_shown, answers, shown)), answers
