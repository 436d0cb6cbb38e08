"""The published kill matrix lists exactly the mutants of the catalogue, as the last runs found them."""

import re

from tests.mutants.catalogue import MUTANTS
from tests.mutants.page import kill_matrix, kill_matrix_page, read_results


def test_every_mutant_was_tried_with_the_test_it_names_and_killed():
    outcomes = read_results()["mutants"]
    tried = {name: outcome["killed_by"] for name, outcome in outcomes.items()}
    assert tried == {mutant.name: mutant.killed_by for mutant in MUTANTS}, (
        "run `python -m tests.mutants.matrix NAME`"
    )
    assert {outcome["verdict"] for outcome in outcomes.values()} == {"killed"}


def test_the_page_lists_the_mutants_of_the_catalogue():
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", kill_matrix_page(), re.MULTILINE)
    assert listed == [mutant.name for mutant in MUTANTS]


def test_an_outcome_of_another_test_does_not_count():
    first = MUTANTS[0]
    outcome = read_results()["mutants"][first.name]

    def row_of(killed_by: str) -> str:
        results = read_results()
        results["mutants"][first.name] = outcome | {"killed_by": killed_by}
        return next(
            line for line in kill_matrix(results).splitlines() if line.startswith(f"| `{first.name}`")
        )

    assert not row_of(first.killed_by).endswith("| not run |")
    assert row_of("tests/test_other.py::test_other").endswith("| not run |")
