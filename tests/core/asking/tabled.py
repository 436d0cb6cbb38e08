"""A small private table with a declared domain, its noisy counts as training releases them, and the truth."""

import numpy as np

from core.asking.answer import OpenedCounts
from core.asking.estimates import Estimates
from core.domain.table import TableDomain
from core.releases.counts import ReleasedCounts
from core.synthesis.stages import AnchorPlan, anchor_sensitivity
from models.anchor import MomentLayout, noisy_moments
from models.encoding import PrivateTable
from models.idpgan.counts import count_tables
from tests.models.tables import small_table, streams

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
        ],
    }
)
MIDDLES = np.array([9.5, 29.5, 49.5, 69.5, 89.5])


def table(*, units: int | None = None) -> PrivateTable:
    return small_table(records=4000, units=units)


def released(
    private: PrivateTable, *, by_class: bool = True, noise_multiplier: float = 4.0, number: int = 0
) -> ReleasedCounts:
    """The counts of one release, by the mechanism itself.

    Args:
        private: rows.
        by_class: whether they are counted per class of the target.
        noise_multiplier: of the anchor.
        number: of the release; each has fresh noise.
    """
    layout = MomentLayout(
        cardinalities=private.cardinalities, target_index=private.target_index, by_class=by_class
    )
    sensitivity = anchor_sensitivity(len(private.cardinalities), diagonal_weight=1.5)
    anchor = AnchorPlan(noise_multiplier=noise_multiplier, sensitivity=sensitivity, diagonal_weight=1.5)
    moments = noisy_moments(private, layout, anchor, streams(number))
    return count_tables(moments, layout, anchor, declared_size=4000)


def opened(counts: ReleasedCounts) -> OpenedCounts:
    return OpenedCounts(DOMAIN, Estimates(counts))


def truth(private: PrivateTable) -> np.ndarray:
    """(region, visits, sick, age) weighted counts: a unit with m records counts 1/m for each."""
    records = np.bincount(private.unit_of_record)[private.unit_of_record]
    full = np.zeros(private.cardinalities)
    np.add.at(full, tuple(private.codes.T.astype(int)), 1.0 / records)
    return full
