"""The value of a bound on the records of a unit: `python -m benchmarks.declarations.unit_records`.

Simulated hospital stays: few patients have many stays, and who is sicker has more of them, so shares of stays and shares of
patients differ. Every two-way table of eight columns is released once by the anchor's noise at epsilon 1 under each
rule, made non-negative and divided by its sum, and compared with two truths:

* records: the share of all stays;
* units: the share of patients, each patient's stays averaged.

The distance is total variation, averaged over tables and repeats; `bias` is the same distance without noise.
"""

import itertools
import math
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.results_file import merge, rounded
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.plan.stages import anchor_plan
from models.counting.memory import MemoryCounter
from models.counting.question import WHOLE_RECORD, CountQuestion
from models.counting.units import unit_tags, weights_among
from models.encoding import PrivateTable

PATIENTS: Final = (2_000, 20_000, 100_000)
SHAPES: Final = {"few stays": 0.6, "many stays": 1.4}
"""Spread of the logarithm of a patient's expected stays."""
BOUNDS: Final = (None, 1, 2, 4, 8, 16, 32)
COLUMNS: Final = 8
CODES: Final = 6
REPEATS: Final = 5
EPSILON: Final = 1.0

Floats = npt.NDArray[np.float64]


def stays(patients: int, spread: float) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int64]]:
    """Codes of every stay, and whose it is."""
    rng = np.random.default_rng(11)
    severity = rng.normal(size=patients)
    owners = np.repeat(np.arange(patients), 1 + rng.poisson(np.exp(0.3 + spread * severity)))
    cuts = np.linspace(-1.5, 1.5, CODES - 1)
    columns = [
        np.searchsorted(cuts, 0.8 * severity[owners] + rng.normal(size=len(owners))) for _ in range(COLUMNS)
    ]
    return np.column_stack(columns).astype(np.int16), owners


def bounded(codes: npt.NDArray[np.int16], owners: npt.NDArray[np.int64], bound: int | None) -> PrivateTable:
    """The table under a rule."""
    kept = np.ones(len(codes), np.bool_)
    if bound is not None:
        kept = weights_among(_tags(owners), bound) > 0
    return PrivateTable(
        codes=codes[kept],
        unit_of_record=owners[kept],
        cardinalities=(CODES,) * COLUMNS,
        target_index=None,
        record_bound=bound,
    )


def _tags(owners: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    return unit_tags(pa.array(owners.astype(str)), bytes(32))


def shares(table: PrivateTable) -> list[Floats]:
    """Exact shares of every two-way table, and their sum in records."""
    questions = [
        CountQuestion(columns=pair, groups=(None, None), cardinalities=(CODES, CODES))
        for pair in itertools.combinations(range(COLUMNS), 2)
    ]
    return [counts / WHOLE_RECORD for counts in MemoryCounter(table).count(questions)]


def released(exact: list[Floats], std: float, rng: np.random.Generator) -> list[Floats]:
    """Noisy tables, made into shares."""
    noisy = [np.maximum(table + rng.normal(0.0, std, table.shape), 0.0) for table in exact]
    return [table / max(table.sum(), 1.0) for table in noisy]


def distance(made: list[Floats], truth: list[Floats]) -> float:
    """Mean total variation of shares from those of counts."""
    return float(np.mean([0.5 * np.abs(a - b / b.sum()).sum() for a, b in zip(made, truth, strict=True)]))


def measured(patients: int, spread: float) -> dict[str, Any]:
    """Every rule on one population."""
    codes, owners = stays(patients, spread)
    held = np.bincount(owners)
    by_unit = shares(bounded(codes, owners, None))
    by_record = shares(PrivateTable(
        codes=codes, unit_of_record=np.arange(len(codes)), cardinalities=(CODES,) * COLUMNS, target_index=None,
    ))  # fmt: skip
    guarantee = PrivacyGuarantee(epsilon=EPSILON, delta=1e-6)
    multiplier = gaussian_noise_multiplier(guarantee, share=1.0)
    own = anchor_plan(COLUMNS, diagonal_weight=1.5, noise_multiplier=multiplier).noise_std
    rng = np.random.default_rng(5)
    rules: dict[str, Any] = {}
    for bound in BOUNDS:
        exact = shares(bounded(codes, owners, bound))
        made = [released(exact, own * (bound or 1), rng) for _ in range(REPEATS)]
        rules["average" if bound is None else str(bound)] = rounded(
            {
                "records": math.fsum(distance(one, by_record) for one in made) / REPEATS,
                "units": math.fsum(distance(one, by_unit) for one in made) / REPEATS,
                "records_bias": distance([one / one.sum() for one in exact], by_record),
                "units_bias": distance([one / one.sum() for one in exact], by_unit),
                "share_of_records": exact[0].sum() / len(codes),
            }
        )
    quantiles = {f"q{q}": int(np.quantile(held, q / 100)) for q in (50, 90, 95, 99)}
    return (
        {"stays": len(codes), "most": int(held.max()), "mean": round(float(held.mean()), 2)}
        | quantiles
        | {"rules": rules}
    )


def main() -> None:
    """Measure and write the result."""
    for (name, spread), patients in itertools.product(SHAPES.items(), PATIENTS):
        merge("unit_records", kind=name, key=str(patients), entry=measured(patients, spread))


if __name__ == "__main__":
    main()
