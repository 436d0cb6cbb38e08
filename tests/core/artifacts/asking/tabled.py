"""A small private table with a declared domain, its noisy counts as training releases them, and the truth."""

from dataclasses import replace

import numpy as np

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.estimates import Estimates
from core.artifacts.counts import ReleasedCounts
from core.plan.domain.table import TableDomain
from core.plan.stages import anchor_plan
from models.encoding import PrivateTable, codes_alone
from models.tables.anchor import MomentLayout, noisy_columns, noisy_moments
from models.tables.code_groups import group_counts
from models.tables.estimation.targets import Counted
from models.tables.measurement.counts import count_tables
from models.tables.measurement.second_round import groups_of
from tests.core.plan.shapes import Shape, plan_of
from tests.models.coded_tables import grouped, small_table, streams

DOMAIN = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": "sick",
        "privacy_unit": None,
        "columns": [
            {"name": "region", "kind": "categorical", "categories": ["north", "south", "far east"]},
            {"name": "visits", "kind": "numeric", "type": "integer", "lower": 0, "upper": 3},
            {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
            {
                "name": "age",
                "kind": "numeric",
                "type": "integer",
                "lower": 0,
                "upper": 99,
                "edges": [0, 20, 40, 60, 80, 99],
            },
            {
                "name": "wait",
                "kind": "numeric",
                "type": "integer",
                "lower": 0,
                "upper": 29,
                "null": "category",
            },
        ],
    }
)
MIDDLES = np.array([9.5, 29.5, 49.5, 69.5, 89.5])


PLAN = plan_of(shape=Shape(cardinalities=DOMAIN.cardinalities, target_index=2), declared_size=4000)
WEIGHT = 1.5


def table(*, units: int | None = None) -> PrivateTable:
    """Four columns of few codes, and `wait` of 31, whose pairs are counted in groups; a wait in 40 is missing."""
    small = small_table(records=4000, units=units)
    rng = np.random.default_rng(1)
    waits = np.minimum(rng.geometric(np.where(small.codes[:, 2] == 1, 0.1, 0.2)) - 1, 29)
    waits[rng.random(4000) < 0.025] = 30
    return PrivateTable(
        codes=np.column_stack([small.codes, waits]).astype(np.int16),
        unit_of_record=small.unit_of_record,
        cardinalities=DOMAIN.cardinalities,
        target_index=small.target_index,
        ordered=DOMAIN.ordered,
        alone=codes_alone(DOMAIN),
    )


def released(
    private: PrivateTable,
    *,
    by_class: bool = True,
    noise_multiplier: float = 4.0,
    number: int = 0,
    combinations: bool = False,
) -> ReleasedCounts:
    """The counts of one release, by the mechanism itself.

    Args:
        private: rows.
        by_class: whether they are counted per class of the target.
        noise_multiplier: of the anchor; how many groups there are does not follow it, so that there are some without noise.
        number: of the release; each has fresh noise.
        combinations: whether all combinations of groups are counted instead of pairs.
    """
    columns = len(private.cardinalities)
    ordinary = anchor_plan(columns, diagonal_weight=WEIGHT, noise_multiplier=4.0)
    anchor = anchor_plan(columns, diagonal_weight=WEIGHT, noise_multiplier=noise_multiplier)
    first = noisy_columns(private, anchor, streams(number))
    groups = groups_of(first, private, replace(PLAN, anchor=ordinary))
    layout = MomentLayout(
        cardinalities=group_counts(groups),
        target_index=private.target_index,
        by_class=by_class and not combinations,
        combinations=combinations,
    )
    moments = noisy_moments(grouped(private, groups), layout, anchor, streams(number))
    counted = Counted(columns=tuple(first), groups=groups, moments=moments)
    return count_tables(counted, layout, anchor, declared_size=4000)


def opened(counts: ReleasedCounts) -> OpenedCounts:
    """What is asked."""
    return OpenedCounts(DOMAIN, Estimates(counts))


def truth(private: PrivateTable) -> np.ndarray:
    """(region, visits, sick, age, wait) weighted counts: a unit with m records counts 1/m for each."""
    records = np.bincount(private.unit_of_record)[private.unit_of_record]
    full = np.zeros(private.cardinalities)
    np.add.at(full, tuple(private.codes.T.astype(int)), 1.0 / records)
    return full
