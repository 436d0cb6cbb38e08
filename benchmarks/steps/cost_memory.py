"""The memory that a private and an ordinary step need at their peak."""

from dataclasses import replace
from typing import Any

import torch

from benchmarks.resident import in_fresh_processes, peak_growth
from benchmarks.steps.cost_steps import Case, bench_of

WARM_BATCH, STEPS = 16, 3


def peak_bytes(asked: tuple[Case, bool]) -> int:
    """Peak of one contender, private or ordinary, in this process, which should be a fresh one."""
    case, private = asked
    torch.set_num_threads(1)

    def run(chosen: Case) -> int:
        bench = bench_of(chosen)

        def work() -> None:
            step = bench.private().plain if private else bench.ordinary()["ordinary"]
            for number in range(STEPS):
                step(number)

        return peak_growth(work)

    run(replace(case, batch=WARM_BATCH))
    return run(case)


def with_memory(entries: list[dict[str, Any]], chosen: list[Case]) -> list[dict[str, Any]]:
    """The entries with the peak of the private and of the ordinary step, in MB."""
    asked = [(case, private) for case in chosen for private in (True, False)]
    peaks = in_fresh_processes(peak_bytes, asked, preload=["benchmarks.steps.cost_memory"])
    names = ("private_megabytes", "ordinary_megabytes")
    pairs = [peaks[first : first + 2] for first in range(0, len(peaks), 2)]
    return [
        entry | {name: round(peak / 1e6, 1) for name, peak in zip(names, pair, strict=True)}
        for entry, pair in zip(entries, pairs, strict=True)
    ]
