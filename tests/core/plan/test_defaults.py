import pytest
from pydantic import ValidationError

from core.plan import defaults
from core.plan.defaults import PublicFacts, decide, sampled_batch_cap
from core.plan.errors import InvalidSpec
from core.plan.images import defaults as image_defaults
from core.plan.options import IdpganOptions, IdpganRequest
from core.plan.stages import anchor_plan
from tests.core.plan.test_image_plans import DIGITS


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

    assert batch <= min(defaults.LARGEST_BATCH, declared_size)
    assert batch >= min(defaults.SMALLEST_BATCH, declared_size)
    assert sampled_batch_cap(batch) > batch


def test_a_batch_that_would_leave_no_room_for_rounding_is_refused_before_anything_is_charged():
    for image, most in ((None, 50_000), (DIGITS, 5_000)):
        request = {"critic": True, "expected_batch_size": most}
        assert decided(request, declared_size=10**6, image=image).expected_batch_size == most
        with pytest.raises(InvalidSpec, match=str(most)):
            decided(request | {"expected_batch_size": most + 1}, declared_size=10**6, image=image)


def test_a_table_has_a_critic_where_its_order_says_something_of_one():
    assert not decided().critic
    assert not decided({"pretraining_steps": 100, "generator_width": 32}).critic
    assert decided({"critic": True}).critic
    assert decided({"anchor": False}).critic
    assert not decided({"critic": False, "schedule": "exponential"}).critic
    said = {
        "schedule": "exponential",
        "clipping_norm": 0.5,
        "critic_width": 32,
        "steps": 7,
        "anchor_share": 0.5,
    }
    for name, value in said.items():
        assert decided({name: value}).critic, name
    assert set(IdpganRequest.model_fields) > defaults.WITHOUT_CRITIC


def test_a_larger_epsilon_buys_steps_and_a_larger_share_for_the_critic():
    small, large = decided({"critic": True}, epsilon=0.5), decided({"critic": True}, epsilon=10.0)

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
        decided(cells=defaults.WIDE_TABLE_CELLS).critic_width
        > decided(cells=defaults.WIDE_TABLE_CELLS - 1).critic_width
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


def test_a_wide_table_is_pretrained_for_fewer_steps():
    network = {"generator": "network"}
    assert decided(network, cells=200).pretraining_steps > decided(network, cells=1500).pretraining_steps > 0
    assert decided(cells=32_767).anchor


def columns_share(**changes: object) -> float:
    """The share of the anchor's squared mu that its first round gets by the rules."""
    columns = facts(**changes).columns
    plan = anchor_plan(
        columns, diagonal_weight=decided(**changes).anchor_diagonal_weight, noise_multiplier=1.0
    )
    return (plan.column_sensitivity / plan.sensitivity) ** 2


def test_counts_of_columns_get_a_third_of_the_anchor_where_pairs_stand_out_and_more_where_they_do_not():
    much, some, little = (columns_share(declared_size=size) for size in (10**9, 2_000, 100))

    assert much == pytest.approx(defaults.COLUMN_SHARE, abs=1e-3)
    assert much < some < little
    assert little == pytest.approx(defaults.COLUMN_SHARE + defaults.COLUMN_SHARE_MORE, abs=1e-3)
    assert columns_share(declared_size=2_000, epsilon=4.0) < some
    assert columns_share(declared_size=2_000, columns=40) > some


def test_counts_of_columns_get_more_where_half_of_them_have_many_codes():
    sizes = {"declared_size": 20_000}
    few, more, many = (
        columns_share(**sizes, middle_codes=defaults.FEW_CODES * times) for times in (1, 3, 20)
    )

    assert columns_share(**sizes, middle_codes=2) == few < more < many
    assert many == pytest.approx(defaults.COLUMN_SHARE + defaults.COLUMN_SHARE_MORE, abs=1e-3)
    large = columns_share(declared_size=10**9, middle_codes=defaults.FEW_CODES * 20)
    assert large == pytest.approx(defaults.COLUMN_SHARE, abs=1e-3), "there pairs stand out too"


@pytest.mark.parametrize(
    ("columns", "declared_size", "has_target"),
    [(500, 100_000, False), (200, 20_000, True), (200, 5_000, True)],
)
def test_counts_of_columns_get_the_most_in_wide_tables_of_few_units_a_pair(
    columns: int, declared_size: int, has_target: bool
):
    wide = {"columns": columns, "has_target": has_target}
    most = defaults.COLUMN_SHARE + defaults.COLUMN_SHARE_MORE
    assert columns_share(**wide, declared_size=declared_size) == pytest.approx(most, abs=0.01)
    assert columns_share(**wide, declared_size=10 * declared_size) < most - 0.2


def test_columns_get_less_where_only_pairs_with_a_target_share_the_rest():
    few = {"declared_size": 700, "columns": 20}
    assert columns_share(**few, has_target=True) < columns_share(**few) - 0.1
    many = {"declared_size": 50_000, "columns": 20}
    assert columns_share(**many, has_target=True) == columns_share(**many), "a screening chooses pairs"
    five = {"declared_size": 30, "columns": 5}
    assert columns_share(**five, has_target=True) == columns_share(**five), "all of few pairs are counted"


@pytest.mark.parametrize("columns", [1, 2])
def test_a_column_weighs_no_less_than_a_pair(columns: int):
    assert decided(columns=columns, declared_size=10**9).anchor_diagonal_weight == 1.0


def test_images_have_no_weight_of_columns():
    assert decided(image=DIGITS).anchor_diagonal_weight == 1.0


@pytest.mark.parametrize(
    ("request_", "generator"),
    [
        ({}, "mixture"),
        ({"generator": "network"}, "network"),
        ({"generator_width": 32}, "network"),
        ({"critic": True}, "network"),
        ({"anchor": False}, "network"),
        ({"generator": "mixture", "pretraining_steps": 7}, "mixture"),
        ({"generator": "mixture", "critic": True}, "mixture"),
        ({"generator": "mixture", "anchor": False}, "mixture"),
    ],
)
def test_a_mixture_is_fitted_where_nothing_asks_for_a_network(request_: dict[str, object], generator: str):
    assert decided(request_).generator == generator


def test_a_mixture_of_images_is_refused():
    with pytest.raises(InvalidSpec, match="of tables"):
        decided({"generator": "mixture"}, image=DIGITS)


@pytest.mark.parametrize("image", [None, DIGITS])
def test_an_effort_is_the_length_of_the_training_of_a_critic_without_an_anchor(image):
    def steps(**request: object) -> int:
        return decided({"anchor": False} | request, image=image, declared_size=60_000).steps

    assert steps(effort="quick") < steps(effort="standard") < steps(effort="long")
    assert steps() == steps(effort="standard" if image is None else "long")
    if image is not None:
        few = decided({"anchor": False}, image=image, declared_size=image_defaults.LONG_UNITS - 1)
        assert few.steps == steps(effort="standard")
    with pytest.raises(InvalidSpec, match="without an anchor"):
        decided({"effort": "long"}, image=image)
    with pytest.raises(ValidationError, match="excludes steps"):
        decided({"anchor": False, "effort": "long", "steps": 5}, image=image)


def test_the_generator_of_images_without_an_anchor_moves_after_every_noisy_step():
    alone = decided({"anchor": False}, image=DIGITS, declared_size=60_000)
    assert (alone.critic_steps, alone.expected_batch_size) == (1, 300)
    assert decided({"anchor": False}, image=DIGITS, declared_size=100).expected_batch_size == 100
    assert decided({"critic": True, "critic_asks": "real"}, image=DIGITS).generator_batch_size == 256
