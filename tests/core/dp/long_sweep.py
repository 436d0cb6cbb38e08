"""The accountant over wide ranges: against fine grids, against what outputs prove, against two libraries, and its time.

    python -m tests.core.dp.long_sweep [--save]

Exits with 1 if an epsilon is below a bound that the outputs prove, more than 2 % above the fine grid, or an adversary gets
more than the cap. It reads no data.
"""

import argparse
import itertools
import json
import sys
import time
from pathlib import Path
from typing import Any

from dp_accounting.pld import PLDAccountant

from benchmarks.machine import load_average, machine_facts
from core.dp import loss
from core.dp.accountant import epsilons
from core.dp.filters import AdmissionRule, Cap
from core.dp.mechanism import Gaussian, PoissonSampled, Repeated
from tests.core.dp import brute
from tests.core.dp.adversary import largest_delta
from tests.core.dp.dp_events import to_event
from tests.core.dp.test_filter_adversary import GAMES, exact_rule, under

RESULT = Path(__file__).parents[3] / "benchmarks" / "results" / "accounting.json"
RATES, MULTIPLIERS = (1e-6, 1e-3, 0.05, 0.9), (0.3, 1.0, 10.0, 1000.0)
STEPS, DELTAS = (1, 1000, 1_000_000), (1e-12, 1e-6)
FINER, MORE_POINTS = 16, 2**20
LIMIT = 1.02
MEANINGLESS = 300.0
"""Above this epsilon the comparison with the fine grid says nothing that matters."""


def sweep() -> list[dict[str, Any]]:
    """One row for each combination: both bounds, the fine grid's, the floor, the seconds of processor time."""
    rows = []
    share, points = loss.GRID_SHARE, loss.MOST_POINTS
    for rate, multiplier, steps, delta in itertools.product(RATES, MULTIPLIERS, STEPS, DELTAS):
        step = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=multiplier))
        begun = time.process_time()
        both = epsilons(Repeated(mechanism=step, count=steps), delta=delta)
        seconds = time.process_time() - begun
        loss.GRID_SHARE, loss.MOST_POINTS = share / FINER, MORE_POINTS
        fine = loss.epsilon_of_leaves({step: steps}, delta) if both.pld < MEANINGLESS else both.pld
        loss.GRID_SHARE, loss.MOST_POINTS = share, points
        rows.append({
            "rate": rate, "multiplier": multiplier, "steps": steps, "delta": delta, "pld": both.pld, "rdp": both.rdp,
            "fine_grid": max(fine, 1e-6), "outputs_prove": brute.lower_bound(rate, multiplier, steps, delta),
            "seconds": round(seconds, 3),
        })  # fmt: skip
    return rows


def library() -> list[dict[str, float]]:
    """The accounting library's loss distribution on a grid of 1e-5 beside ours."""
    rows = []
    for rate, multiplier, steps in (
        (0.02, 8.0, 1000),
        (0.01, 0.7, 1000),
        (0.001, 3.0, 5000),
        (0.2, 5.0, 100),
    ):
        step = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=multiplier))
        mechanism = Repeated(mechanism=step, count=steps)
        theirs = PLDAccountant(value_discretization_interval=1e-5)
        theirs.compose(to_event(mechanism))
        ours = epsilons(mechanism, delta=1e-6).pld
        rows.append(
            {
                "rate": rate,
                "multiplier": multiplier,
                "steps": steps,
                "ours": ours,
                "library": theirs.get_epsilon(1e-6),
            }
        )
    return rows


def games() -> list[dict[str, float]]:
    """The largest delta of an adaptive adversary, over the cap's: under the filters, and under the naive rule."""
    rows = []
    for offers, unit, epsilon, delta in GAMES:
        cap = Cap(epsilon=epsilon, delta=delta, rule=AdmissionRule.FILTERS)

        filtered, naive = under(cap, offers, unit), exact_rule(offers, unit, epsilon, delta)
        rows.append({
            "epsilon": epsilon, "delta": delta,
            "filters": largest_delta(offers, filtered, unit=unit, epsilon=epsilon) / delta,
            "exact_composition_as_a_stopping_rule": largest_delta(offers, naive, unit=unit, epsilon=epsilon) / delta,
        })  # fmt: skip
    return rows


def main() -> None:
    """Run, judge and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--save", action="store_true")
    wanted = parser.parse_args()
    rows, played = sweep(), games()
    over = [row["pld"] / row["fine_grid"] - 1 for row in rows]
    unsafe = [row for row in rows if min(row["pld"], row["rdp"]) < row["outputs_prove"] * (1 - 1e-9)]
    result = {
        "combinations": len(rows), "below_what_outputs_prove": len(unsafe),
        "largest_excess_over_the_fine_grid": max(over), "slowest_seconds": max(row["seconds"] for row in rows),
        "library": library(), "adversaries": played, "sweep": rows,
        "load_average": load_average(), "machine": machine_facts(packages=("dp-accounting", "numpy", "scipy")),
    }  # fmt: skip
    sys.stdout.write(
        json.dumps({key: value for key, value in result.items() if key != "sweep"}, indent=2) + "\n"
    )
    if wanted.save:
        RESULT.write_text(json.dumps(result, indent=1) + "\n")
    if unsafe or max(over) > LIMIT - 1 or any(row["filters"] > 1 for row in played):
        sys.exit(1)


if __name__ == "__main__":
    main()
