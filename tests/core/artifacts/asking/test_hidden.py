"""What the noise of counts hides: told where it does, not told where the counts show it."""

import numpy as np
import pytest

from core.artifacts.asking.estimates import Estimates
from core.artifacts.asking.hidden import hidden_class, hidden_condition, unlisted_words
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps
from core.plan.domain.table import TableDomain
from tests.core.plan.domain.ruled import document, words

SIZES = (2, *[4] * 8)
DOMAIN = TableDomain.from_json(
    document(
        [
            words("fraud", "no", "yes"),
            *(words(f"column {place}", *"abcd") for place in range(1, len(SIZES))),
        ],
        [],
        target="fraud",
    )
)
RECORDS = 20_000
YES = np.array([False, True])


def estimates(
    rare: int, *, depends: bool = False, std: float = 60.0, alone: float = 10.0, number: int = 0
) -> Estimates:
    """Counts of every column and of its pair with the target, of which so many records have the rare class."""
    rng, step = np.random.default_rng(number), 2.0**-5
    common = np.full(4, (RECORDS - rare) / 4)
    own = np.array([rare, 0.0, 0.0, 0.0]) if depends else np.full(4, rare / 4)
    pair = np.stack([common, own])
    listed = [
        CountTable(columns=(0,), noise_std=alone, cells=in_steps(pair.sum(1) + rng.normal(0, alone, 2), step))
    ]
    for place in range(1, len(SIZES)):
        for columns, table, noise in (((place,), pair.sum(0), alone), ((0, place), pair, std)):
            cells = in_steps(table + rng.normal(0, noise, table.shape), step)
            listed.append(CountTable(columns=columns, noise_std=noise, cells=cells))
    groups = tuple(np.arange(size) for size in SIZES)
    return Estimates(ReleasedCounts(cardinalities=SIZES, step=step, tables=tuple(listed), groups=groups))  # fmt: skip


def test_a_class_indistinguishable_from_an_empty_one_is_reported_as_hidden() -> None:
    said = [hidden_class(DOMAIN, estimates(5, number=number)) for number in range(40)]
    assert sum(one is not None and "cannot be distinguished from zero" in one for one in said) > 30
    assert "'yes', the smallest class of the target" in next(one for one in said if one is not None)


def test_a_class_whose_pairs_are_noise_is_said_to_be_hidden() -> None:
    said = [hidden_class(DOMAIN, estimates(150, number=number)) for number in range(40)]
    assert sum(one is not None and "cannot be distinguished from noise" in one for one in said) > 30


@pytest.mark.parametrize(("rare", "depends"), [(3000, False), (500, True), (3000, True)])
def test_what_the_counts_show_is_not_said_to_be_hidden(rare: int, depends: bool) -> None:
    for number in range(40):
        assert hidden_class(DOMAIN, estimates(rare, depends=depends, number=number)) is None


def test_a_condition_of_two_columns_is_looked_up_in_their_pair() -> None:
    found = estimates(500, depends=True)
    first, last = np.eye(4, dtype=bool)[[0, 3]]
    assert hidden_condition(DOMAIN, found, {0: YES, 1: first}) is None
    said = hidden_condition(DOMAIN, found, {0: YES, 1: last})
    assert said is not None
    assert "of 'fraud' and 'column 1'" in said
    assert hidden_condition(DOMAIN, found, {1: last}) is None
    assert hidden_condition(DOMAIN, found, {}) is None


def test_values_that_touch_every_group_of_a_pair_are_not_compared_with_it() -> None:
    """Codes are counted in groups: some values of each group are all rows of the pair."""
    groups = tuple(np.arange(size) // 2 for size in SIZES)
    alone = CountTable(columns=(1,), noise_std=9.0, cells=in_steps(np.full(4, 5000.0), 2.0**-5))
    pair = CountTable(columns=(1, 2), noise_std=9.0, cells=in_steps(np.full((2, 2), 5000.0), 2.0**-5))
    counts = ReleasedCounts(cardinalities=SIZES, step=2.0**-5, tables=(alone, pair), groups=groups)
    grouped = Estimates(counts)
    assert hidden_condition(DOMAIN, grouped, {1: np.array([True, False, True, False])}) is None
    assert hidden_condition(DOMAIN, grouped, {1: np.array([True, True, True, False])}) is None


def test_words_that_were_not_learnt_are_reported() -> None:
    column = words("city", "Ulm", unknown="other", other="elsewhere")
    domain = TableDomain.from_json(document([column], []))
    for share, told in ((0.86, True), (0.2, False)):
        cells = in_steps(np.array([1000 * (1 - share), 1000 * share]), 1.0)
        table = CountTable(columns=(0,), noise_std=5.0, cells=cells)
        counts = ReleasedCounts(cardinalities=(2,), step=1.0, tables=(table,), groups=(np.arange(2),))
        said = list(unlisted_words(domain, Estimates(counts), [0]))
        assert bool(said) == told
        if told:
            assert said[0].startswith("1 word of 'city' could be learnt; about 86 % of the records have")
            assert "'elsewhere'" in said[0]
    assert list(unlisted_words(domain, Estimates(counts), [])) == []
