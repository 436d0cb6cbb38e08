"""Cost of privacy in a step: against the batch, against the number of parameters, against the number of groups.

    python -m benchmarks.steps.cost [--axes batch parameters groups] [--networks linear convolution] [--seconds 8]

One private step (factors, norms, clip, sum, keyed noise on the grid, division, Adam) over one ordinary step of the same
critic by plain autograd, in rounds that take all contenders in turn, so that whatever else the machine does hits all
alike. Ratios are of processor seconds, the noise's own thread included: the median over the rounds and its quartiles.

Memory is asked in a fresh process for every contender: by how much the resident memory stood above that of a process that
has the records and has made the same steps on a small batch before, while the contender was built and made three steps.
"""

import argparse
import itertools
import json
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import RESULTS
from benchmarks.steps.conv_step import seconds
from benchmarks.steps.cost_memory import with_memory
from benchmarks.steps.cost_steps import REFRESH_EVERY, Case, Network, Step, bench_of

RESULT = RESULTS / "cost.json"
BATCHES = (64, 128, 256, 512, 1024, 2048)
WIDTHS: dict[Network, tuple[int, ...]] = {
    "linear": (64, 128, 256, 512, 1024),
    "convolution": (16, 32, 48, 64),
}
"""A critic of images has multiples of 16 channels."""
ROW_BLOCKS = (1, 2, 4, 8, 16, 32, 64)
USUAL: dict[Network, Case] = {
    "linear": Case(network="linear", width=256, batch=512),
    "convolution": Case(network="convolution", width=16, batch=256),
}
"""What stays as it is while one thing changes."""
FEWEST_ROUNDS, MOST_ROUNDS = 5, 60
ACTS = {"acts": True, "acts_interval": REFRESH_EVERY}
STRATEGIES: dict[str, dict[str, Any]] = {"acts": ACTS, "acts+wc": ACTS | {"weight_clusters": True}}
AXES = ("batch", "parameters", "groups")
Times = dict[str, list[tuple[float, float]]]


def cases(axis: str, network: Network) -> Iterator[Case]:
    """Values of an axis, for one kind of critic."""
    usual = USUAL[network]
    if axis == "batch":
        yield from (replace(usual, batch=batch) for batch in BATCHES)
    elif axis == "parameters":
        yield from (replace(usual, width=width) for width in WIDTHS[network])
    else:
        yield usual
        yield replace(usual, grouping="layers")
        yield from (replace(usual, grouping="rows", row_blocks=blocks) for blocks in ROW_BLOCKS)


def in_turns(contenders: Mapping[str, Step], *, budget: float) -> Times:
    """Wall-clock and processor seconds of every contender's steps, one step of each a round, after one to warm up.

    Args:
        contenders: what to run.
        budget: seconds for all rounds, which the second round's length divides; never fewer than `FEWEST_ROUNDS`.
    """
    for step in contenders.values():
        step(0)
    times: Times = {name: [] for name in contenders}

    def once(number: int) -> None:
        for name, step in contenders.items():
            times[name].append(seconds(step, number))

    once(1)
    longest = sum(wall for pairs in times.values() for wall, _ in pairs)
    rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, int(budget / longest)))
    for number in range(2, rounds + 1):
        once(number)
    return times


def ratio(times: Times, name: str, over: str) -> dict[str, float]:
    """Median and quartiles of the rounds' ratios of processor seconds, and the median of wall-clock seconds."""
    processor = [a[1] / b[1] for a, b in zip(times[name], times[over], strict=True)]
    wall = [a[0] / b[0] for a, b in zip(times[name], times[over], strict=True)]
    low, middle, high = statistics.quantiles(processor, n=4, method="inclusive")
    return {
        "over_ordinary": round(middle, 3),
        "lower_quartile": round(low, 3),
        "upper_quartile": round(high, 3),
        "wall_over_ordinary": round(statistics.median(wall), 3),
        "milliseconds": round(1e3 * statistics.median(pair[1] for pair in times[name]), 2),
    }


def measure(case: Case, *, strategies: bool, budget: float) -> dict[str, Any]:
    """Every contender of a case in turns.

    Args:
        case: of an axis.
        strategies: also with ACTS, and with ACTS and weight clusters where a grouping leaves something to cluster.
        budget: seconds.
    """
    bench = bench_of(case)
    ordinary, private = bench.ordinary(), bench.private()
    contenders = ordinary | {"private": private.plain}
    adaptive = {
        name: bench.private(options)
        for name, options in STRATEGIES.items()
        if strategies and (case.grouping != "flat" or "weight_clusters" not in options)
    }
    for name, steps in adaptive.items():
        contenders |= {name: steps.plain, f"{name}, refresh": steps.refresh}
    times = in_turns(contenders, budget=budget)
    over = min(ordinary, key=lambda name: statistics.median(pair[1] for pair in times[name]))
    return {
        "network": case.network,
        "width": case.width,
        "batch": case.batch,
        "grouping": case.grouping,
        "row_blocks": case.row_blocks,
        "parameters": private.critic.layout.coordinates,
        "groups": private.critic.layout.blocks,
        "groups_in_use": {name: len(steps.critic.partition.thresholds) for name, steps in adaptive.items()},
        "ordinary_milliseconds": round(1e3 * statistics.median(pair[1] for pair in times[over]), 2),
        "faster_ordinary": over,
        **{name: ratio(times, name, over) for name in contenders if name not in ordinary},
        "rounds": len(times[over]),
        "threads": torch.get_num_threads(),
        "load_average": load_average(),
    }


def main() -> None:
    """Measure the axes that the command line asks for and keep them beside the others."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--axes", choices=AXES, nargs="+", default=AXES)
    parser.add_argument("--networks", choices=USUAL, nargs="+", default=list(USUAL))
    parser.add_argument("--seconds", type=float, default=8.0, help="of one case")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=RESULT)
    wanted = parser.parse_args()
    torch.set_num_threads(wanted.threads)
    document = json.loads(wanted.out.read_text()) if wanted.out.exists() else {}
    for axis, network in itertools.product(wanted.axes, wanted.networks):
        chosen, entries = list(cases(axis, network)), []
        for case in chosen:
            entry = measure(case, strategies=axis == "groups", budget=wanted.seconds)
            print(json.dumps(entry), flush=True)
            entries.append(entry)
        others = [entry for entry in document.get(axis, []) if entry["network"] != network]
        document[axis] = others + (entries if axis == "groups" else with_memory(entries, chosen))
        document |= {"benchmark": "cost", "refresh_every": REFRESH_EVERY, "machine": machine_facts()}
        wanted.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
