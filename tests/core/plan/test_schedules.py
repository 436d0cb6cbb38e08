import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.plan.noise import relative_multiplier, schedule_blocks
from core.plan.options import IdpganOptions


def options(**changes: object) -> IdpganOptions:
    return IdpganOptions.model_validate(
        {"steps": 1000, "schedule_period": 1000, "schedule_end": 0.1} | changes
    )


def test_the_formulas_of_the_paper():
    exponential = options(schedule="exponential", schedule_decay=2.0)
    step = options(schedule="step", schedule_decay=0.5, schedule_period=250)
    polynomial = options(schedule="polynomial", schedule_decay=3.0)

    assert relative_multiplier(exponential, 500) == pytest.approx(math.exp(-1.0))
    assert relative_multiplier(step, 249) == 1.0
    assert relative_multiplier(step, 250) == 0.5
    assert relative_multiplier(step, 749) == 0.25
    assert relative_multiplier(polynomial, 500) == pytest.approx(0.9 * 0.125 + 0.1)
    assert relative_multiplier(options(), 999) == 1.0


def test_a_later_start_delays_the_decay_and_a_staircase_of_the_exponential_is_the_step_schedule():
    delayed = options(schedule="exponential", schedule_decay=2.0, schedule_start=400)
    staircase = options(
        schedule="step", schedule_decay=math.exp(-0.5), schedule_period=250, schedule_end=0.01
    )

    assert [relative_multiplier(delayed, step) for step in (0, 399, 400)] == [1.0, 1.0, 1.0]
    assert relative_multiplier(delayed, 900) == pytest.approx(math.exp(-1.0))
    assert schedule_blocks(delayed)[0] == (400 + 86, 1.0), (
        "the block before the start, and the first of seven after it"
    )
    assert schedule_blocks(delayed.model_copy(update={"schedule_blocks": 1})) == ((1000, 1.0),)
    for step in (0, 249, 250, 999):
        assert relative_multiplier(staircase, step) == pytest.approx(math.exp(-0.5 * (step // 250)))


@pytest.mark.parametrize("schedule", ["exponential", "step", "polynomial"])
def test_no_schedule_falls_below_its_floor(schedule: str):
    decay = 0.01 if schedule == "step" else 50.0
    chosen = options(schedule=schedule, schedule_decay=decay, schedule_period=100)

    assert relative_multiplier(chosen, 5000) == 0.1


@given(
    st.sampled_from(["constant", "exponential", "step", "polynomial"]), st.integers(1, 5000), st.integers(1, 64),
    st.floats(0.01, 0.99), st.integers(1, 6000), st.integers(0, 4999),
)  # fmt: skip
def test_blocks_cover_the_steps_and_are_never_quieter_than_the_schedule(
    schedule: str, steps: int, blocks: int, decay: float, period: int, start: int
):
    chosen = options(
        schedule=schedule,
        steps=steps,
        schedule_blocks=blocks,
        schedule_decay=decay,
        schedule_period=period,
        schedule_start=0 if schedule == "constant" else start % steps,
    )

    made = schedule_blocks(chosen)

    assert sum(count for count, _ in made) == steps
    assert len(made) <= blocks
    assert made[0][1] == 1.0
    first = 0
    for count, value in made:
        assert count >= 1
        assert value >= relative_multiplier(chosen, first + count - 1) - 1e-12
        first += count


def test_a_constant_schedule_is_one_block_and_no_steps_are_none():
    assert schedule_blocks(options()) == ((1000, 1.0),)
    anchor_only = IdpganOptions(critic=False, steps=0, anchor_share=1.0)
    assert schedule_blocks(anchor_only) == ()
