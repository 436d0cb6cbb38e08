from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from core.plan.stages import AnchorPlan, anchor_plan
from models.encoding import PrivateTable
from models.tables.anchor import MomentLayout, Pair, exact_moments, noisy_columns, noisy_moments
from models.tables.code_groups import Groups
from models.tables.estimation.implied import implied_distributions
from models.tables.estimation.targets import Counted, MomentTargets, moment_targets
from tests.models.coded_tables import streams

RECORDS = 4000
NEIGHBOURS = tuple((place, place + 1) for place in range(5))


def chain(*, classes: int = 0, columns: int = 6, codes: int = 4) -> PrivateTable:
    """Every column repeats the one before for three records of four; with classes a last column, by which they go on one further."""
    rng = np.random.default_rng(1)
    label = rng.integers(0, max(classes, 1), RECORDS)
    made = [rng.integers(0, codes, RECORDS)]
    for _ in range(columns - 1):
        repeated = (made[-1] + label) % codes
        made.append(np.where(rng.random(RECORDS) < 0.75, repeated, rng.integers(0, codes, RECORDS)))
    return table_of([*made, label] if classes else made, target=columns if classes else None)


def table_of(columns: Sequence[npt.NDArray[np.int64]], *, target: int | None = None) -> PrivateTable:
    return PrivateTable(
        codes=np.column_stack(columns).astype(np.int16),
        unit_of_record=np.arange(RECORDS),
        cardinalities=tuple(int(column.max()) + 1 for column in columns),
        target_index=target,
    )


def plan_of(multiplier: float, columns: int) -> AnchorPlan:
    return anchor_plan(columns, diagonal_weight=2.0, noise_multiplier=multiplier)


def targets_of(
    table: PrivateTable,
    multiplier: float,
    *,
    pairs: tuple[Pair, ...] | None = None,
    by_class: bool = True,
    key: int = 0,
) -> tuple[MomentTargets, MomentLayout]:
    plan = plan_of(multiplier, len(table.cardinalities))
    groups: tuple[Groups, ...] = tuple(np.arange(codes) for codes in table.cardinalities)
    layout = MomentLayout(
        cardinalities=table.cardinalities,
        target_index=table.target_index,
        by_class=by_class and table.target_index is not None,
        pairs=pairs,
    )
    counted = Counted(
        columns=tuple(noisy_columns(table, plan, streams(key))),
        groups=groups,
        moments=noisy_moments(table, layout, plan, streams(key)),
        pairs=pairs,
    )
    return moment_targets(counted, layout, plan), layout


def error(
    made: npt.NDArray[np.float64], table: PrivateTable, layout: MomentLayout, pair: Pair
) -> tuple[float, float]:
    """Total variation of a pair's target from the rows, and that of columns that are independent within the class."""
    first, second = layout.blocks[pair[0]], layout.blocks[pair[1]]
    every = MomentLayout(
        cardinalities=layout.cardinalities, target_index=layout.target_index, by_class=layout.by_class
    )
    truth = exact_moments(table, every).pairs[:, first, second] / RECORDS
    distribution = truth.sum(axis=(1, 2), keepdims=True)
    product = truth.sum(axis=2, keepdims=True) * truth.sum(axis=1, keepdims=True) / distribution
    return tuple(float(np.abs(each - truth).sum()) / 2 for each in (made[:, first, second], product))


@pytest.mark.parametrize("classes", [0, 2])
def test_pairs_that_were_not_counted_follow_from_a_chain_of_counted_ones(classes):
    """The pairs (0, 2) and (0, 3) are not counted; all neighbours and (1, 3), which tells how much a chain is worth, are."""
    table = chain(classes=classes)
    targets, layout = targets_of(table, 0.05, pairs=(*NEIGHBOURS, (1, 3)))
    for pair in ((0, 2), (0, 3)):
        assert not layout.counted[layout.blocks[pair[0]].start, layout.blocks[pair[1]].start]
        made, independent = error(targets.pairs, table, layout, pair)
        assert independent > 0.2
        assert made < 0.15 * independent


def test_pairs_follow_from_a_chain_of_which_no_other_pair_was_counted():
    targets, layout = targets_of(chain(), 1.0, pairs=NEIGHBOURS)
    made, independent = error(targets.pairs, chain(), layout, (0, 3))
    assert made < 0.25 * independent


def test_pairs_are_independent_where_only_pairs_with_the_target_were_counted():
    """Nothing tells how much of a star is true, and the target was its middle for want of signal, not for its distances."""
    table = table_of([chain().codes[:, place].astype(np.int64) for place in range(4)], target=1)
    targets, layout = targets_of(table, 0.05, pairs=(), by_class=False)
    first, third = layout.blocks[0], layout.blocks[2]
    product = np.outer(targets.ones[0, first], targets.ones[0, third])
    assert targets.pairs[0, first, third] == pytest.approx(product, abs=1e-12)


def test_counted_pairs_of_a_chain_are_nearer_than_by_shrinkage_towards_independence(monkeypatch):
    """Total variation over all pairs and ten releases, with fixed keys."""
    table = chain()

    def whole() -> float:
        found = [targets_of(table, 12.0, key=key) for key in range(10)]
        pairs = [(i, j) for i in range(6) for j in range(i + 1, 6)]
        return sum(error(made.pairs, table, layout, pair)[0] for made, layout in found for pair in pairs)

    with_chain = whole()
    monkeypatch.setattr("models.tables.estimation.shrunk_pairs.implied_distributions", lambda *_: {})
    assert with_chain < 0.9 * whole()


def test_counts_that_contradict_the_chain_are_believed():
    """The second column is the sum of the first and the third, which are independent coins: a chain would tie them."""
    rng = np.random.default_rng(2)
    first, third = rng.integers(0, 2, (2, RECORDS))
    table = table_of([first, first + third, third])
    targets, layout = targets_of(table, 0.5)
    made, _ = error(targets.pairs, table, layout, (0, 2))
    assert made < 0.02, "as the counts say; the chain implies 0.25"


def test_implied_distributions_have_the_margins_of_their_columns():
    table = chain()
    targets, layout = targets_of(table, 2.0, pairs=(*NEIGHBOURS, (1, 3)))
    arguments = (targets.pairs, targets.pairs, targets.ones, targets.distribution, targets.pair_std, layout)
    distributions = implied_distributions(*arguments)
    assert len(distributions) == 10, "all of fifteen pairs but the five of the tree"
    for (i, j), implied in distributions.items():
        assert (implied >= 0).all()
        assert implied.sum(axis=2) == pytest.approx(targets.ones[:, layout.blocks[i]], abs=1e-3)
        assert implied.sum(axis=1) == pytest.approx(targets.ones[:, layout.blocks[j]], abs=1e-3)


def test_pairs_shrunk_to_independence_imply_nothing():
    rng = np.random.default_rng(3)
    table = table_of(list(rng.integers(0, 3, (5, RECORDS))))
    targets, layout = targets_of(table, 1e-3)
    product = targets.ones[:, :, None] * targets.ones[:, None, :]
    arguments = (targets.pairs, product, targets.ones, targets.distribution, targets.pair_std, layout)
    assert implied_distributions(*arguments) == {}
