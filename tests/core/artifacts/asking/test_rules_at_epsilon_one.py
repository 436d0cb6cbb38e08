"""A rule that one row in twenty breaks, at epsilon 1: told of; where none does, it is not."""

from typing import Any

import numpy as np
import pytest

from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.rules_check import RulesCheck, check_rules
from core.plan.domain.table import TableDomain
from models.encoding import PrivateTable
from models.tables.measurement.counts import released_counts
from models.tables.measurement.measure import measure
from tests.core.plan.domain.ruled import document, words
from tests.models.coded_tables import streams
from tests.models.default_order import planned

ROWS = 5000
SEEDS = 20
CITIES = {"Ulm": "BW", "Bonn": "NRW", "Trier": "RP", "Hof": "BY"}
LANDS = ["BW", "NRW", "RP", "BY"]
RULES: dict[str, dict[str, Any]] = {
    "determines": {
        "kind": "determines",
        "columns": ["city", "land"],
        "pairs": [list(pair) for pair in CITIES.items()],
    },
    "impossible": {
        "kind": "impossible",
        "columns": ["city", "land"],
        "combinations": [[city, {"one_of": [one for one in LANDS if one != land]}] for city, land in CITIES.items()],
    },
}  # fmt: skip


def checked(rule: str, *, target: str | None, broken: float, seed: int) -> RulesCheck:
    """Hold the rule against the counts that a plan of epsilon 1 releases of such rows."""
    found = document(
        [words("city", *CITIES), words("land", *LANDS), words("sick", "no", "yes"), words("ward", *"ABC")],
        [RULES[rule]],
        target=target,
    )
    domain = TableDomain.from_json(found)
    rng = np.random.default_rng(seed)
    city, wrong = rng.integers(0, 4, ROWS), rng.permutation(ROWS) < broken * ROWS
    land = np.where(wrong, (city + rng.integers(1, 4, ROWS)) % 4, city)
    codes = np.column_stack([city, land, rng.integers(0, 2, ROWS), rng.integers(0, 3, ROWS)])
    table = PrivateTable(
        codes=codes.astype(np.int16),
        unit_of_record=np.arange(ROWS),
        cardinalities=domain.cardinalities,
        target_index=domain.target_index,
    )
    plan = planned(domain, records=ROWS)
    counts = released_counts(measure(table, plan, streams(seed)), table, plan)
    assert counts is not None
    return check_rules(domain, Estimates(counts))


@pytest.mark.parametrize("target", ["sick", "land", None])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_one_row_in_twenty_breaks_is_reported(rule: str, target: str | None) -> None:
    held = 0
    for seed in range(SEEDS):
        (found,) = checked(rule, target=target, broken=0.05, seed=seed).rules
        assert found.finding == "contradicted"
        (contradiction,) = found.contradictions
        assert contradiction.columns == ("city", "land")
        held += contradiction.low < 0.05 * ROWS < contradiction.high
    assert held >= 16, "of 20 intervals of 95 %, fewer hold the truth with a probability of 0.003"


@pytest.mark.parametrize("target", ["sick", "land", None])
@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_no_row_breaks_is_not_reported(rule: str, target: str | None) -> None:
    for seed in range(SEEDS):
        told = checked(rule, target=target, broken=0.0, seed=seed)
        assert [one.finding for one in told.rules] == ["not-contradicted"]
        assert told.code is None
