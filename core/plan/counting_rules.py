"""Contents and resolution of a table's anchor, by public rules of cardinalities, declared size and noise.

A quote states by these rules what would be measured; the training counts by them (`models.tables.anchor`,
`models.tables.code_groups`).
"""

import itertools
import math

import numpy as np
import numpy.typing as npt

from core.plan.stages import AnchorPlan

MOST_CLASSES = 16
"""Classes of the target up to which pairs are counted by class."""
SIGNAL_PER_CLASS = 150.0
"""Minimum declared units per class for counts by class, in standard deviations of the noise on a count summed
over the classes (docs/rules-study.md)."""
TARGET_WEIGHT = 2.0
"""Squared weight of a pair with the target, relative to another pair with as many cells, if counts are not by
class."""
COLUMN_POWER, TABLE_POWER = 2.0 / 3.0, 0.5
"""A column's and a table's squared weight grows by this power of its cells. 2/3 minimises the sum of absolute
errors if every cell's error is its noise; tables are shrunk, so a smaller power is better there
(docs/rules-study.md)."""
GROUPS_FACTOR = 0.8
"""Groups of a column over the square root of the declared records in units of a cell's noise
(docs/rules-study.md)."""
FEWEST_GROUPS = 2
MORE_WITHOUT_ORDER = 2.0
"""Groups of a column whose codes have no order over those of one in order, at most: merged codes are not alike there, and what
distinguishes them is lost (docs/rules-study.md)."""
ENOUGH_GROUPS = 8.0
"""Groups from which on a column without an order gets more; with fewer, noise costs as much as they show."""
RAW_FROM = 5.0
"""Mean count of a code, in standard deviations of its noise, at which smoothed and raw counts have equal
weight (docs/rules-study.md)."""
FEWEST_PAIRS_CHOSEN = 15
"""Minimum number of pairs of columns for counting some of them only."""
SIGNAL_OF_ALL_PAIRS = 20.0
"""Minimum declared units for counts of all pairs, in standard deviations of a cell's noise if all pairs shared the
whole anchor (docs/rules-study.md)."""
MOST_GROUP_CELLS = 2048
"""Groups of all columns together: memory grows with their square."""
MOST_TOGETHER = 16
"""Maximum number of columns of one table of counts."""
MOST_VARIANCE = 1.25
"""Mean variance of a pair's counts summed from those of all combinations, relative to pairs that are counted themselves, up to which
all combinations are counted instead (docs/rules-study.md)."""

Floats = npt.NDArray[np.float64]
Pair = tuple[int, int]


def column_weights(cardinalities: tuple[int, ...], anchor: AnchorPlan, *, most_records: int = 1) -> Floats:
    """Return the weight of every column's counts in the first round; (columns,).

    Args:
        anchor: its first round's squared sensitivity is the sum of the squared weights.
        most_records: how many records of a unit count fully.
    """
    powers = np.array(cardinalities, dtype=np.float64) ** COLUMN_POWER
    weights: Floats = anchor.column_sensitivity / most_records * np.sqrt(powers / math.fsum(powers))
    return weights * (1.0 - 1e-12)  # rounding must leave the sum of squares below the plan's


def table_weights(
    group_counts: tuple[int, ...],
    *,
    target_index: int | None,
    by_class: bool,
    pairs: tuple[Pair, ...] | None = None,
    squares: float | None = None,
    combinations: bool = False,
) -> dict[tuple[int, ...], float]:
    """Return the weight of every table of the second round, by its columns (without the class).

    Args:
        group_counts: groups of every column.
        by_class: whether counts are by class of the target.
        pairs: the counted pairs without the target; None for all.
        squares: the sum of the squared weights; None if they average one over all possible tables.
        combinations: whether one table of all columns is counted instead of pairs; its weight is as if all pairs were.
    """
    if combinations:
        return {tuple(range(len(group_counts))): math.sqrt((1.0 - 1e-12) * math.comb(len(group_counts), 2))}
    columns = [place for place in range(len(group_counts)) if not (by_class and place == target_index)]
    sizes = (1, 2) if by_class else (2,)
    possible = [table for size in sizes for table in itertools.combinations(columns, size)]
    chosen = None if pairs is None else frozenset(pairs)
    tables = [
        table
        for table in possible
        if chosen is None or len(table) == 1 or target_index in table or table in chosen
    ]
    favoured = None if by_class else target_index
    shares = [_share(table, group_counts, favoured) for table in tables]
    whole = len(possible) if squares is None else squares
    unit = (1.0 - 1e-12) * whole / math.fsum(shares) if tables else 0.0
    return {table: math.sqrt(unit * share) for table, share in zip(tables, shares, strict=True)}


def _share(table: tuple[int, ...], group_counts: tuple[int, ...], favoured: int | None) -> float:
    share = math.pow(math.prod(group_counts[column] for column in table), TABLE_POWER)
    return TARGET_WEIGHT * share if favoured in table else share


def counts_by_class(
    cardinalities: tuple[int, ...], target_index: int | None, *, declared_size: int, noise_std: float
) -> bool:
    """Decide by public facts whether pairs are counted by class of the target.

    Args:
        noise_std: standard deviation of the noise on a cell of a table of weight one.
    """
    if target_index is None or len(cardinalities) == 1:
        return False
    classes = cardinalities[target_index]
    noise_of_sums = noise_std * math.sqrt(classes)
    return classes <= MOST_CLASSES and declared_size / classes >= SIGNAL_PER_CLASS * noise_of_sums


def counts_combinations(cardinalities: tuple[int, ...]) -> bool:
    """Decide by cardinalities whether all combinations of the codes of three columns or more are counted instead of pairs.

    Both have the same sensitivity: one table with the squared weights of all pairs. A pair's counts are sums over the other columns.
    """
    if not 3 <= len(cardinalities) <= MOST_TOGETHER or math.prod(cardinalities) > MOST_GROUP_CELLS:  # noqa: PLR2004
        return False
    pairs = list(itertools.combinations(cardinalities, 2))
    summed = [math.prod(cardinalities) / (first * second) for first, second in pairs]
    return math.fsum(summed) / len(pairs) <= MOST_VARIANCE * len(pairs)


def counts_target_alone(
    columns: int,
    target_index: int | None,
    anchor: AnchorPlan,
    *,
    declared_size: int,
    most_records: int = 1,
) -> bool:
    """Decide by public facts whether only pairs with the target are counted: of all pairs, noise would leave nothing.

    Args:
        anchor: of the plan. One with a screening chooses its pairs by that.
        most_records: how many records of a unit count fully.
    """
    pairs = columns * (columns - 1) / 2
    if target_index is None or anchor.screening_sensitivity or anchor.combinations:
        return False
    if pairs < FEWEST_PAIRS_CHOSEN:
        return False
    noise = anchor.noise_multiplier * most_records * math.sqrt(pairs)
    return declared_size < SIGNAL_OF_ALL_PAIRS * noise


def smoothed_weight(signal: float) -> float:
    """Return the weight of a column's smoothed counts against the raw ones, between 0 and 1.

    Args:
        signal: mean count of a code, in standard deviations of its noise.
    """
    return 1.0 / (1.0 + (max(signal, 0.0) / RAW_FROM) ** 2)


def noise_of_tables(anchor: AnchorPlan, tables: float, *, most_records: int = 1) -> float:
    """Return the standard deviation of a cell's noise if `tables` tables share the second round evenly, in records.

    Args:
        tables: number of tables, at least one.
        most_records: how many records of a unit count fully.
    """
    return anchor.noise_std * most_records * math.sqrt(tables) / anchor.table_sensitivity


def groups_wanted(*, size: float, noise_std: float, columns: int, slices: int, ordered: bool = True) -> int:
    """Return the maximum number of groups of a column, by public facts or noisy counts.

    A cell of two columns of `g` even groups holds `n / g^2` records. `g` is chosen to make that a fixed
    multiple of the noise.

    Args:
        size: how many records count.
        noise_std: standard deviation of the noise on a cell of a table of weight one, in records.
        columns: number of columns of the table.
        slices: number of classes by which pairs are counted; 1 if they are not.
        ordered: whether neighbouring codes are alike, so that merging them loses little.
    """
    wanted = GROUPS_FACTOR * math.sqrt(size / noise_std)
    if not ordered:
        wanted = without_order(wanted)
    room = int(MOST_GROUP_CELLS / math.sqrt(slices)) // columns
    return max(FEWEST_GROUPS, min(round(wanted), room))


def without_order(groups: float) -> float:
    """Return the number of groups of a column without an order in place of that of one in order."""
    return groups * min(max(groups / ENOUGH_GROUPS, 1.0), MORE_WITHOUT_ORDER)
