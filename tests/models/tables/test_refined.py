"""Targets over parts of groups: sums stay, columns that nearly determine each other do so inside their groups, and others are left alone."""

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pytest

from core.plan.stages import anchor_plan
from models.encoding import PrivateTable
from models.tables.anchor import MomentLayout, noisy_columns, noisy_moments
from models.tables.code_groups import group_counts, sums_of_groups
from models.tables.estimation import refined as module
from models.tables.estimation.refined import GroupedTargets, refined
from models.tables.estimation.smoothing import CodeOrder
from models.tables.estimation.targets import Counted, moment_targets
from models.tables.estimation.zeros import Forbidden
from tests.models.coded_tables import grouped, streams

Floats = npt.NDArray[np.float64]
RECORDS, CODES, GROUPS = 6000, 36, 6
NO_RULES: Forbidden = MappingProxyType({})
AT_MOST: Forbidden = MappingProxyType({(0, 1): np.arange(CODES)[:, None] > np.arange(CODES)[None]})


@dataclass(frozen=True)
class Case:
    """Targets over groups, and what they are made of."""

    coarse: GroupedTargets
    order: CodeOrder
    table: PrivateTable

    def fine(self, forbidden: Forbidden = NO_RULES) -> GroupedTargets:
        return refined(self.coarse, self.order, forbidden=forbidden)

    def apart(self, made: GroupedTargets) -> float:
        """Total variation of the first two columns' codes from the rows, if codes are independent inside the groups of `made`."""
        truth = np.zeros((CODES, CODES))
        np.add.at(truth, (self.table.codes[:, 0], self.table.codes[:, 1]), 1.0 / RECORDS)
        first, second = made.layout.blocks[:2]
        distribution = made.targets.pairs[:, first, second].sum(axis=0)
        for axis, column in enumerate((0, 1)):
            groups, shares = made.groups[column], made.targets.columns[column]
            within = shares / sums_of_groups(shares, groups)[groups]
            distribution = np.moveaxis(np.take(distribution, groups, axis=axis), axis, -1) * within
            distribution = np.moveaxis(distribution, -1, axis)
        return float(np.abs(distribution - truth).sum()) / 2


def case(
    second_of: Callable[[Floats, np.random.Generator], Floats],
    *,
    ordered: bool = True,
    classes: int = 1,
    forbidden: Forbidden = NO_RULES,
) -> Case:
    """Two columns of many codes in few groups, and one that depends on nothing, with little noise."""
    rng = np.random.default_rng(1)
    ranks = rng.random(RECORDS)
    codes = [np.clip((each * CODES).astype(int), 0, CODES - 1) for each in (ranks, second_of(ranks, rng))]
    columns = [*codes, rng.integers(0, 3, RECORDS)]
    if classes > 1:
        columns.append((rng.random(RECORDS) < ranks).astype(int))
    sizes = (CODES, CODES, 3, classes)[: len(columns)]
    table = PrivateTable(
        codes=np.column_stack(columns).astype(np.int16),
        unit_of_record=np.arange(RECORDS),
        cardinalities=sizes,
        target_index=3 if classes > 1 else None,
    )
    order = CodeOrder(ordered=(ordered, ordered, False, False)[: len(columns)], alone=((),) * len(columns))
    merged = np.arange(CODES) * GROUPS // CODES
    groups = (merged, merged, *(np.arange(size) for size in sizes[2:]))
    plan = anchor_plan(len(columns), diagonal_weight=2.0, noise_multiplier=2.0)
    layout = MomentLayout(
        cardinalities=group_counts(groups), target_index=table.target_index, by_class=classes > 1
    )
    counted = Counted(
        columns=tuple(noisy_columns(table, plan, streams())),
        groups=groups,
        moments=noisy_moments(grouped(table, groups), layout, plan, streams()),
    )
    targets = moment_targets(counted, layout, plan, order=order, forbidden=forbidden)
    return Case(GroupedTargets(layout, targets, groups), order, table)


def near(ranks: Floats, rng: np.random.Generator) -> Floats:
    return ranks + rng.normal(0.0, 0.03, RECORDS)


def equal(ranks: Floats, rng: np.random.Generator) -> Floats:
    """But for one record of a hundred, which is anywhere."""
    return np.where(rng.random(RECORDS) < 0.01, rng.random(RECORDS), ranks)


def opposite(ranks: Floats, rng: np.random.Generator) -> Floats:
    return 1.0 - ranks + rng.normal(0.0, 0.03, RECORDS)


def later(ranks: Floats, rng: np.random.Generator) -> Floats:
    return ranks + rng.exponential(0.03, RECORDS)


@pytest.mark.parametrize("second_of", [near, opposite])
@pytest.mark.parametrize("classes", [1, 2])
def test_codes_of_columns_that_nearly_determine_each_other_are_nearer(second_of, classes):
    made = case(second_of, classes=classes)
    fine = made.fine()
    assert group_counts(fine.groups)[:2] == (3 * GROUPS, 3 * GROUPS)
    assert fine.groups[2] is made.coarse.groups[2]
    assert made.apart(fine) < 0.7 * made.apart(made.coarse)


@pytest.mark.parametrize(("second_of", "forbidden"), [(near, NO_RULES), (equal, NO_RULES), (later, AT_MOST)])
@pytest.mark.parametrize("classes", [1, 2])
def test_parts_sum_to_their_groups(second_of, forbidden, classes):
    made = case(second_of, classes=classes, forbidden=forbidden)
    coarse, fine = made.coarse, made.fine(forbidden)
    assert fine.layout.cells > coarse.layout.cells
    of_part = []
    for column, block in zip(fine.layout.features, coarse.layout.blocks, strict=True):
        before = np.zeros(fine.layout.cardinalities[column], dtype=int)
        before[fine.groups[column]] = coarse.groups[column]
        of_part.append(np.eye(coarse.layout.cells)[block.start + before])
    sums = np.concatenate(of_part)
    assert sums.T @ fine.targets.pairs @ sums == pytest.approx(coarse.targets.pairs, abs=1e-9)
    assert fine.targets.ones @ sums == pytest.approx(coarse.targets.ones, abs=1e-9)
    assert (fine.targets.pairs >= 0).all()


def test_a_rule_leaves_parts_of_a_group_empty():
    made = case(later, forbidden=AT_MOST)
    fine = made.fine(AT_MOST)
    first, second = fine.layout.blocks[:2]
    distribution = fine.targets.pairs[0, first, second]
    assert not distribution[np.tril_indices(len(distribution), -1)].any()
    assert fine.targets.impossible is not None
    assert fine.targets.impossible[0, first, second].sum() > 3 * GROUPS
    assert made.apart(fine) < 0.7 * made.apart(made.coarse)


@pytest.mark.parametrize(
    ("second_of", "ordered"),
    [
        (near, False),
        (lambda ranks, rng: rng.random(RECORDS), True),
        (lambda ranks, rng: 4.0 * (ranks - 0.5) ** 2, True),
    ],
    ids=["no order", "unrelated", "bent"],
)
def test_other_columns_keep_their_groups(second_of, ordered):
    made = case(second_of, ordered=ordered)
    assert made.fine() is made.coarse


def test_tables_of_many_groups_keep_them(monkeypatch: pytest.MonkeyPatch):
    made = case(near)
    monkeypatch.setattr(module, "MOST_CELLS", 6 * GROUPS + 2)
    assert made.fine() is made.coarse
