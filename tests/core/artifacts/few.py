"""A release of 600 records, two of which are not sick, in counts of which each has a standard error of 20."""

from typing import Any

import numpy as np

from core.artifacts.bundle import COUNTS, Bundle, artefacts_of
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.table import TableDomain
from tests.core.artifacts.stand_in import DOMAIN, bundle, cardinalities


def release_of_few() -> tuple[Bundle, dict[str, Any]]:
    """A bundle, and what its certificate lists of its counts."""
    rows, step = (np.full(3, 200.0), np.full(2, 300.0), np.array([2.0, 598.0]), np.full(10, 60.0)), 2.0**-5
    counts = ReleasedCounts(
        cardinalities=cardinalities(),
        step=step,
        tables=tuple(
            CountTable(columns=(place,), noise_std=20.0, cells=in_steps(row, step))
            for place, row in enumerate(rows)
        ),
        groups=tuple(np.arange(size) for size in cardinalities()),
    ).to_bytes()
    made = bundle(domain=TableDomain.from_json(DOMAIN).to_json(), counts=counts)
    return made, artefacts_of({COUNTS: counts})
