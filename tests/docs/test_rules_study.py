"""The page on the public rules names every rule and repeats what was measured."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.declarations import summed_tables
from benchmarks.results_file import RESULTS
from benchmarks.tables import wide_tables
from benchmarks.tables.expected import DELTA
from benchmarks.tables.sources import domain_of
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan import counting_rules, crowding, defaults, expected_error, expected_marginals
from core.plan.images import anchor as image_anchor
from core.plan.images import defaults as image_defaults
from core.plan.plan import make_plan
from core.plan.spec import SynthesisSpec
from core.plan.training_quote import expected_error_in

PAGE = (Path(__file__).parents[2] / "docs" / "rules-study.md").read_text()


def constants(module):
    """What the module itself assigns at its top, by name."""
    source = Path(module.__file__).read_text()
    names = ", ".join(re.findall(r"^([A-Z][A-Z_]+(?:, [A-Z_]+)*) = ", source, re.MULTILINE)).split(", ")
    return {name: getattr(module, name) for name in names}


@pytest.mark.parametrize(
    "module", [defaults, counting_rules, image_defaults, image_anchor], ids=lambda module: module.__name__
)
def test_every_constant_of_the_rules_is_on_the_page_with_its_value(module):
    found = constants(module)
    assert len(found) > 5
    assert not [name for name in found if f"`{name}`" not in PAGE], (
        "name the rule and what it was chosen from"
    )
    for name, value in found.items():
        shown = re.search(rf"`{name}` ([\d,.]*\d)", PAGE)
        if shown is not None and isinstance(value, int | float):
            assert float(shown[1].replace(",", "")) == value, name


def test_the_constants_of_checks_are_on_the_page_with_their_values():
    for name in ("FEWEST_VALUES", "PRECISION", "LARGEST_SHARE", "LARGEST_SHARE_OF_ALL", "VISIBLE"):
        assert f"`{name}` {getattr(crowding, name):g}" in PAGE, name


def test_the_constants_of_expected_errors_are_on_the_page_with_their_values():
    for name in (
        "SKEW",
        "SKEW_OF_MANY",
        "DEPENDENCE",
        "SMOOTHED",
        "SEEN",
        "BALANCED",
        "UNBALANCED",
        "CHOSEN_PAIRS",
        "TRIPLED_COLUMNS",
    ):
        assert f"`{name}` {getattr(expected_error, name)}" in PAGE, name
    for name in ("SPREAD", "LEFT"):
        values = getattr(expected_marginals, name)
        assert f"`{name}` {values['mst']:g} of MST and {values['aim']:g} of AIM" in PAGE, name


def test_expected_and_measured_errors_are_those_of_the_results():
    cells = json.loads((RESULTS / "expected_error.json").read_text())["cells"].values()
    ways = ("one_way", "two_way", "three_way")
    factors = {way: [cell["expected"][way] / cell["measured"][way] for cell in cells] for way in ways}
    for cell, factor in zip(cells, factors["two_way"], strict=True):
        shown = " | ".join(f"{cell['expected'][way]:.3g} / {cell['measured'][way]:.3g}" for way in ways)
        assert f"| {cell['rows']:,} | {shown} | {factor:.2f} |" in PAGE, cell["table"]
    within = [
        sum(1 / 1.5 < factor < 1.5 for factor in factors[way]) for way in ("two_way", "one_way", "three_way")
    ]
    assert (
        f"in {within[0]} of {len(cells)} cases, one-way errors in {within[1]}, three-way errors in {within[2]}."
        in PAGE
    )
    assert (
        f"pairs are {max(factors['two_way']):.2f} times and triples {max(factors['three_way']):.2f} times"
        in PAGE
    )
    choosing = (Path(__file__).parents[2] / "docs" / "choosing-epsilon.md").read_text()
    assert f"in {within[0]} of {len(cells)} cases" in choosing
    independent = [
        cell["expected"]["if_independent"]["two_way"] / cell["measured"]["two_way"] for cell in cells
    ]
    assert f"{min(independent):.2f} to {max(independent):.2f} of the measured two-way error" in PAGE


def test_sums_are_those_of_the_results_and_a_draft_computes_the_best_column():
    results = json.loads((RESULTS / "summed_columns.json").read_text())
    for name, make in summed_tables.TABLES.items():
        first, second, total = (column["name"] for column in make(10).document["columns"][:3])
        for rows in (2000, 8000):
            entry = results[name][f"{rows} rows, epsilon 1"]
            ways = [entry[f"{one} computed"] for one in (total, first, second)]
            shown = " | ".join(
                " / ".join(f"{way[score]:.3f}".removeprefix("0") for way in ways)
                for score in (first, second, total, "pairs", "on heaps")
            )
            drafted = entry["rows"]["a draft computes"]
            heaps = f"{entry['rows']['on heaps']:.3f}".removeprefix("0")
            assert (
                f"| {name}, {rows:,} | {first}, {second}, {total} | {drafted} | {shown} | {heaps} |" in PAGE
            )
            assert entry[f"{drafted} computed"]["pairs"] == min(way["pairs"] for way in ways)


def test_what_was_measured_was_expected_by_the_rules_of_today():
    for cell in json.loads((RESULTS / "expected_error.json").read_text())["cells"].values():
        domain = domain_of(cell["table"])
        plan = make_plan(
            spec=SynthesisSpec(synthesizer="idpgan", options={}),
            guarantee=PrivacyGuarantee(epsilon=cell["epsilon"], delta=DELTA),
            declared_size=cell["rows"],
            domain=domain,
            adjacency=Adjacency.ADD_OR_REMOVE,
            privacy_unit=PrivacyUnit(column=None),
        )
        found = expected_error_in(plan, domain)
        for way in ("one_way", "two_way", "three_way"):
            assert getattr(found, way) == pytest.approx(cell["expected"][way], rel=0.01), (
                cell["table"],
                cell["size"],
            )


def test_the_study_s_table_is_what_was_measured():
    measured = json.loads((RESULTS / "rules_study.json").read_text())["noise"]
    for batch in (256, 1024, 2048, 4096):
        cells = (
            " / ".join(f"{measured[f'epsilon {epsilon} batch {batch} steps {steps}']['stands_above'] / 1000:.1f}" for epsilon in (1, 4, 10))
            for steps in (50, 150, 500, 1500)
        )  # fmt: skip
        assert f"| {batch:,} | {' | '.join(cells)} |" in PAGE


def test_the_study_s_trainings_are_what_was_measured():
    measured = json.loads((RESULTS / "rules_study.json").read_text())["trained"]
    assert measured
    for entry in measured.values():
        named = f"| {entry['batch']:,} | {entry['steps']} | {entry['batch'] * entry['steps']:,} | {entry['share']:g} |"
        found = f"{100 * entry['warmed']:.2f} % | {100 * entry['critic']:.2f} % |"
        assert any(line.startswith(named) and found in line for line in PAGE.splitlines()), named


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("100 categories", "2,000 to 5,000 codes"),
        ("4,000 codes", "a column of 4,000 codes"),
        ("100,000 codes", "one of 100,000\ncodes"),
    ],
)
def test_expected_errors_of_many_codes_are_those_of_the_page(name: str, words: str):
    measured = json.loads((RESULTS / "wide_tables.json").read_text())[name]["understudy"]["one_way"]
    shape = wide_tables.shape_of(name)
    expected = expected_error_in(wide_tables.plan_of(shape), shape.domain)
    assert isinstance(expected, expected_error.ExpectedError)
    assert f"{words} {expected.one_way / measured:.2f} (" in PAGE


def test_poker_s_table_is_what_was_measured():
    runs = json.loads((RESULTS / "by_class.json").read_text())["runs"]
    rows = [line for line in PAGE.splitlines() if re.match(r"\| \d+ \| (by the rule|always)", line)]
    assert len(rows) == len(runs)
    for entry in runs.values():
        by_rule = "by the rule: yes" if entry["counted_by_class"] else "by the rule: no"
        counted = {"rule": by_rule, "class": "always", "all": "always, all pairs"}[entry["arm"]]
        shares = (
            f"{entry[f'{kind}_nothing']:.3f}, {entry[f'{kind}_one_pair']:.3f}"
            for kind in ("targets", "drawn")
        )
        assert (
            f"| {entry['epsilon']:g} | {counted} | {entry['rank_pairs_counted']} | {' | '.join(shares)} | "
            f"{entry['accuracy_trees']:.3f} | {entry['two_way']:.4f} |"
        ) in rows


def test_the_table_of_repeated_values_is_what_was_measured():
    groups = {}
    for run in json.loads((RESULTS / "repeated_values.json").read_text())["runs"].values():
        if run["table"] == "poker":
            groups.setdefault((run["epsilon"], run["arm"]), []).append(run)
    rows = [
        line for line in PAGE.splitlines() if re.match(r"\| \d+ \| (by their values|repeats coded)", line)
    ]
    assert len(rows) == len(groups)
    titles = {"plain": "by their values", "coded": "repeats coded", "coded, suits too": "repeats coded, of suits too"}  # fmt: skip
    for (epsilon, arm), runs in groups.items():
        means = {name: sum(run[name] for run in runs) / len(runs) for name in ("equal_ranks_nothing", "equal_ranks_one_pair", "accuracy_trees", "two_way")}  # fmt: skip
        scores = sorted(run["accuracy_trees"] for run in runs)
        reach = f" ({scores[0]:.4f} to {scores[-1]:.4f})" if len(scores) > 1 else ""
        assert (
            f"| {epsilon:g} | {titles[arm]} | {len(runs)} | {means['equal_ranks_nothing']:.3f}, "
            f"{means['equal_ranks_one_pair']:.3f} | {means['accuracy_trees']:.4f}{reach} | {means['two_way']:.4f} |"
        ) in rows


@pytest.mark.parametrize(
    ("epsilon", "critic", "said"),
    [(5.0, False, "have 84 at epsilon 5"), (10.0, False, "and 153 at 10"), (10.0, True, "That is 145 standard deviations")],
)  # fmt: skip
def test_the_signal_of_poker_s_classes_is_that_of_its_plan(epsilon, critic, said):
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": critic}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=25_010,
        domain=domain_of("poker"),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    classes = 10
    noise = plan.anchor.noise_std * classes**0.5
    assert f"{25_010 / classes / noise:.0f}" in said
    assert said in " ".join(PAGE.split())
    by_class = counting_rules.counts_by_class(
        domain_of("poker").cardinalities, 10, declared_size=25_010, noise_std=plan.anchor.noise_std
    )
    assert by_class == (epsilon == 10.0 and not critic)
