"""The published kill matrix lists exactly the mutants of the catalogue, as the last runs found them."""

import re

from tests.mutants.catalogue import MUTANTS
from tests.mutants.page import PAGE, kill_matrix, read_results


def test_every_mutant_was_tried_and_killed():
    outcomes = read_results()["mutants"]
    assert set(outcomes) == {mutant.name for mutant in MUTANTS}, "run `python -m tests.mutants.matrix NAME`"
    assert {outcome["verdict"] for outcome in outcomes.values()} == {"killed"}


def test_the_page_lists_the_mutants_of_the_catalogue():
    assert PAGE.read_text() == kill_matrix(read_results()), "run `python -m tests.mutants.page`"
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [mutant.name for mutant in MUTANTS]


def test_an_outcome_of_another_test_does_not_count():
    results, first = read_results(), MUTANTS[0]
    results["mutants"][first.name]["killed_by"] = "tests/test_other.py::test_other"
    row = next(line for line in kill_matrix(results).splitlines() if line.startswith(f"| `{first.name}`"))
    assert row.endswith("| not run |")
    assert f"{len(MUTANTS)} bugs, {len(MUTANTS) - 1} killed" in kill_matrix(results)
