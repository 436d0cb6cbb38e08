import pytest

from core.synthesis import rules
from core.synthesis.errors import InvalidSpec
from core.synthesis.options import IdpganOptions, IdpganRequest
from core.synthesis.rules import PublicFacts, decide, sampled_batch_cap
from tests.core.synthesis.test_image_plans import DIGITS


def facts(**changes: object) -> PublicFacts:
    values: dict[str, object] = {"declared_size": 50_000, "columns": 12, "cells": 240, "epsilon": 1.0}
    return PublicFacts(**values | changes)  # type: ignore[arg-type]


def decided(request: dict[str, object] | None = None, **changes: object) -> IdpganOptions:
    return decide(
        IdpganRequest.model_validate(request or {}), facts(**changes), automatic_histogram_noise=1.0
    )


@pytest.mark.parametrize("declared_size", [1, 10, 300, 5_000, 50_000, 10**7])
def test_the_batch_is_within_the_table_and_its_limits(declared_size: int):
    batch = decided(declared_size=declared_size).expected_batch_size

    assert batch <= min(rules.LARGEST_BATCH, declared_size)
    assert batch >= min(rules.SMALLEST_BATCH, declared_size)
    assert sampled_batch_cap(batch) > batch


def test_a_batch_that_would_leave_no_room_for_rounding_is_refused_before_anything_is_charged():
    for image, most in ((None, 50_000), (DIGITS, 5_000)):
        request = {"critic": True, "expected_batch_size": most}
        assert decided(request, declared_size=10**6, image=image).expected_batch_size == most
        with pytest.raises(InvalidSpec, match=str(most)):
            decided(request | {"expected_batch_size": most + 1}, declared_size=10**6, image=image)


def test_a_larger_epsilon_buys_steps_and_a_larger_share_for_the_critic():
    small, large = decided(epsilon=0.5), decided(epsilon=10.0)

    assert small.steps <= large.steps
    assert small.anchor_share >= large.anchor_share


def test_what_is_requested_is_kept():
    options = decided({"steps": 77, "expected_batch_size": 300, "clipping_norm": 0.5, "critic_width": 32})

    assert (options.steps, options.expected_batch_size, options.clipping_norm, options.critic_width) == (
        77,
        300,
        0.5,
        32,
    )


def test_one_part_alone_gets_everything():
    assert decided({"critic": False}).anchor_share == 1.0
    assert decided({"critic": False}).steps == 0
    critic_only = decided({"anchor": False})
    assert (critic_only.anchor_share, critic_only.pretraining_steps, critic_only.anchor_weight) == (
        0.0,
        0,
        0.0,
    )


def test_wide_tables_get_wide_networks():
    assert (
        decided(cells=rules.WIDE_TABLE_CELLS).critic_width
        > decided(cells=rules.WIDE_TABLE_CELLS - 1).critic_width
    )


@pytest.mark.parametrize(
    ("request_", "grouping"),
    [({}, "flat"), ({"acts": True}, "layers"), ({"acts": True, "weight_clusters": True}, "rows")],
)
def test_the_grouping_follows_the_strategy(request_: dict[str, object], grouping: str):
    assert decided(request_).grouping == grouping


@pytest.mark.parametrize(
    "request_",
    [
        {"critic": False, "steps": 5},
        {"critic": False, "acts": True},
        {"anchor": False, "anchor_share": 0.5},
        {"weight_clusters": True},
        {"expected_batch_size": 50_001},
    ],
)
def test_requests_that_contradict_themselves_are_refused(request_: dict[str, object]):
    with pytest.raises(InvalidSpec):
        decided(request_)


@pytest.mark.parametrize(
    "changes",
    [{"declared_size": 0}, {"declared_size": 10**13}, {"declared_size": 2.5}, {"columns": 0, "cells": 0}],
)
def test_facts_that_describe_no_table_are_refused(changes: dict[str, object]):
    with pytest.raises(InvalidSpec):
        facts(**changes)


def test_a_wide_table_is_pretrained_for_fewer_steps_and_a_too_wide_one_has_no_anchor():
    assert decided(cells=200).pretraining_steps > decided(cells=1500).pretraining_steps > 0
    assert decided(cells=rules.WIDEST_ANCHOR).anchor
    too_wide = decided(cells=rules.WIDEST_ANCHOR + 1)
    assert not too_wide.anchor
    assert too_wide.critic
    with pytest.raises(InvalidSpec):
        decided({"anchor": True}, cells=rules.WIDEST_ANCHOR + 1)
