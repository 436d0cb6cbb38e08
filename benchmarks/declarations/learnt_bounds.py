"""Learnt bounds of many real columns: how many values lie beyond them, and how far bins between them are from the column.

    python -m benchmarks.declarations.learnt_bounds FOLDER

FOLDER holds Parquet files, each of one column of numbers; the committed results are of 1,051 columns of 609 tables of R packages. Every column is drawn again to
each size, and its counts get one draw of noise.
"""

import sys
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from benchmarks.results_file import merge, rounded
from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.table import TableDomain
from models.learnt_domains.bounds import bound_cells, with_bounds

SIZES: Final = (500, 1000, 3000, 10_000)
NOISE: Final = (12.0, 38.0, 100.0)
"""Standard deviations; 38 is that of two columns at epsilon 1."""
BINS: Final = 32
_QUANTILES: Final = (np.arange(2000) + 0.5) / 2000
_FARTHEST: Final = 10.0
"""A larger distance counts as this one: all values in one bin."""
_COLUMN: Final = {"name": "x", "kind": "numeric", "type": "real", "bounds": "learn"}


def distance(values: npt.NDArray[np.float64], lower: float, upper: float) -> float:
    """The mean distance of the column from even bins between two bounds, over the column's mean deviation."""
    edges = np.linspace(lower, upper, BINS + 1)
    counts = np.histogram(np.clip(values, lower, upper), edges)[0]
    binned = np.interp(_QUANTILES, np.append(0, np.cumsum(counts)) / len(values), edges)
    moved = np.abs(np.quantile(values, _QUANTILES) - binned).mean()
    return float(min(moved / np.abs(values - np.median(values)).mean(), _FARTHEST))


def main(folder: Path) -> None:
    """Measure every size beside every noise."""
    columns = [
        pq.read_table(file)[0].to_numpy().astype(np.float64) for file in sorted(folder.glob("*.parquet"))
    ]
    declared = TableDomain.from_json({"schema": "understudy.domain/1", "columns": [_COLUMN]}).modelled[0]
    assert isinstance(declared, NumericColumn)
    edges = bound_cells(declared)
    rng = np.random.default_rng(5)
    for size in SIZES:
        for noise in NOISE:
            found = []
            for column in columns:
                values = rng.choice(column, size)
                if np.ptp(values) == 0:
                    continue
                noisy = np.histogram(values, edges)[0] + rng.normal(0, noise, len(edges) - 1)
                bounded = with_bounds(declared, edges, noisy, noise)
                beyond = np.mean((values < bounded.lower) | (values > bounded.upper))
                found.append((beyond, distance(values, bounded.lower, bounded.upper)))
            shares, distances = np.asarray(found).T
            entry = {
                "columns": len(found),
                "beyond": shares.mean(),
                "beyond_median": np.median(shares),
                "distance_mean": distances.mean(),
                "distance_median": np.median(distances),
            }
            merge(
                "learnt_bounds",
                kind="sizes",
                key=f"{size} rows, noise {noise:g}",
                entry=rounded({k: v if isinstance(v, int) else float(v) for k, v in entry.items()}),
            )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
