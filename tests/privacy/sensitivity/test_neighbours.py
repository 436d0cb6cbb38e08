"""For every neighbour tried, a step's releases before noise differ, in units of it, by at most 1 / sigma_eff.

The comparison is in float64 and its slack is 1e-13, the rounding of the comparison itself: the code leaves 2**-30 and more
below its thresholds (`models.dp.clipping.rounding_allowance`), so that no rounding of its own lifts a step over the bound.
"""

from functools import cache
from typing import Any

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from models.randomness import Purpose
from tests.cases import daily
from tests.privacy.sensitivity.adversaries import PLACES, STREAMS, base, records, uniforms, weights
from tests.privacy.sensitivity.steps import CELLS, OPTIONS, ORDINARY, REFRESH, Batch, Stage

SLACK = 1e-13
SOME_WEIGHTS = ("initial", "ones in line", "times 1e+10", "two huge rows")
"""Where a step is slow or histograms are taken too; all options are tried on all weights weekly."""
RANDOM_OPTIONS = ("flat", "layers, ACTS", "rows", "rows, ACTS and WC")
DAILY = ("flat", "layers", "rows", "layers, ACTS", "rows, ACTS and WC", "large norm", "tiny norm")
"""Each grouping, histograms with and without clusters, both ends of the norm; the other options run weekly."""


@cache
def random_stage(name: str) -> Stage:
    return Stage(OPTIONS[name])


Whitened = tuple[torch.Tensor, torch.Tensor]


def over_paid(stage: Stage, step: int, here: Whitened, there: Whitened) -> float:
    """How far two batches' releases lie apart, over what the plan pays for; before and after rounding the sum."""
    worst = 0.0
    for one, other in zip(here, there, strict=True):
        assert bool(torch.isfinite(one).all())
        worst = max(worst, float((one - other).norm()) / stage.paid(step))
    return worst


def require_bounded(stage: Stage, shared: Batch, only: tuple[str, ...] = ()) -> float:
    """Try all records on all weights, or on those named; the farthest that any of them moved."""
    farthest = 0.0
    for weight, parameters in list(weights(stage)):
        if only and weight not in only:
            continue
        stage.put(parameters=parameters)
        without = {step: stage.whitened(step, shared) for step in (REFRESH, ORDINARY)}
        for number, (record, one) in enumerate(records(stage.dtype)):
            step = ORDINARY if stage.plan.acts is None or number % 3 == 1 else REFRESH
            neighbour = shared.with_one_more(one, PLACES[number % len(PLACES)])
            distance = over_paid(stage, step, stage.whitened(step, neighbour), without[step])
            assert distance <= 1.0 + SLACK, (weight, record, step, distance)
            farthest = max(farthest, distance)
    return farthest


@pytest.mark.parametrize(
    ("name", "thorough"),
    daily(
        [(name, thorough) for name in OPTIONS for thorough in (False, True)],
        some=[(name, name in {"flat", "layers", "rows"}) for name in DAILY],
    ),
)
def test_adversarial_records_and_weights(name: str, thorough: bool) -> None:
    chosen: dict[str, Any] = OPTIONS[name]
    dtype = torch.float64 if chosen.get("grouping") == "layers" else torch.float32
    stage = Stage(chosen, dtype=dtype)
    assert (
        require_bounded(stage, base(dtype), () if thorough else SOME_WEIGHTS) > 0.99
    )  # the bound is met, so the test has power


@pytest.mark.parametrize("name", daily(["flat", "rows, ACTS"], some=["rows, ACTS"]))
def test_adversarial_records_and_weights_by_the_reference(name: str) -> None:
    stage = Stage(OPTIONS[name], reference=True)
    assert require_bounded(stage, base(torch.float32, count=1), SOME_WEIGHTS) > 0.99


@pytest.mark.parametrize("name", daily(OPTIONS, some=["flat", "layers, ACTS", "rows, ACTS and WC"]))
def test_records_as_cells(name: str) -> None:
    stage = Stage(OPTIONS[name])
    shared = base(torch.float32, cells=True)
    farthest = 0.0
    for weight, parameters in list(weights(stage)):
        stage.put(parameters=parameters)
        for step in (REFRESH, ORDINARY):
            without = stage.whitened(step, shared)
            for code in (0, 3):
                fake = uniforms(code + 7, 1, CELLS) * (1e20 if code else 1.0)
                one = Batch(torch.tensor([[code, 4, 11 - code]]), fake, torch.tensor([0.6]))
                neighbour = shared.with_one_more(one, PLACES[code % 3])
                distance = over_paid(stage, step, stage.whitened(step, neighbour), without)
                assert distance <= 1.0 + SLACK, (weight, code, step, distance)
                farthest = max(farthest, distance)
    assert farthest > 0.99


@pytest.mark.parametrize(
    ("nudge", "reference"),
    [
        pytest.param(nudge, reference, marks=pytest.mark.long if reference and nudge else ())
        for nudge in (-1, 0, 1)
        for reference in (False, True)
    ],
)
def test_gradients_exactly_at_the_clip(nudge: int, *, reference: bool) -> None:
    """Thresholds equal to a record's norms, or one number of float64 beside them."""
    stage = Stage(OPTIONS["rows"], reference=reference)
    shared = base(torch.float32, count=2)
    for name, one in records(torch.float32):
        norms = stage.norms(one)[0]
        if not bool(torch.isfinite(norms).all()) or not bool((norms > 0).all()):
            continue
        beside = torch.nextafter(norms, norms + nudge) if nudge else norms
        stage.put(thresholds=beside)
        distance = over_paid(
            stage,
            ORDINARY,
            stage.whitened(ORDINARY, shared.with_one_more(one, 1)),
            stage.whitened(ORDINARY, shared),
        )
        assert 0.99 < distance <= 1.0 + SLACK, (name, distance)


def test_an_empty_batch_and_a_batch_of_one() -> None:
    for chosen in OPTIONS.values():
        stage = Stage(chosen)
        empty = base(torch.float32, count=0)
        for step in (REFRESH, ORDINARY):
            nothing = stage.whitened(step, empty)
            assert not nothing[0].any()
            one = dict(records(torch.float32))["times 1e+06"]
            assert 0.99 < over_paid(stage, step, stage.whitened(step, one), nothing) <= 1.0 + SLACK


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_random_neighbours_weights_thresholds_and_groups(data: st.DataObject) -> None:
    """Any partition of the blocks that clusters could make, with thresholds over eighteen decades."""
    stage = random_stage(data.draw(st.sampled_from(RANDOM_OPTIONS)))
    number = data.draw(st.integers(0, 10**6))
    drawn = STREAMS.torch_normals(Purpose.TEST, number, (2, len(stage.shaped())))
    spread = data.draw(st.sampled_from([0.0, 1.0, 6.0]))
    thresholds = [10.0**power for power in data.draw(st.lists(
        st.floats(-9.0, 9.0), min_size=stage.blocks, max_size=stage.blocks))]  # fmt: skip
    labels = data.draw(st.lists(st.integers(0, 3), min_size=stage.blocks, max_size=stage.blocks))
    order = {label: place for place, label in enumerate(dict.fromkeys(labels))}
    stage.put(
        parameters=drawn[0] * torch.exp(spread * drawn[1]),
        thresholds=torch.tensor(thresholds, dtype=torch.float64),
        groups=tuple(order[label] for label in labels),
    )
    scale = 10.0 ** data.draw(st.floats(-20.0, 20.0))
    count = data.draw(st.integers(0, 6))
    rows = STREAMS.torch_normals(Purpose.TEST, number + 1, (2, count + 1, CELLS)) * scale
    whole = Batch(rows[0], rows[1], uniforms(number + 2, count + 1))
    step = data.draw(st.sampled_from([REFRESH, ORDINARY]))
    place = data.draw(st.integers(0, count))
    kept = torch.tensor([row for row in range(count + 1) if row != place], dtype=torch.int64)
    without = Batch(whole.real[kept], whole.fake[kept], whole.mix[kept])
    distance = over_paid(stage, step, stage.whitened(step, whole), stage.whitened(step, without))
    assert distance <= 1.0 + SLACK
