"""Noisy counts in a bundle, `counts.bin`: tables of counts with the standard deviation of their noise.

Tables of one column count its codes. Tables of several columns count groups of codes: for every column with more codes than
groups, `merged` lists the group of each code.

The first line is JSON (schema, codes of every modelled column, merged codes, step, and groups of tables that share a
standard deviation). The cells of all tables follow as little-endian int32 in the order of the line, each table in C order, in
units of `step` records. The step is at most a 512th of the smallest standard deviation, unless the declared size needs a
coarser one to fit into 32 bits; the error of rounding, `step / sqrt(12)`, is part of every stated standard error.
"""

import itertools
import json
import math
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from core.artifacts.errors import BundleInvalid
from core.canonical import canonical
from core.plan.counting_rules import MOST_TOGETHER

SCHEMA: Final = "understudy.counts/2"
_WITHOUT_GROUPS: Final = "understudy.counts/1"
"""Schema of bundles whose tables of several columns count codes."""
MOST_BYTES: Final = 2**26
"""Maximum size; larger counts are left out of the bundle."""
MOST_COLUMNS: Final = 3
"""Maximum number of columns of a question that one table answers."""
_MEMBERS: Final = {"schema", "cardinalities", "merged", "step", "groups"}
_CELL: Final = np.dtype("<i4")
_FINEST_BITS, _SIZE_BITS = 10, 28

Cells = npt.NDArray[np.int32]
Groups = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountTable:
    """Noisy counts of every code of a column, or of every combination of groups of codes of several columns.

    Attributes:
        columns: places among the modelled columns, increasing.
        noise_std: standard deviation of the independent Gaussian noise on every cell, in records.
        cells: int32 in units of the step, one axis per column.
    """

    columns: tuple[int, ...]
    noise_std: float
    cells: Cells


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedCounts:
    """All tables of one release.

    Attributes:
        step: the unit of the cells, in records.
        tables: the tables; no two have the same columns.
        groups: for every column, (codes,) the group of each code; its own index if the codes are not merged.
    """

    cardinalities: tuple[int, ...]
    step: float
    tables: tuple[CountTable, ...]
    groups: tuple[Groups, ...]

    def __post_init__(self) -> None:
        for of_codes, count, codes in zip(self.groups, self.group_counts, self.cardinalities, strict=True):
            # `merged` does not list such a column, so its readers take each code for its group.
            assert count < codes or np.array_equal(of_codes, np.arange(codes)), (
                "codes that are not merged have an order"
            )

    @property
    def group_counts(self) -> tuple[int, ...]:
        """Groups of every column."""
        return _counts_of(self.groups)

    @property
    def counted_pairs(self) -> tuple[int, int]:
        """How many pairs of columns were counted together, in a table of two columns or more, and how many there are."""
        counted = {pair for table in self.tables for pair in itertools.combinations(table.columns, 2)}
        return len(counted), math.comb(len(self.cardinalities), 2)

    def variance(self, table: CountTable) -> float:
        """Variance of every cell of a table in squared records: noise plus rounding to the step."""
        return table.noise_std**2 + self.step**2 / 12.0

    def to_bytes(self) -> bytes:
        """Return the member; the same counts always give the same bytes."""
        groups = [
            {"noise_std": noise_std, "tables": [list(table.columns) for table in tables]}
            for noise_std, tables in itertools.groupby(self.tables, key=lambda table: table.noise_std)
        ]
        merged = [
            None if count == codes else of_codes.tolist()
            for of_codes, count, codes in zip(self.groups, self.group_counts, self.cardinalities, strict=True)
        ]
        head = {
            "schema": SCHEMA, "cardinalities": list(self.cardinalities), "merged": merged, "step": self.step,
            "groups": groups,
        }  # fmt: skip
        line = canonical(head) + b"\n"
        return b"".join([line, *(table.cells.astype(_CELL).tobytes() for table in self.tables)])

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Read what `to_bytes` wrote; it may come from an untrusted source.

        Raises:
            BundleInvalid: it is anything else.
        """
        line, newline, body = content.partition(b"\n")
        try:
            head = json.loads(line)
        except (ValueError, RecursionError):
            head = None
        if len(content) > MOST_BYTES or not newline or not isinstance(head, dict):
            raise _invalid("is not a line of JSON with counts behind it")
        if head.get("schema") == _WITHOUT_GROUPS and "merged" not in head:
            codes = head.get("cardinalities")
            head |= {"schema": SCHEMA, "merged": [None] * len(codes) if isinstance(codes, list) else None}
        if head.keys() != _MEMBERS or head["schema"] != SCHEMA:
            raise _invalid("has a version this software does not know")
        cardinalities, step = head["cardinalities"], head["step"]
        if not _are_whole(cardinalities, least=1) or not _is_positive(step):
            raise _invalid("does not say what was counted")
        if sum(cardinalities) * _CELL.itemsize > len(body):  # before anything of that length is allocated
            raise _invalid("is cut off")
        groups = _merged(head["merged"], tuple(cardinalities))
        tables = _tables(head["groups"], tuple(cardinalities), _counts_of(groups), body)
        alone = {table.columns for table in tables}
        for column, (of_codes, codes) in enumerate(zip(groups, cardinalities, strict=True)):
            if int(of_codes.max()) + 1 < codes and (column,) not in alone:
                raise _invalid("merges codes that it does not count")
        return cls(
            cardinalities=tuple(cardinalities),
            step=step,
            tables=tables,
            groups=groups,
        )


def step_for(*, smallest_std: float, declared_size: int) -> float:
    """The unit in which counts are written: a power of two, fine relative to the noise, such that 32 bits hold eight times the size.

    Args:
        smallest_std: the smallest standard deviation of the noise, in records.
    """
    fine = math.floor(math.log2(smallest_std)) - _FINEST_BITS
    coarse = math.ceil(math.log2(declared_size)) - _SIZE_BITS
    return 2.0 ** max(fine, coarse)


def in_steps(counts: npt.NDArray[np.float64], step: float) -> Cells:
    """Round noisy counts to whole steps, clamped to 32 bits."""
    limits = np.iinfo(np.int32)
    whole: Cells = np.ascontiguousarray(np.clip(np.rint(counts / step), limits.min, limits.max)).astype(
        np.int32
    )
    return whole


def _counts_of(groups: tuple[Groups, ...]) -> tuple[int, ...]:
    return tuple(int(of_codes.max()) + 1 for of_codes in groups)


def _merged(merged: object, cardinalities: tuple[int, ...]) -> tuple[Groups, ...]:
    """The group of every code of every column."""
    if not isinstance(merged, list) or len(merged) != len(cardinalities):
        raise _invalid("does not say which codes were merged")
    groups: list[Groups] = []
    for listed, codes in zip(merged, cardinalities, strict=True):
        if listed is not None and not (
            _are_whole(listed, least=0)
            and len(listed) == codes
            and max(listed) + 1 == len(set(listed)) < codes
        ):
            raise _invalid("does not say which codes were merged")
        groups.append(np.arange(codes) if listed is None else np.array(listed, dtype=np.int64))
    return tuple(groups)


def _tables(
    groups: object, cardinalities: tuple[int, ...], merged: tuple[int, ...], body: bytes
) -> tuple[CountTable, ...]:
    tables: list[CountTable] = []
    start = 0
    for columns, noise_std in _listed(groups, len(cardinalities)):
        sizes = cardinalities if len(columns) == 1 else merged
        shape = tuple(sizes[column] for column in columns)
        end = start + math.prod(shape) * _CELL.itemsize
        if end > len(body):
            raise _invalid("is cut off")
        cells = np.frombuffer(body[start:end], dtype=_CELL).reshape(shape).astype(np.int32)
        tables.append(CountTable(columns=columns, noise_std=noise_std, cells=cells))
        start = end
    if start != len(body) or not tables:
        raise _invalid("holds other cells than its first line lists")
    if len({table.columns for table in tables}) != len(tables):
        raise _invalid("holds a table twice")
    return tuple(tables)


def _listed(groups: object, columns: int) -> list[tuple[tuple[int, ...], float]]:
    """Columns and standard deviation of every table that the first line lists."""
    found: list[tuple[tuple[int, ...], float]] = []
    for group in groups if isinstance(groups, list) else [None]:
        if not isinstance(group, dict) or group.keys() != {"noise_std", "tables"}:
            raise _invalid("does not say how its tables were counted")
        noise_std, listed = group["noise_std"], group["tables"]
        if not _is_positive(noise_std) or not isinstance(listed, list):
            raise _invalid("does not say how its tables were counted")
        for one in listed:
            known = _are_whole(one, least=0) and len(one) <= MOST_TOGETHER and one[-1] < columns
            if not known or any(a >= b for a, b in itertools.pairwise(one)):
                raise _invalid("lists a table of columns that are not there")
            found.append((tuple(one), noise_std))
    return found


def _are_whole(value: Any, *, least: int) -> bool:  # noqa: ANN401 - whatever JSON holds
    return (
        isinstance(value, list) and len(value) > 0 and all(type(one) is int and one >= least for one in value)
    )


def _is_positive(value: object) -> bool:
    # At most 1e100: its square must be finite.
    return isinstance(value, float) and 1e-100 < value < 1e100  # noqa: PLR2004


def _invalid(why: str) -> BundleInvalid:
    return BundleInvalid(f"counts.bin in the bundle {why}.")
