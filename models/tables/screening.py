"""Screening: which pairs of columns are counted, chosen by a noisy distance of each from independence.

Most pairs of columns of a wide table carry no information, and counting them takes budget from the rest. After the first round one
number is released for every pair of columns, the sum over its cells of

    | records of the cell - records expected of independent columns |

where the expected ones are a product of the noisy shares of the first round. One record more moves one cell of each pair by one, so it
moves all distances of k columns together by at most `sqrt(k (k - 1) / 2)` (L2). A distance is between 0 and twice the number of
records however many cells there are, so noise that would hide a table of counts leaves it readable. Aydore and others (2021), McKenna
and others (2022, AIM) choose what to measure by the same distance.

Independent columns have a positive distance too: by chance, the mean absolute deviation of a Poisson distribution of each
cell, and because the expected records are made of noisy shares. What exceeds both measures what is lost if the pair is not counted.
"""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import gammaln

from core.plan.stages import AnchorPlan
from models.counting.memory import counter_of
from models.counting.question import Counter
from models.dp.count_noise import GRID, on_grid, without_low_bits
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import SCREENING, Pair, questions_of
from models.tables.code_groups import Groups, group_codes, sums_of_groups

RECORDS_PER_CELL = 8.0
"""Declared units per cell of a pair on average, so that chance does not hide dependence."""
FEWEST_GROUPS, MOST_GROUPS = 4, 64
MOST_CELLS = 2**25
"""Cells of all pairs together, which are held in memory at eight bytes each."""
MOST_EXPECTED = 2.0**32
"""Records that are expected in all, at most: distances are exact up to twice as many. Members of a federation may hand in counts of any
number of records, and integers that overflow or floats that round would let one record move a distance by more than one."""
_STREAM = 2**32 + 1

Floats = npt.NDArray[np.float64]


def pairs_of_columns(columns: int) -> list[Pair]:
    """Return all pairs, in the order of their distances."""
    return list(itertools.combinations(range(columns), 2))


def screening_groups(
    distributions: Sequence[Floats],
    *,
    size: float,
    ordered: Sequence[bool],
    alone: Sequence[Sequence[int]],
) -> tuple[Groups, ...]:
    """Merge the codes of every column for the distances.

    Args:
        distributions: of every column (codes,) noisy shares.
        size: how many records count.
        ordered: of every column, whether neighbouring codes are alike.
        alone: of every column, the codes that are merged with none.
    """
    pairs = max(len(distributions) * (len(distributions) - 1) // 2, 1)
    even = math.sqrt(size / RECORDS_PER_CELL)
    most = int(min(max(even, FEWEST_GROUPS), MOST_GROUPS, math.sqrt(MOST_CELLS / pairs)))
    return tuple(
        group_codes(distribution, most=max(most, 2), ordered=ordered[place], alone=alone[place])
        for place, distribution in enumerate(distributions)
    )


def exact_distances(
    records: PrivateTable | Counter, distributions: Sequence[Floats], groups: Sequence[Groups], *, size: float
) -> Floats:
    """Sum every pair's absolute differences from independence, exact on the grid. Private: only `noisy_distances` may read it.

    Args:
        distributions: of every column (codes,) noisy shares.
        size: records that are expected in all; of more than `MOST_EXPECTED`, so many.

    Returns:
        (pairs,) distances in records.

    Raises:
        ValueError: expected records are not finite.
    """
    counter = counter_of(records)
    pairs = pairs_of_columns(len(distributions))
    counted = counter.count(questions_of(pairs, counter, groups))
    merged = _of_groups(distributions, groups)
    expected = [_expected(pair, merged, min(size, MOST_EXPECTED)) for pair in pairs]
    if not all(np.isfinite(product).all() for product in expected):
        raise ValueError("the expected records are not numbers")
    distances = [
        int(np.abs(table - np.rint(product / GRID).astype(np.int64)).sum())
        for table, product in zip(counted, expected, strict=True)
    ]
    return np.multiply(distances, GRID, dtype=np.float64)


def noisy_distances(
    records: PrivateTable | Counter,
    distributions: Sequence[Floats],
    groups: Sequence[Groups],
    anchor: AnchorPlan,
    streams: KeyedStreams,
    *,
    size: float,
) -> Floats:
    """Release every pair's distance from independence with Gaussian noise; (pairs,) in records.

    Args:
        distributions: of every column (codes,) noisy shares.
        groups: of every column (codes,) the group of each code, chosen without reading private rows.
        size: records that are expected in all, likewise.

    Raises:
        ValueError: the plan has no screening.
    """
    if not anchor.screening_sensitivity:
        raise ValueError("the plan pays for no distances")
    counter = counter_of(records)
    exact = exact_distances(counter, distributions, groups, size=size)
    std = screening_std(anchor, len(exact), most_records=counter.most_records)
    streams.releases.exact(
        Purpose.ANCHOR_NOISE,
        SCREENING,
        ((torch.from_numpy(exact), std),),
        sensitivity=counter.most_records * math.sqrt(len(exact)) / std,
    )
    noisy: Floats = exact + on_grid(streams.normals(Purpose.ANCHOR_NOISE, _STREAM, len(exact)) * std)
    noisy = without_low_bits(noisy, std)
    streams.releases.noisy(Purpose.ANCHOR_NOISE, SCREENING, torch.from_numpy(noisy))
    return noisy


def screening_std(anchor: AnchorPlan, pairs: int, *, most_records: int = 1) -> float:
    """Return the standard deviation of the noise on a distance, in records.

    Args:
        pairs: how many distances there are.
        most_records: how many records of a unit count fully.
    """
    return anchor.noise_std * most_records * math.sqrt(pairs) / anchor.screening_sensitivity * (1 + 1e-12)


def shares_from_independence(
    distances: Floats,
    distributions: Sequence[Floats],
    groups: Sequence[Groups],
    *,
    size: float,
    errors: Floats,
    parts: Sequence[float] = (1.0,),
) -> Floats:
    """Estimate every pair's total variation distance from independence; (pairs,), from 0.

    Chance and errors of the noisy shares add to a distance nearly as to the length of a vector: what they explain is taken off
    the square.

    Args:
        distances: (pairs,) noisy distances in records; the sums of those of all owners.
        distributions: of every column (codes,) noisy shares.
        size: records that are expected in all.
        errors: (columns,) sums of the absolute errors of the shares of groups.
        parts: the share of every owner in the records.
    """
    pairs = pairs_of_columns(len(distributions))
    merged = _of_groups(distributions, groups)
    chance = np.array(
        [math.fsum(_chance(_expected(pair, merged, part * size)) for part in parts) for pair in pairs]
    )
    of_shares = size * np.array([errors[first] + errors[second] for first, second in pairs])
    squares = np.maximum(distances, 0.0) ** 2 - chance**2 - of_shares**2
    shares: Floats = np.sqrt(np.maximum(squares, 0.0)) / (2.0 * size)
    return shares


def spreads_of(distributions: Sequence[Floats], groups: Sequence[Groups]) -> Floats:
    """One less the sum of the squared shares of the groups of every column; (columns,)."""
    return np.array([1.0 - np.square(shares).sum() for shares in _of_groups(distributions, groups)])


def _of_groups(distributions: Sequence[Floats], groups: Sequence[Groups]) -> list[Floats]:
    """Shares of the groups of every column."""
    return [
        sums_of_groups(distribution, of_codes)
        for distribution, of_codes in zip(distributions, groups, strict=True)
    ]


def _expected(pair: Pair, merged: Sequence[Floats], size: float) -> Floats:
    """Records in every cell of two independent columns."""
    first, second = (merged[column] for column in pair)
    return size * np.outer(first, second)


def _chance(expected: Floats) -> float:
    """Sum of the mean absolute deviations of Poisson distributions with these means (Johnson, Kemp and Kotz, chapter 4)."""
    means = np.maximum(expected, 1e-12)
    whole = np.floor(means)
    return float(2.0 * np.exp((whole + 1.0) * np.log(means) - means - gammaln(whole + 1.0)).sum())
