"""The published kill matrix speaks of exactly the mutants that exist, as the last runs found them."""

import re

from tests.mutants.catalogue import MUTANTS
from tests.mutants.page import PAGE, kill_matrix, read_results
from tests.mutants.sample import SAMPLE


def test_the_kill_matrix_is_of_the_mutants_that_exist_and_none_survived():
    outcomes = read_results()["mutants"]
    assert {name: outcome["killed_by"] for name, outcome in outcomes.items()} == {
        mutant.name: mutant.killed_by for mutant in MUTANTS
    }, "run `make mutants`"
    assert {outcome["verdict"] for outcome in outcomes.values()} == {"killed"}
    assert PAGE.read_text() == kill_matrix(read_results(), sample=SAMPLE), "run `make mutants`"
    listed = re.findall(r"^\| `([a-z0-9-]+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [mutant.name for mutant in MUTANTS]
