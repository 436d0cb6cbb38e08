"""A release whose domain declares rules, and counts of made-up records that break one of them."""

from typing import Any, Final

import numpy as np

from core.artifacts.bundle import COUNTS, Bundle, artefacts_of
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.table import TableDomain
from tests.core.artifacts.stand_in import DOMAIN, bundle, cardinalities

RULED: Final[dict[str, Any]] = DOMAIN | {
    "rules": [
        {"kind": "impossible", "columns": ["ward", "sick"], "combinations": [["A", "yes"]]},
        {"kind": "impossible", "columns": ["age", "sick"], "combinations": [[{"to": 49}, "yes"]]},
        {"kind": "impossible", "columns": ["ward", "age", "sick"], "combinations": [["Ü", {"from": 50}, "no"]]},
    ]
}  # fmt: skip
"""Of the last rule no two columns speak alone."""
NOISE: Final = 3.0
BROKEN: Final = 400
"""Records that break the first rule."""


def ruled_release(*, broken: int = BROKEN) -> tuple[Bundle, dict[str, Any]]:
    """A bundle, and what its certificate lists of its counts.

    Args:
        broken: how many of the records break the first rule; nobody breaks another.
    """
    records = np.full(cardinalities(), 50.0)
    records[:, 0, 1] = records[0, :, 1] = 0
    records[0, 1, 1] = broken / records.shape[3]
    rng, step = np.random.default_rng(1), 2.0**-6
    axes = range(records.ndim)
    tables = []
    for pair in [(first, second) for second in axes for first in range(second)]:
        counts = records.sum(axis=tuple(axis for axis in axes if axis not in pair))
        cells = in_steps(counts + rng.normal(0, NOISE, counts.shape), step)
        tables.append(CountTable(columns=pair, noise_std=NOISE, cells=cells))
    released = ReleasedCounts(
        cardinalities=cardinalities(),
        step=step,
        tables=tuple(tables),
        groups=tuple(np.arange(codes) for codes in cardinalities()),
    ).to_bytes()
    made = bundle(domain=TableDomain.from_json(RULED).to_json(), counts=released)
    return made, artefacts_of({COUNTS: released})
