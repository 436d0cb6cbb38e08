"""Columns close to another one: two independent ones, with an order `a <= b`, and coded by their distance.

    python -m benchmarks.declarations.column_differences

A simulated hospital: admission and discharge with a distribution of stays that has a peak at one day, a second at a week, and a tail to two months;
ward, age and urgency, on which stays depend; net and gross amounts. Every variant is trained with three keys and gives as many rows as there are real ones. Distances
are total variations from the real rows.

And a simulated bank: balances, some below zero, and the same ones times a normal factor, whose distance is signed and mostly small. Of these, distances are the largest differences
of two distribution functions.
"""

import itertools
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.declarations.synthetic_rows import synthetic_rows
from benchmarks.results_file import merge, rounded
from benchmarks.tables.scores import variation
from core.plan.domain.codec import batch_of, encode
from core.plan.domain.table import TableDomain

Document = dict[str, Any]
ROWS: Final = (5000, 20_000)
KEYS: Final = (1, 2, 3)
EPSILON: Final = 1.0
FIRST_DAY: Final = 19_358
"""2023-01-01, in days since 1970-01-01."""
DAYS: Final = 731
LONGEST: Final = 60
PAIRS: Final = {"stay": ("admitted", "discharged"), "tax": ("net", "gross")}
CLASSES: Final = {"stay": (0, 1, 2, 3, 4, 7, 8, 14, 30), "tax": (0.01, 5, 10, 20, 50, 100, 200)}
"""Borders of the classes in which distributions of a distance are compared."""

DATE: Final = {"kind": "date", "lower": "2023-01-01", "upper": "2024-12-31"}
AMOUNT: Final = {"kind": "numeric", "type": "real", "decimals": 2, "lower": 0}
COLUMNS: Final[list[Document]] = [
    DATE | {"name": "admitted"},
    DATE | {"name": "discharged"},
    {"name": "ward", "kind": "categorical", "categories": ["surgery", "medicine", "maternity", "psychiatry"]},
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99},
    {"name": "urgent", "kind": "boolean"},
    AMOUNT | {"name": "net", "upper": 5000, "spacing": "log"},
    AMOUNT | {"name": "gross", "upper": 6000, "spacing": "log"},
]
DIFFERENCES: Final[dict[str, Document]] = {
    "discharged": {"from": "admitted", "upper": LONGEST, "bins": LONGEST + 1},
    "gross": {"from": "net", "upper": 1000, "spacing": "log", "specials": [0]},
}
VARIANTS: Final = ("nothing declared", "orders", "differences")

BALANCE_ROWS: Final = 25_000
RATIOS: Final = (1, 5, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 25_000, 50_000, 150_000)
"""Sizes of a balance between which its bins lie, below zero and above."""
SHAPED: Final = (1, 3, 10, 20, 40, 80, 150, 300, 600, 1200, 2500, 5000, 20_000)
"""The same of a distance between two balances."""
SIGNED: Final[dict[str, Document | None]] = {
    "own bins": None,
    "difference, even bins": {"lower": -20_000, "upper": 20_000},
    "difference, bins narrow at 0": {"edges": sorted({0, *SHAPED, *(-edge for edge in SHAPED)})},
}


def declared(variant: str) -> Document:
    """The domain of one variant."""
    columns = [dict(column) for column in COLUMNS]
    document: Document = {"schema": "understudy.domain/1", "target": "urgent", "columns": columns}
    if variant == "orders":
        document["rules"] = [{"kind": "at_most", "columns": list(pair)} for pair in PAIRS.values()]
    if variant == "differences":
        for column in columns:
            if column["name"] in DIFFERENCES:
                column.pop("spacing", None)
                column["difference"] = DIFFERENCES[column["name"]]
    return document


def hospital(rows: int) -> pa.RecordBatch:
    """The real rows: nobody leaves before the admission, and no gross amount is below its net one."""
    rng = np.random.default_rng([6, rows])
    ward = rng.choice(4, rows, p=[0.3, 0.4, 0.15, 0.15])
    urgent = rng.random(rows) < np.array([0.3, 0.6, 0.2, 0.4])[ward]
    short = rng.geometric(np.array([0.3, 0.25, 0.35, 0.1])[ward])
    week = rng.random(rows) < np.where(ward == 0, 0.35, 0.1)
    stay = np.where(week, 7, short) - (~urgent & (rng.random(rows) < 0.4) & ~week)
    stay = np.clip(stay, 0, LONGEST)
    first = rng.integers(0, DAYS - LONGEST, rows) + FIRST_DAY
    age = np.clip(rng.normal(np.array([55, 65, 30, 45])[ward], 15), 0, 99).astype(np.int64)
    net = np.round(np.clip(np.exp(rng.normal(5.2, 0.9, rows)), 1, 5000), 2)
    rate = rng.choice([0.0, 0.07, 0.19], rows, p=[0.2, 0.3, 0.5])
    gross = np.round(net * (1 + rate), 2)
    values = [first, first + stay, ward, age, urgent, net, gross]
    return batch_of(TableDomain.from_json(declared(VARIANTS[0])), [one.astype(np.float64) for one in values])


def apart(rows: pa.RecordBatch, pair: tuple[str, str]) -> npt.NDArray[np.float64]:
    """Distance of each row's second column from its first."""
    first, second = (
        column.cast(pa.int32()) if pa.types.is_date(column.type) else column
        for column in map(rows.column, pair)
    )
    found: npt.NDArray[np.float64] = np.round(
        second.to_numpy(zero_copy_only=False).astype(np.float64) - first.to_numpy(zero_copy_only=False), 2
    )
    return found


def distribution(distances: npt.NDArray[np.float64], borders: tuple[float, ...]) -> npt.NDArray[np.float64]:
    """Shares of the classes between some borders."""
    counts = np.bincount(np.searchsorted(borders, distances, side="right"), minlength=len(borders) + 1)
    shares: npt.NDArray[np.float64] = counts / len(distances)
    return shares


def scores(real: pa.RecordBatch, made: pa.RecordBatch) -> dict[str, float]:
    """Scores of each pair of close columns, and of all other pairs together."""
    domain = TableDomain.from_json(declared(VARIANTS[0]))
    names = [column.name for column in domain.modelled]
    codes, truth = encode(domain, made), encode(domain, real)
    close = {name: (names.index(pair[0]), names.index(pair[1])) for name, pair in PAIRS.items()}
    every = list(itertools.combinations(range(len(names)), 2))
    found = {
        "one-way": float(
            np.mean([variation(codes, truth, domain.cardinalities, (one,)) for one in range(len(names))])
        ),
        "other pairs": float(
            np.mean(
                [
                    variation(codes, truth, domain.cardinalities, pair)
                    for pair in every
                    if pair not in close.values()
                ]
            )
        ),
    }
    for name, pair in PAIRS.items():
        ours, theirs = apart(made, pair), apart(real, pair)
        found |= {
            f"{name}: below 0": float((ours < 0).mean()),
            f"{name}: pair": variation(codes, truth, domain.cardinalities, close[name]),
            f"{name}: law": float(
                np.abs(distribution(ours, CLASSES[name]) - distribution(theirs, CLASSES[name])).sum() / 2
            ),
            f"{name}: median": float(np.median(ours)),
            f"{name}: 90 % quantile": float(np.quantile(ours, 0.9)),
        }
    return found


def bank_domain(difference: Document | None) -> Document:
    """The domain of balances; the second one has bins of its own, or a difference."""
    edges = sorted({0, *RATIOS, *(-edge for edge in RATIOS)})
    balance: Document = {"kind": "numeric", "type": "real", "decimals": 2}
    bounds: Document = {
        "lower": edges[0],
        "upper": edges[-1],
        "difference": {"from": "balance"} | (difference or {}),
    }
    second: Document = {"edges": edges} if difference is None else bounds
    columns = [
        balance | {"name": "balance", "edges": edges},
        balance | {"name": "balance abroad"} | second,
        {"name": "branch", "kind": "categorical", "categories": ["north", "south", "west"]},
    ]
    return {"schema": "understudy.domain/1", "target": None, "columns": columns}


def bank(rows: int) -> pa.RecordBatch:
    """The real balances: an eighth is below zero, and the second differs from the first by a factor of deviation 0.1."""
    rng = np.random.default_rng([7, rows])
    branch = rng.integers(0, 3, rows)
    size = np.clip(rng.lognormal(6.5 + 0.5 * branch, 1.6, rows), 1, 120_000)
    first = np.round(np.where(rng.random(rows) < 0.125, -0.2, 1) * size, 2)
    second = (first * rng.normal(1, 0.1, rows)).clip(-150_000, 150_000).round(2)
    return batch_of(
        TableDomain.from_json(bank_domain(None)), [one.astype(np.float64) for one in (first, second, branch)]
    )


def farthest(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
    """The largest difference of two distribution functions."""
    places = np.concatenate([one, other])
    first, second = (
        np.searchsorted(np.sort(each), places, side="right") / len(each) for each in (one, other)
    )
    return float(np.abs(first - second).max())


def bank_scores(real: pa.RecordBatch, made: pa.RecordBatch) -> dict[str, float]:
    """Scores of the second balance, of its distance from the first, and of the factor between the two."""
    names = ("balance", "balance abroad")
    (truth, abroad), (first, second) = (
        [batch.column(name).to_numpy(zero_copy_only=False) for name in names] for batch in (real, made)
    )
    factor = second[first != 0] / first[first != 0]
    return {
        "below 0": float((second < 0).mean()),
        "second column": farthest(abroad, second),
        "distance": farthest(abroad - truth, second - first),
        "factor": farthest(abroad / truth, factor),
        "factor: 5 % quantile": float(np.quantile(factor, 0.05)),
        "factor: 95 % quantile": float(np.quantile(factor, 0.95)),
    }


def measure_bank() -> None:
    """Measure differences that may be below 0, and write the result."""
    real, kind = bank(BALANCE_ROWS), f"balances, {BALANCE_ROWS} rows"
    merge("column_differences", kind=kind, key="real rows", entry=rounded(bank_scores(real, real)))
    for variant, difference in SIGNED.items():
        runs = [
            bank_scores(real, synthetic_rows(bank_domain(difference), real, epsilon=EPSILON, key=key))
            for key in KEYS
        ]
        means = {score: float(np.mean([run[score] for run in runs])) for score in runs[0]}
        merge("column_differences", kind=kind, key=variant, entry=rounded(means))


def main() -> None:
    """Measure and write the result."""
    measure_bank()
    for rows in ROWS:
        real = hospital(rows)
        merge("column_differences", kind=f"{rows} rows", key="real rows", entry=rounded(scores(real, real)))
        for variant in VARIANTS:
            runs = [
                scores(real, synthetic_rows(declared(variant), real, epsilon=EPSILON, key=key))
                for key in KEYS
            ]
            means = {score: float(np.mean([run[score] for run in runs])) for score in runs[0]}
            merge("column_differences", kind=f"{rows} rows", key=variant, entry=rounded(means))


if __name__ == "__main__":
    main()
