"""The page on the public rules names every rule and repeats what was measured."""

import json
import re
from pathlib import Path

import pytest

from benchmarks.results_file import RESULTS
from core.synthesis import counting_rules, image_anchor, image_rules, rules

PAGE = (Path(__file__).parents[2] / "docs" / "rules-study.md").read_text()


def constants(module):
    """What the module itself assigns at its top, by name."""
    source = Path(module.__file__).read_text()
    names = ", ".join(re.findall(r"^([A-Z][A-Z_]+(?:, [A-Z_]+)*) = ", source, re.MULTILINE)).split(", ")
    return {name: getattr(module, name) for name in names}


@pytest.mark.parametrize(
    "module", [rules, counting_rules, image_rules, image_anchor], ids=lambda module: module.__name__
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
