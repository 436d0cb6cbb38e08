"""The record of a job's releases: what it notes, what it refuses, and that it survives a resumption."""

from functools import cache
from typing import Any

import pytest
import torch

from core.artifacts.errors import ExecutionDiffers
from core.artifacts.execution import Executed
from core.plan.plan import Plan
from models.randomness import Purpose
from models.release_recorder import CertificateRecorder
from tests.core.artifacts.certified import REFRESHING, plan_for

STEPS = 120


@cache
def planned() -> Plan:
    plan = plan_for(REFRESHING)
    assert plan.steps == STEPS
    return plan


def release(record: CertificateRecorder, purpose: Purpose, step: int, noise: float) -> None:
    """One release whose noise has this effective multiplier."""
    record.exact(purpose, step, never_read(), sensitivity=1 / noise)
    record.noisy(purpose, step, torch.zeros(1))


def never_read() -> Any:
    raise AssertionError("the private values are not looked at")
    yield


def run(record: CertificateRecorder, steps: range, *, less_noise: float = 1.0) -> None:
    plan = planned()
    assert plan.acts is not None
    for step in steps:
        release(record, Purpose.GRADIENT_NOISE, step, plan.noise_multiplier_at(step) * less_noise)
        if plan.is_refresh(step):
            release(record, Purpose.ACTS_NOISE, step, plan.acts.noise_multiplier / plan.acts.groups**0.5)


def begun() -> CertificateRecorder:
    plan = planned()
    assert plan.label_histogram is not None
    record = CertificateRecorder(plan)
    release(record, Purpose.LABEL_NOISE, 0, plan.label_histogram.noise_multiplier)
    return record


def test_a_whole_job_is_its_plan() -> None:
    record = begun()
    run(record, range(STEPS))
    assert record.executed() == Executed.planned(planned())


@pytest.mark.parametrize("interrupted_at", [0, 1, 6, 7, 8, 60, 119])
def test_a_resumed_job_remembers_what_earlier_attempts_released(interrupted_at: int) -> None:
    first = begun()
    run(first, range(interrupted_at))
    kept = first.beside(b"the state\nof a training")
    run(first, range(interrupted_at, min(interrupted_at + 5, STEPS)))

    second = CertificateRecorder(planned())
    assert second.restored(kept) == b"the state\nof a training"
    run(second, range(interrupted_at, STEPS))
    assert second.executed() == Executed.planned(planned())


def test_a_state_without_a_record_starts_the_job_again() -> None:
    assert CertificateRecorder(planned()).restored(b"a state of an older version") is None


def test_less_noise_than_was_charged_ends_the_job() -> None:
    with pytest.raises(ExecutionDiffers):
        run(begun(), range(STEPS), less_noise=0.999999)


@pytest.mark.parametrize(
    ("purpose", "step"),
    [
        (Purpose.GRADIENT_NOISE, STEPS), (Purpose.ACTS_NOISE, 1), (Purpose.ANCHOR_NOISE, 0), (Purpose.POISSON, 0),
    ],
)  # fmt: skip
def test_a_release_that_was_not_planned_ends_the_job(purpose: Purpose, step: int) -> None:
    with pytest.raises(ExecutionDiffers):
        release(begun(), purpose, step, 1e9)


def test_a_step_left_out_or_run_twice_is_not_certified() -> None:
    for steps in ([*range(119)], [*range(120), 119], [0, *range(120)]):
        record = begun()
        for step in steps:
            run(record, range(step, step + 1))
        with pytest.raises(ExecutionDiffers):
            record.executed()
