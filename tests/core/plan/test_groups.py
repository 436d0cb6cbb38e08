import pytest

from core.plan.critic_groups import critic_shapes, group_count
from core.plan.options import IdpganOptions


def options(**changes: object) -> IdpganOptions:
    return IdpganOptions.model_validate({"critic_width": 64, "critic_layers": 2, "row_blocks": 8} | changes)


def test_the_critics_matrices_are_its_hidden_layers_and_the_output():
    assert critic_shapes(options(), 100) == ((64, 100), (64, 64), (1, 64))


@pytest.mark.parametrize(
    ("grouping", "groups"),
    [("flat", 1), ("layers", 1 + 1 + 1 + 1), ("rows", 8 + 8 + 1 + 1)],
)
def test_groups_are_blocks_and_one_for_all_biases(grouping: str, groups: int):
    assert group_count(options(grouping=grouping), 100) == groups


def test_a_layer_has_no_more_blocks_than_rows():
    assert group_count(options(grouping="rows", critic_width=3), 100) == 3 + 3 + 1 + 1
