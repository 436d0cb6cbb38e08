"""What the script of a bundle and the service draw from the same codes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifacts.manifest import Manifest
from core.artifacts.sampling.sampler_script import render_script
from core.plan.domain.codec import draw_values
from core.plan.domain.table import TableDomain
from tests.core.artifacts.test_sampler_script import loaded

Floats = NDArray[np.float64]


def drawn_both_ways(manifest: Manifest, document: Mapping[str, Any], *, rows: int) -> tuple[Floats, Floats]:
    """(columns, rows) values that the script draws, and those that the service draws, from the same codes and numbers."""
    domain = TableDomain.from_json(document)
    module = loaded(render_script(manifest, document))
    rng = np.random.default_rng(3)
    codes = np.stack([rng.integers(0, size, rows) for size in domain.cardinalities], axis=1)
    expected = draw_values(domain, codes, np.random.default_rng(4))
    rng = np.random.default_rng(4)
    # The service draws no number for a word.
    found = [
        module.decode_with_patterns(
            column, codes, place, np.zeros(rows) if column["kind"] == "text" else rng.random(rows)
        )
        for place, column in enumerate(module.COLUMNS)
    ]
    if domain.differences:
        module.add_starts(found, module.DIFFERENCES)
    return np.stack(found), np.stack(expected)
