"""The audit of learnt categories: what is published shows a unit with any number of names as much as is claimed, and no more.

Whole learnings run on a table with one unit and without it, each with a fresh key, and the adversary reads the published lists
alone. Names that others have too show the unit by how many of them pass; names that it alone has, by whether one passes.
Tests are fixed beforehand and bounds are Clopper and Pearson's. Keys are fixed, so the results are too; over the choice of
keys a sound mechanism is rejected with probability at most 1e-6 a bound.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from scipy.stats import norm

from core.dp.accountant import epsilons
from core.dp.mechanism import Composed
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.learning import NAMES, LearningPlan, name_weight
from models.learnt_domains import learning
from models.learnt_domains.learning import learn_domain
from models.randomness import KeyedStreams
from tests.audits.bounds import Errors, binomial_lower, binomial_upper, epsilon_by_threshold, mu_by_threshold
from tests.cases import daily
from tests.core.plan.learnt import CODE, WARD, domain_of, plan_of

SURE = 1 - 1e-6
SIZES = (1, 2, 32, 33, 200)
"""Names of the audited unit."""
CODES = domain_of({**CODE, "most": 250}, unit="person")
BOTH = domain_of({**CODE, "most": 250}, {**WARD, "most": 250}, unit="person")
SLACK = 1e-3
"""Delta above that of the thresholds, at which epsilon is claimed."""
Table = Sequence[tuple[str, str, str]]
"""Persons with their codes and wards, in the order of a table."""


def learning_of(domain: TableDomain, *, noise: float, delta: float) -> LearningPlan:
    plan = plan_of(domain).learning
    assert plan is not None
    assert plan.names_per_unit == NAMES
    return replace(plan, noise_multiplier=noise, delta=delta)


def claimed_epsilon(plan: LearningPlan) -> float:
    return epsilons(Composed(parts=plan.parts), delta=plan.delta + SLACK).reported


def published(
    domain: TableDomain, table: Table, plan: LearningPlan, *, world: str, jobs: int
) -> list[list[tuple[str, ...]]]:
    """The lists of many jobs."""
    values = dict(zip(("person", "code", "ward"), zip(*table, strict=True), strict=True))
    schema = storage_schema(domain)
    columns = [pa.array(values[field.name], field.type) for field in schema]
    batches = [pa.RecordBatch.from_arrays(columns, schema=schema)]
    keys = (hashlib.sha256(f"{world} {job}".encode()).digest() for job in range(jobs))
    learnt = (learn_domain(batches, domain, plan, KeyedStreams(key)).modelled for key in keys)
    return [[column.labels for column in found if isinstance(column, LabelColumn)] for found in learnt]


def unit_of(names: int, kind: str) -> Table:
    """A unit with so many names in each column."""
    return [("new", f"{kind} {n:03}", f"{kind} {n:03}") for n in range(names)]


def crowd_of(names: int, plan: LearningPlan) -> Table:
    """Others, by whom every name's count is as near to the threshold as whole counts are, where one unit is seen best."""
    each = round(plan.threshold)
    return [(f"p {n} {k}", f"code {n:03}", "ward") for n in range(names) for k in range(each)]


def shared_errors(names: int, plan: LearningPlan, *, jobs: int, read: int = NAMES) -> Errors:
    """Errors of a threshold on how many of the unit's first names pass, which others have too."""
    crowd, judged = crowd_of(names, plan), min(names, read)

    def scores(table: Table, world: str) -> npt.NDArray[np.float64]:
        lists = published(CODES, table, plan, world=f"{world} {names}", jobs=jobs)
        return np.array([sum(int(name[5:]) < judged for name in one) for (one,) in lists], dtype=np.float64)

    each = round(plan.threshold) - plan.threshold
    passes = norm.cdf(np.array([each, each + name_weight(min(names, NAMES))]) / plan.noise_multiplier)
    return Errors.of(
        scores([*crowd, *unit_of(names, "code")], "with"),
        scores(crowd, "without"),
        threshold=judged * float(passes.mean()),
    )


@pytest.mark.parametrize("names", daily(SIZES, some=(1, 33)))
def test_names_that_others_have_too_show_a_unit_as_much_as_claimed_and_no_more(names: int):
    plan = learning_of(CODES, noise=0.6, delta=0.05)
    errors = shared_errors(names, plan, jobs=500)
    found = mu_by_threshold(errors, confidence=SURE)

    # Of each count one bit is seen, so of a Gaussian mechanism at most sqrt(2 / pi) where there are many.
    assert 0.4 / plan.noise_multiplier < found <= 1 / plan.noise_multiplier
    assert epsilon_by_threshold(errors, delta=plan.delta + SLACK, confidence=SURE) <= claimed_epsilon(plan)


@pytest.mark.parametrize("names", daily(SIZES, some=(1, 33)))
def test_names_that_a_unit_alone_has_pass_as_seldom_as_claimed(names: int):
    jobs, plan = 500, learning_of(BOTH, noise=1.0, delta=0.2)
    others = [(f"p {n}", "code", "ward") for n in range(5)]
    lists = published(BOTH, [*others, *unit_of(names, "own")], plan, world=f"own {names}", jobs=jobs)
    passed = sum(any(name.startswith("own") for one in both for name in one) for both in lists)

    # Exactly: the noises of all names that it counts for are independent.
    counted = min(names, NAMES)
    expected = -math.expm1(2 * counted * norm.logcdf(plan.threshold - name_weight(counted)))
    assert binomial_lower(passed, jobs, confidence=SURE) <= expected <= -math.expm1(-plan.delta)
    assert binomial_upper(passed, jobs, confidence=SURE) >= expected
    errors = Errors(false_alarms=0, absent=jobs, misses=jobs - passed, present=jobs)
    assert epsilon_by_threshold(errors, delta=plan.delta + SLACK, confidence=SURE) <= claimed_epsilon(plan)


def test_a_twin_whose_units_count_whole_for_each_name_is_caught():
    plan = learning_of(CODES, noise=1.5, delta=0.05)
    with patch.object(learning, "name_weight", lambda _names: 1.0):
        errors = shared_errors(32, plan, jobs=300)

    assert mu_by_threshold(errors, confidence=SURE) > 1 / plan.noise_multiplier


def test_a_twin_whose_units_count_for_all_their_names_is_caught():
    plan = learning_of(CODES, noise=1.0, delta=0.05)
    weights = patch.object(learning, "name_weight", lambda names: name_weight(min(names, NAMES)))
    with weights, patch.object(LearningPlan, "threshold", plan.threshold):
        errors = shared_errors(200, replace(plan, names_per_unit=200), jobs=500, read=200)

    assert mu_by_threshold(errors, confidence=SURE) > 1 / plan.noise_multiplier


def test_a_twin_with_the_threshold_of_units_that_have_one_name_is_caught():
    plan = learning_of(CODES, noise=1.0, delta=0.2)
    one = replace(plan, names_per_unit=None).threshold
    with patch.object(LearningPlan, "threshold", one):
        lists = published(CODES, unit_of(200, "own"), plan, world="twin", jobs=700)

    passed = sum(bool(names) for (names,) in lists)
    assert binomial_lower(passed, 700, confidence=SURE) > -math.expm1(-plan.delta)
