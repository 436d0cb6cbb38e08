"""Compare the recorded execution with the plan, step by step, in time bounded by the plan's steps."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from understudy.verifying.anchors import anchor_count
from understudy.verifying.closeness import close
from understudy.verifying.planned import joint_multiplier

Json = Mapping[str, Any]


def executed_problems(executed: Json, plan: Json) -> Iterator[str]:
    """Report differences between the execution and the plan, which is already checked against its options."""
    steps, acts, releases = plan["steps"], plan["acts"], executed["releases"]
    refreshes = 0 if acts is None else -(-steps // acts["interval"])
    expected = {
        "label_histogram": _progression(1, int(plan["label_histogram"] is not None)),
        "anchor": _progression(1, anchor_count(plan["anchor"])),
        "gradients": _progression(1, steps),
        "histograms": _progression(1 if acts is None else acts["interval"], refreshes),
    }
    if executed["steps"] != steps:
        yield "executed/steps"
    if "learning" in plan:
        expected["learning"] = _progression(1, len(plan["learning"]["releases"]))
    if releases.keys() != expected.keys():
        yield "executed/releases: of other kinds"
        return
    yield from (f"executed/releases/{name}" for name, value in expected.items() if releases[name] != value)
    stated = executed["noise_multipliers"]
    if not _adds_up(stated, steps):
        yield "executed/noise_multipliers: not one for every step"
        return
    pairs = zip_longest(_joined(_stated(stated)), _joined(_expected(plan)), fillvalue=(0, 1.0))
    if not all(count == wanted and close(value, due) for (count, value), (wanted, due) in pairs):
        yield "executed/noise_multipliers"


def _progression(every: int, count: int) -> list[list[int]]:
    if not count:
        return []
    return [[0, 1 if count == 1 else every, count]]


def _adds_up(parts: list[Json], steps: int) -> bool:
    """Whether the runs have whole lengths and sum to the steps; only then may they be expanded."""
    lengths = [run[0] for part in parts for run in part["runs"]]
    if not all(isinstance(length, int) for length in lengths):
        return False
    return bool(sum(part["repeat"] * sum(run[0] for run in part["runs"]) for part in parts) == steps)


def _stated(parts: list[Json]) -> Iterator[tuple[int, float]]:
    for part in parts:
        for _ in range(part["repeat"]):
            yield from part["runs"]


def _expected(plan: Json) -> Iterator[tuple[int, float]]:
    acts = plan["acts"]
    for block in plan["blocks"]:
        step, own = block["first_step"], block["noise_multiplier"]
        end = step + block["steps"]
        while step < end:
            if acts is not None and step % acts["interval"] == 0:
                yield 1, joint_multiplier(own, acts)
                step += 1
                continue
            until = end if acts is None else min(end, step + -step % acts["interval"])
            yield until - step, own
            step = until


def _joined(runs: Iterable[tuple[int, float]]) -> Iterator[tuple[int, float]]:
    """Merge neighbouring runs of one multiplier."""
    count, value = 0, 0.0
    for steps, multiplier in runs:
        if count and multiplier == value:
            count += steps
            continue
        if count:
            yield count, value
        count, value = steps, multiplier
    if count:
        yield count, value
