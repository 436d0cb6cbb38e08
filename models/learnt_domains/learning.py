"""Learning a table's domain: the only place where bounds, bins and categories come from private rows.

Every release is one vector of counts with Gaussian noise, on the public grid 2^-20. Everything derived from the noisy counts is
post-processing: bounds hold all values that are certain to occur (`models.learnt_domains.bounds`), bins follow the density and heavy values
become special values (`models.learnt_domains.bins`), categories are those above the plan's threshold. The result is an
ordinary domain in which nothing is left to be learnt.

How many records of a unit count follows from how many units have how many (`models.learnt_domains.records`); a unit adds 1 to one of
these counts. Else a unit with m records adds `floor(2^20 / m) / 2^20` of each to counts of numbers and times. To counts of categories it adds
`name_weight(m)` to each of its first m names, as many as the plan says, or 1 to its first record's, null included, where the plan says nothing.
So it moves every list of counts by at most 1 (L2).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from core.plan.crowding import with_checks
from core.plan.domain.cleaning.labels import LONGEST_CATEGORY_BYTES
from core.plan.domain.columns.kinds import (
    Column,
    LabelColumn,
    Modelled,
    NumericColumn,
    TimeColumn,
    UnitColumn,
)
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.learning import DECIMALS_WEIGHT, RECORDS, LearningPlan, LearningRelease, name_weight
from models.coding import coded_table
from models.dp.count_noise import GRID, on_grid, release_counts
from models.encoding import PrivateTable
from models.learnt_domains.bins import NoisyTree, fine_grid, with_bins
from models.learnt_domains.bounds import bound_cells, with_bounds
from models.learnt_domains.checked_bounds import checked_column, present_numbers
from models.learnt_domains.crowded_bins import check_grid
from models.learnt_domains.records import CountedPair, bins_of, chosen_bound
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import TrainingHost

DECIMALS = 7
"""Numbers of decimals that are distinguished: 0 to 6; the last count is of numbers with more."""
_HASHES = 2**62
"""Hashes of names by which a recorder compares two tables; no release depends on them."""

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Rows:
    """Private rows with their weights.

    Args:
        batches: with `storage_schema` of the declared domain.
        shares: (rows,) what each record adds to counts of numbers, in grid steps.
        unit: (rows,) the number of its unit.
        first: (rows,) whether it is its unit's first.
        unit_records: (units,) records of each unit.
    """

    batches: Sequence[pa.RecordBatch]
    shares: Floats
    unit: Integers
    first: npt.NDArray[np.bool_]
    unit_records: Integers

    def column(self, name: str, kind: pa.DataType) -> pa.ChunkedArray:
        return pa.chunked_array([batch.column(name) for batch in self.batches], kind)


def learn_domain(
    batches: Sequence[pa.RecordBatch],
    domain: TableDomain,
    plan: LearningPlan,
    streams: KeyedStreams,
    *,
    declared_size: int | None = None,
    pair: CountedPair | None = None,
) -> TableDomain:
    """Make the plan's releases, and return the domain with the learnt parts filled in.

    Args:
        batches: private rows with `storage_schema(domain)`.
        declared_size: units; asked for where declared bounds are checked.
        pair: what a bound on the records of a unit is chosen for (`models.learnt_domains.records`); None where none is learnt.

    Raises:
        ValueError: the plan is for another domain.
    """
    if plan.checks:
        domain = with_checks(domain, plan.checks)
    if tuple((one.column, one.learns) for one in plan.releases) != domain.learnt:
        raise ValueError("the plan learns another domain")
    rows, schema = _rows(batches, domain), storage_schema(domain)
    modelled: list[Modelled] = list(domain.modelled)
    bound: int | None = None
    for step, release in enumerate(plan.releases):
        if release.column is None:
            assert pair is not None, "a bound is chosen for tables of pairs"
            bound = _bound(rows, plan, streams, step, pair)
            continue
        column = modelled[release.column]
        values = rows.column(column.name, schema.field(column.name).type)
        if isinstance(column, LabelColumn):
            modelled[release.column] = _with_categories(column, values, rows, plan, streams, step)
        elif release.learns == "crowded":
            assert declared_size is not None, "checks know the declared size"
            grid = check_grid(column)
            numbers, shares = present_numbers(column, values.chunks, rows.shares)
            leaves = np.bincount(grid.leaf_of(numbers), weights=shares, minlength=grid.leaves).astype(
                np.float64
            )
            modelled[release.column] = checked_column(
                column, grid, leaves, plan, streams, step, declared_size=declared_size
            )
        elif release.learns == "bounds":
            modelled[release.column] = _with_bounds(column, values, rows, plan, streams, step)
        else:
            modelled[release.column] = _with_bins(column, values, rows, plan, streams, step)
    found = {column.name: column for column in modelled}
    columns: list[Column] = [
        UnitColumn(name=column.name, records=bound)
        if isinstance(column, UnitColumn) and column.learns_records
        else found.get(column.name, column)
        for column in domain.columns
    ]
    return replace(domain, columns=tuple(columns))


def learnt_records(
    batches: Sequence[pa.RecordBatch],
    domain: TableDomain,
    plan: LearningPlan | None,
    streams: KeyedStreams,
    host: TrainingHost,
    *,
    declared_size: int | None = None,
    bound: int | None = None,
    key: bytes = b"",
    pair: CountedPair | None = None,
) -> tuple[TableDomain, PrivateTable]:
    """Return the domain, learnt where the plan says so, and the records coded by it.

    The progress mark is durable before anything is learnt. A resumed job learns again, with the same noise.

    Args:
        batches: private rows with `storage_schema(domain)`.
        plan: what is learnt; None for nothing.
        declared_size: see `learn_domain`.
        bound: how many records of a unit are coded, where that is not learnt; learning reads all of them. None codes all.
        key: see `models.coding.coded_table`.
        pair: see `learn_domain`.
    """
    if plan is None:
        return domain, coded_table(batches, domain, bound=bound, key=key)
    host.advance(stage="measure", step=1, total=1)
    learnt = learn_domain(batches, domain, plan, streams, declared_size=declared_size, pair=pair)
    return learnt, coded_table(batches, learnt, bound=bound or learnt.records_per_unit, key=key)


def _rows(batches: Sequence[pa.RecordBatch], domain: TableDomain) -> _Rows:
    count = sum(batch.num_rows for batch in batches)
    if domain.privacy_unit is None:
        return _Rows(
            batches=batches,
            shares=np.full(count, 1 / GRID),
            unit=np.arange(count),
            first=np.ones(count, dtype=np.bool_),
            unit_records=np.ones(count, dtype=np.int64),
        )
    units = pa.chunked_array([batch.column(domain.privacy_unit) for batch in batches], pa.string())
    numbers = pc.dictionary_encode(units).combine_chunks().indices.to_numpy(zero_copy_only=False)
    unit_records = np.bincount(numbers)
    records = unit_records[numbers]
    first = np.zeros(count, dtype=np.bool_)
    first[np.unique(numbers, return_index=True)[1]] = True
    shares = np.floor((1.0 / GRID) / np.maximum(records, 1))
    return _Rows(
        batches=batches, shares=shares, unit=numbers.astype(np.int64), first=first, unit_records=unit_records
    )


def _counted(cells: Integers, shares: Floats, count: int) -> Floats:
    """Sums of the records' shares in every cell, in records: integers below 2^53 before scaling, so exact in any order."""
    sums: Floats = np.bincount(cells, weights=shares, minlength=count).astype(np.float64) * GRID
    return sums


def _released(
    exact: Floats, std: float, release: LearningRelease, streams: KeyedStreams, step: int
) -> Floats:
    return release_counts(exact, std, streams, Purpose.LEARNING_NOISE, step, sensitivity=release.sensitivity)


def _bound(rows: _Rows, plan: LearningPlan, streams: KeyedStreams, step: int, pair: CountedPair) -> int:
    """The bound on a unit's records, from a noisy histogram of records per unit."""
    release = plan.releases[step]
    std = plan.noise_multiplier * release.sensitivity
    counts = np.bincount(bins_of(rows.unit_records), minlength=len(RECORDS) + 1).astype(np.float64)
    noisy = _released(counts, std, release, streams, step)
    return chosen_bound(noisy, std, pair=pair)


def _with_bounds(
    column: NumericColumn | TimeColumn,
    values: pa.ChunkedArray,
    rows: _Rows,
    plan: LearningPlan,
    streams: KeyedStreams,
    step: int,
) -> NumericColumn | TimeColumn:
    release = plan.releases[step]
    std = plan.noise_multiplier * release.sensitivity
    numbers, shares = present_numbers(column, values.chunks, rows.shares)
    edges = bound_cells(column)
    cells = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
    noisy = _released(_counted(cells, shares, len(edges) - 1), std, release, streams, step)
    return with_bounds(column, edges, noisy, std)


def _with_bins(
    column: NumericColumn | TimeColumn,
    values: pa.ChunkedArray,
    rows: _Rows,
    plan: LearningPlan,
    streams: KeyedStreams,
    step: int,
) -> NumericColumn | TimeColumn:
    release = plan.releases[step]
    std = plan.noise_multiplier * release.sensitivity
    numbers, shares = present_numbers(column, values.chunks, rows.shares)
    grid = fine_grid(column)
    leaves = grid.leaf_of(numbers)
    counts = [_counted(leaves // size, shares, grid.leaves // size) for size in grid.sizes]
    weighs_decimals = isinstance(column, NumericColumn) and not column.integer and column.decimals is None
    if weighs_decimals:
        counts.append(DECIMALS_WEIGHT * _counted(_decimals(numbers), shares, DECIMALS + 1))
    noisy = _released(np.concatenate(counts), std, release, streams, step)
    pieces = np.split(noisy, np.cumsum([len(part) for part in counts])[:-1])
    decimals = pieces.pop() / DECIMALS_WEIGHT if weighs_decimals else None
    tree = NoisyTree(grid=grid, counts=tuple(pieces), std=std)
    return with_bins(column, tree, decimals=decimals, decimals_std=std / DECIMALS_WEIGHT)


def _decimals(numbers: Floats) -> Integers:
    """The decimals of each number's shortest notation; `DECIMALS` where there are more than are distinguished."""
    found = np.full(len(numbers), DECIMALS, dtype=np.int64)
    for digits in range(DECIMALS - 1, -1, -1):
        scaled = np.rint(numbers * 10.0**digits)
        found[(np.abs(scaled) <= 2.0**53) & (scaled / 10.0**digits == numbers)] = digits
    return found


def _with_categories(
    column: LabelColumn,
    values: pa.ChunkedArray,
    rows: _Rows,
    plan: LearningPlan,
    streams: KeyedStreams,
    step: int,
) -> LabelColumn:
    """Publish the names whose noisy count of units exceeds the threshold, the most frequent of them.

    Only names that units count for are noised, so their list is private: it passes the seam in a table of public shape.
    """
    release, std, threshold = plan.releases[step], plan.noise_multiplier, plan.threshold
    names, exact = _named(column, values, rows, plan.names_per_unit)
    streams.releases.exact(
        Purpose.LEARNING_NOISE,
        step,
        ((_by_hash(names, exact), std) for _ in range(1)),
        sensitivity=release.sensitivity / std,
    )
    noise = streams.normals(Purpose.LEARNING_NOISE, step, len(exact))
    noisy = exact + on_grid(noise * std)
    most = len(column.labels)
    above = [place for place in np.argsort(-noisy, kind="stable") if noisy[place] > threshold][:most]
    spelt, passed = _as_table([names[place] for place in above], noisy[above], most)
    streams.releases.noisy(Purpose.LEARNING_NOISE, step, torch.from_numpy(spelt), torch.from_numpy(passed))
    return replace(column, labels=_from_table(spelt, passed), learn=())


def _named(
    column: LabelColumn, values: pa.ChunkedArray, rows: _Rows, most: int | None
) -> tuple[list[str], Floats]:
    """The names that units count for, in the order of the alphabet, with what all units together add to each.

    A name that no unit counts for is not among them: noise could publish it, and a unit may have any number of such names.

    Args:
        most: how many names of a unit count; None for its first record's.
    """
    named = pc.fill_null(pc.not_equal(values, column.other), False)  # noqa: FBT003 - null is no name
    voting = named.to_numpy().astype(np.bool_)
    voting &= rows.first if most is None else True
    encoded = pc.dictionary_encode(values.filter(pa.array(voting))).combine_chunks()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    words = [str(word) for word in encoded.dictionary.to_pylist()]
    if most is None:
        counts = np.bincount(codes, minlength=len(words)).astype(np.float64)
    else:
        counts = _votes(rows.unit[voting], codes, len(words), most)
    found = sorted((word, count) for word, count in zip(words, counts.tolist(), strict=True) if count > 0)
    return [word for word, _ in found], np.asarray([count for _, count in found], dtype=np.float64)


def _votes(units: Integers, codes: Integers, count: int, most: int) -> Floats:
    """What all units together add to each name: a unit the same to each of its names, or to the first `most` of them.

    Which names of a unit count depends on its own records and their order alone.

    Args:
        units: (records,) the unit of each.
        codes: (records,) its name, below `count`.
    """
    pairs, at = np.unique(units * count + codes, return_index=True)
    unit, code = np.divmod(pairs, max(count, 1))
    order = np.lexsort((at, unit))  # by unit, and within it by the first record that has the name
    unit, code = unit[order], code[order]
    have = np.bincount(unit)
    place = np.arange(len(unit)) - (np.cumsum(have) - have)[unit]
    counts = place < most
    weights = np.array([0.0, *(name_weight(names) for names in range(1, most + 1))]) / GRID
    added = weights[np.minimum(have, most)][unit[counts]]
    # Whole numbers below 2^53, so exact in any order.
    sums: Floats = np.bincount(code[counts], weights=added, minlength=count).astype(np.float64) * GRID
    return sums


def _by_hash(names: Sequence[str], counts: Floats) -> torch.Tensor:
    """Counts of names in a vector of public length, nearly all of it zero.

    Hashes are long enough that no two names share one, whose weights would add up to more than either's.
    """
    places = [
        int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8).digest()) % _HASHES for name in names
    ]
    index = torch.tensor([places], dtype=torch.int64).reshape(1, len(places))
    found = torch.sparse_coo_tensor(index, torch.from_numpy(counts), (_HASHES,), check_invariants=True)
    return found.coalesce()


def _as_table(names: Sequence[str], counts: Floats, most: int) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Names and counts in a table of public shape: (most, 1 + longest) bytes, the first of which is the length."""
    spelt = np.zeros((most, 1 + LONGEST_CATEGORY_BYTES), dtype=np.uint8)
    passed = np.zeros(most)
    for place, name in enumerate(names):
        raw = name.encode()
        spelt[place, 0] = len(raw)
        spelt[place, 1 : 1 + len(raw)] = np.frombuffer(raw, np.uint8)
    passed[: len(counts)] = counts
    return spelt, passed


def _from_table(spelt: npt.NDArray[np.uint8], passed: Floats) -> tuple[str, ...]:
    """The names, in the order of the alphabet; a place without a count is empty."""
    raw = (spelt[place, 1 : 1 + spelt[place, 0]].tobytes() for place in np.flatnonzero(passed))
    return tuple(sorted(name.decode() for name in raw))
