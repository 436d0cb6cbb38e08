"""Weekday and hour of synthetic times with and without declared patterns, and what they cost the other columns.

    python -m benchmarks.declarations.date_patterns

Taxi trips of a month have bins of a day, encounters of ninety years have bins of one to twenty years. Each table is trained
at every epsilon with three keys; scores are means of total variations from the real rows.
"""

import itertools
import json
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.datasets import HERE
from benchmarks.declarations.synthetic_rows import synthetic_rows
from benchmarks.results_file import merge, rounded
from benchmarks.tables.scores import variation
from benchmarks.tables.sources import SOURCES, domain_of, read
from core.plan.domain.codec import encode
from core.plan.domain.columns.patterns import CODES, pattern_codes

EPSILONS: Final = {"taxi": (0.2, 1.0, 4.0), "synthea": (1.0,)}
KEYS: Final = 3
TABLES: Final[dict[str, tuple[str, tuple[tuple[str, ...], ...]]]] = {
    "taxi": ("pickup", ((), ("hour",), ("hour", "weekday"))),
    "synthea": ("START", ((), ("weekday", "month"))),
}
"""The column of each table whose patterns are modelled, and the choices of patterns."""


def synthetic(
    name: str, rows: pa.RecordBatch, patterns: tuple[str, ...], epsilon: float, key: int
) -> pa.RecordBatch:
    """Synthetic rows, as many as there are real ones."""
    document: dict[str, Any] = json.loads((HERE / "domains" / f"{SOURCES[name].domain}.json").read_text())
    for column in document["columns"]:
        if column["name"] == TABLES[name][0]:
            column["patterns"] = list(patterns)
    return synthetic_rows(document, rows, epsilon=epsilon, key=key)


def distribution(rows: pa.RecordBatch, column: str, pattern: str) -> npt.NDArray[np.float64]:
    """Shares of the codes of one pattern."""
    seconds = rows.column(column).drop_null().cast(pa.timestamp("s")).cast(pa.int64())
    codes = pattern_codes(pattern, seconds.to_numpy(zero_copy_only=False), 1)
    counts = np.bincount(codes, minlength=CODES[pattern])
    shares: npt.NDArray[np.float64] = counts / counts.sum()
    return shares


def measured(name: str, patterns: tuple[str, ...], epsilon: float) -> dict[str, float]:
    """Means over keys: of every pattern of the column, and of all declared columns and their pairs."""
    domain, rows = domain_of(name), read(name)[1]
    real, sizes = encode(domain, rows), domain.cardinalities
    runs = []
    for key in range(1, KEYS + 1):
        made = synthetic(name, rows, patterns, epsilon, key)
        codes, places = encode(domain, made), range(len(sizes))
        ways = {
            "one_way": [variation(codes, real, sizes, (place,)) for place in places],
            "two_way": [variation(codes, real, sizes, pair) for pair in itertools.combinations(places, 2)],
        }
        scores = {way: float(np.mean(found)) for way, found in ways.items()}
        for pattern in CODES:
            apart = distribution(made, TABLES[name][0], pattern) - distribution(
                rows, TABLES[name][0], pattern
            )
            scores[pattern] = float(np.abs(apart).sum() / 2)
        runs.append(scores)
    return {score: float(np.mean([run[score] for run in runs])) for score in runs[0]}


def main() -> None:
    """Measure and write the result."""
    for name, (_column, choices) in TABLES.items():
        for patterns, epsilon in itertools.product(choices, EPSILONS[name]):
            key = f"{' '.join(patterns) or 'none'}, epsilon {epsilon:g}"
            merge("date_patterns", kind=name, key=key, entry=rounded(measured(name, patterns, epsilon)))


if __name__ == "__main__":
    main()
