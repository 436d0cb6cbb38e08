import numpy as np
import pytest

from core.artifacts.sampling.codes_in_groups import CodesInGroups

SHARES = np.array([0.5, 0.25, 1.0, 0.25, 0.9, 0.1, 1.0])
"""Of two columns with four and three codes: groups {0, 1, 3} and {2}; {0, 1} and {2}."""
GROUPS = np.array([0, 0, 1, 0, 2, 2, 3])


def made() -> CodesInGroups:
    return CodesInGroups(GROUPS, np.log(SHARES).astype(np.float32), (4, 3), (2, 2))


def test_a_code_is_drawn_within_its_group_by_its_share():
    rng = np.random.default_rng(0)
    drawn = np.column_stack([np.zeros(40_000, np.int16), np.zeros(40_000, np.int16)])
    codes = made().draw(drawn, rng.random(drawn.shape))
    assert codes.dtype == np.int32
    first, second = (
        np.bincount(codes[:, 0], minlength=4) / 40_000,
        np.bincount(codes[:, 1], minlength=3) / 40_000,
    )
    assert first == pytest.approx([0.5, 0.25, 0.0, 0.25], abs=0.02)  # beyond six standard deviations
    assert second == pytest.approx([0.9, 0.1, 0.0], abs=0.02)
    alone = made().draw(np.ones((5, 2), np.int16), rng.random((5, 2)))
    assert (alone == 2).all()


@pytest.mark.parametrize("uniform", [0.0, np.nextafter(1.0, 0.0)])
def test_a_uniform_at_its_end_stays_in_the_group(uniform):
    codes = made().draw(np.array([[0, 0], [1, 1]]), np.full((2, 2), uniform))
    groups = np.array([GROUPS[codes[:, 0]], GROUPS[4 + codes[:, 1]]])
    assert groups.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("groups", "shares", "sizes", "counts"),
    [
        (GROUPS[:6], SHARES[:6], (4, 3), (2, 2)),
        (GROUPS, SHARES[:6], (4, 3), (2, 2)),
        (np.where(GROUPS == 3, 1, GROUPS), SHARES, (4, 3), (2, 2)),
        (np.where(GROUPS == 3, 4, GROUPS), SHARES, (4, 3), (2, 2)),
        (np.where(GROUPS == 0, -1, GROUPS), SHARES, (4, 3), (2, 2)),
        (np.where(GROUPS == 3, 2, GROUPS), SHARES, (4, 3), (2, 2)),
        (GROUPS, np.where(SHARES == 0.9, np.inf, SHARES), (4, 3), (2, 2)),
        (GROUPS, np.where(SHARES == 0.9, 0.0, SHARES), (4, 3), (2, 2)),
    ],
    ids=["fewer codes", "fewer shares", "another column's", "beyond", "negative", "empty", "infinite", "zero"],
)  # fmt: skip
def test_what_is_no_grouping_of_such_columns_is_refused(groups, shares, sizes, counts):
    with pytest.raises(ValueError, match=r"code|share"), np.errstate(divide="ignore"):
        CodesInGroups(groups, np.log(shares).astype(np.float32), sizes, counts)
