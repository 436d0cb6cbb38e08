"""Utility reports on real data: their figures beside the truth, and how often their intervals hold it.

    python -m benchmarks.utility_reports [--of adult poker mnist fashion_mnist faces]

A generator is trained on all training records at epsilon 1, of tables with few steps, of images the anchor alone, and measured by a report at each epsilon. The
product's own seam measures (`models.reports.utility`, `core.artifacts.reports.utility`); benchmarks may look at the exact terms
beside it. The noise alone is drawn again under other keys, and the intervals are counted that hold the truth. Keys derive
from seeds, so the output of a benchmark is NOT PRIVATE.
"""

import argparse
import hashlib
import json
import math
import time
from collections.abc import Sequence
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

import numpy as np
import numpy.typing as npt
import torch

from benchmarks.machine import load_average
from benchmarks.results_file import merge
from benchmarks.runs import DELTA
from benchmarks.utility_report_releases import NAMES, Released, release
from core.artifacts.reports.utility import Measurement
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.utility_reports.plan import ReportPlan
from core.plan.utility_reports.planning import ReportSpec, make_report_plan
from models.randomness import KeyedStreams
from models.reports.public_side import PublicSide, public_side
from models.reports.records import Records
from models.reports.utility import Terms, exact_terms, with_noise

NAME: Final = "charged"
EPSILONS: Final = (0.1, 0.5)
"""Epsilons of the reports."""
REDRAWS: Final = 200
_APART: Final = 100
"""More than a column has bins in a pair."""
Whole = npt.NDArray[np.integer]


def measured(made: Released) -> dict[str, Any]:
    """Report and draw the noise again; a result's entry.

    Args:
        made: of real records.
    """
    released = time.perf_counter()
    plans = [_report_plan(made, epsilon) for epsilon in EPSILONS]
    public = public_side(made.bundle, plans[0])
    references = public.references(plans[0].declared_size)
    opened = time.perf_counter()
    exact = exact_terms(made.private, public, plans[0].declared_size)
    compared = time.perf_counter()
    return {
        "rows": made.size,
        "release": dict(made.facts),
        "synthetic_rows": public.rows,
        "columns": len(public.measured),
        "pairs": len(public.pairs),
        "public_seconds": round(opened - released, 2),
        "rows_seconds": round(compared - opened, 2),
        "largest_rounding": _largest_rounding(Records.of(made.private), public, exact),
        "redraws": REDRAWS,
        "reports": {f"{plan.guarantee.epsilon:g}": _reported(plan, exact, references) for plan in plans},
        "threads": torch.get_num_threads(),
        "load": load_average(),
        "not_private": "keys derived from seeds, and the truth beside the noise",
    }


def _report_plan(made: Released, epsilon: float) -> ReportPlan:
    return make_report_plan(
        # Its own for every set, so that no two reports share their noise.
        report=ReportSpec(
            release_id=uuid5(NAMESPACE_OID, made.name), manifest_sha256="0" * 64, target=None, columns=None
        ),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=made.size,
        domain=made.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def _reported(plan: ReportPlan, exact: Terms, references: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """Figures of the first report, beside the truth, and how often the intervals of all of them hold it."""
    truth = _flat(_results(plan, exact, references))
    first: dict[str, dict[str, float]] = {}
    held, misses = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    begun = time.perf_counter()
    for seed in range(REDRAWS):
        reported = _flat(_results(plan, with_noise(exact, plan, _streams(plan, seed)), references))
        first = first or reported
        for name, row in reported.items():
            true = truth[name]["noisy"]
            held[name] += row["low"] <= true <= row["high"]
            misses[name] += abs(row["estimate"] - true)
    seconds = time.perf_counter() - begun
    kinds = {"columns": ("column ",), "pairs": ("pair ",), "means": ("mean of",), "score": ("score",)}
    return {
        "half_widths_95": {
            kind: _half_width(first, prefixes) for kind, prefixes in kinds.items() if kind != "means"
        }
        | {name: _half_width(first, (name,)) for name in ("mean of columns", "mean of pairs")},
        "coverage": {kind: _shares(held, prefixes) for kind, prefixes in kinds.items()},
        "mean_miss": {
            name: round(misses[name] / REDRAWS, 5) for name in misses if not name.startswith("pair ")
        },
        "numbers": {
            name: _beside(first[name], truth[name]) for name in truth if not name.startswith("pair ")
        },
        "seconds_a_redraw": round(seconds / REDRAWS, 4),
    }


def _results(plan: ReportPlan, terms: Terms, references: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    reported = {kind: values.tolist() for kind, values in terms.items()}
    return Measurement.of_terms(plan, reported, references).results(plan)


def _flat(results: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Every number of a report by a name of its own."""
    named = {f"column {row['name']}": row for row in results["columns"]}
    named |= {f"pair {' and '.join(row['names'])}": row for row in results["pairs"]}
    named |= {"mean of columns": results["mean_of_columns"], "mean of pairs": results["mean_of_pairs"]}
    return named | {"score": results["score"]}


def _beside(reported: dict[str, float], true: dict[str, float]) -> dict[str, float]:
    against = {
        name: reported[name]
        for name in ("by_chance", "on_synthetic", "most_frequent")
        if reported.get(name) is not None
    }
    shown = {"true": true["noisy"]} | {name: reported[name] for name in ("noisy", "estimate", "low", "high")}
    return {name: round(value, 5) for name, value in (shown | against).items()}


def _half_width(reported: dict[str, dict[str, float]], prefixes: tuple[str, ...]) -> float:
    """Half width of the interval that a quote states, before it is cut to shares between 0 and 1."""
    row = next(row for name, row in reported.items() if name.startswith(prefixes))
    return round(1.96 * row["noise_std"], 5)


def _shares(held: dict[str, int], prefixes: tuple[str, ...]) -> dict[str, float]:
    """The share of intervals of a kind that hold the truth, and its standard error if all were independent."""
    counts = [count for name, count in held.items() if name.startswith(prefixes)]
    drawn = len(counts) * REDRAWS
    share = sum(counts) / drawn
    return {
        "intervals": drawn,
        "held": round(share, 4),
        "lowest_of_one_number": round(min(counts) / REDRAWS, 4),
        "standard_error": round(math.sqrt(0.95 * 0.05 / drawn), 4),
    }


def _largest_rounding(records: Records, public: PublicSide, exact: Terms) -> float:
    """How far exact terms, on their public grid, are from errors counted plainly: the largest, as a share."""
    size = len(records)
    plain = [
        _distance(records.codes[:, column], public.codes[:, column], public.cardinalities[column])
        for column in public.measured
    ]
    real, synthetic = public.binned(records.codes), public.binned(public.codes)
    plain_pairs = [
        _distance(real[one] * _APART + real[other], synthetic[one] * _APART + synthetic[other], _APART**2)
        for one, other in public.pairs
    ]
    right = float(public.right(records).mean())
    stated = [*(exact["columns"] / (2 * size)), *(exact["pairs"] / (2 * size))]
    differences = [abs(a - b) for a, b in zip([*plain, *plain_pairs], stated, strict=True)]
    return float(max(*differences, abs(right - (float(exact["score"][0]) / (2 * size) + 0.5))))


def _distance(real: Whole, synthetic: Whole, cells: int) -> float:
    shares = [np.bincount(codes, minlength=cells) / len(codes) for codes in (real, synthetic)]
    return float(np.abs(shares[0] - shares[1]).sum()) / 2


def _streams(plan: ReportPlan, seed: int) -> KeyedStreams:
    """Streams of their own for every report: no two may share their noise."""
    name = f"understudy charged benchmark, not private, {plan.digest()} {seed}"
    return KeyedStreams(hashlib.sha256(name.encode()).digest())


def main(words: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--of", nargs="+", choices=NAMES, default=list(NAMES))
    chosen = parser.parse_args(words)
    torch.set_num_threads(1)
    for name in chosen.of:
        entry = measured(release(name))
        merge(NAME, kind="data", key=name, entry=entry)
        print(json.dumps({name: entry}), flush=True)


if __name__ == "__main__":
    main()
