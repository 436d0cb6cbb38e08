"""Redundant columns of a table: copies and fixed multiples of other columns, and functional dependencies between two columns.

Rows are compared in one pass and not kept. The first batch refutes nearly all pairs of columns, so the remaining pairs cost little more than
reading the file. A person decides whether a pattern of these rows is a law of the subject (`understudy.drafts.dependencies`).
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.facts import NULLS, is_readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int32]
    Floats = NDArray[np.float64]

MOST_DETERMINING: Final = 1000
"""Maximum distinct values of a determinant; columns with more are skipped."""
_FIRST_LOOK: Final = 1024
_NO_CODE: Final = -1
_UNMET: Final = -2
_CLOSE: Final = 1e-9
"""Maximum relative difference between a number and a multiple: rounding of double precision, not of cents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A column that equals another one times a constant in every row.

    Attributes:
        name: Name of the later column.
        of: Name of the earlier column.
        factor: The constant; 1 for equal columns, words and dates included.
    """

    name: str
    of: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """A functional dependency: one column determines another one in every row where the determinant is present.

    Attributes:
        determinant: Name of the determining column.
        dependent: Name of the determined column.
        images: The dependent's value for each value of the determinant, as text; None if it is missing.
    """

    determinant: str
    dependent: str
    images: Mapping[str, str | None]


@dataclass(slots=True)
class _Coded:
    """The distinct texts of one column, numbered by first occurrence."""

    places: dict[str | None, int] = field(default_factory=dict)

    def places_of(self, values: Any) -> "Places | None":  # noqa: ANN401 - an Arrow array; pyarrow is imported lazily
        """Number the values of a batch, -1 for missing values; None if there are too many distinct values."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_dictionary(values.type):
            # Text views, as in polars, cannot be dictionary-encoded.
            is_view = pa.types.is_string_view(values.type)
            values = (values.cast(pa.string()) if is_view else values).dictionary_encode()
        if len(values.dictionary) > 2 * MOST_DETERMINING:
            return None
        texts = pc.utf8_trim_whitespace(values.dictionary.cast(pa.string())).to_pylist()
        known = np.array(
            [
                _NO_CODE if text is None or text in NULLS else self.places.setdefault(text, len(self.places))
                for text in texts
            ]
            or [_NO_CODE],
            dtype=np.int32,
        )
        if len(self.places) > MOST_DETERMINING:
            return None
        indices = pc.fill_null(values.indices.cast(pa.int32()), len(known))
        codes: Places = np.append(known, np.int32(_NO_CODE))[np.asarray(indices)]
        return codes

    @property
    def texts(self) -> list[str | None]:
        """The texts, by number."""
        return list(self.places)


class DependencySearch:
    """Searches a table batch by batch."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._coded: dict[str, _Coded] = {}
        self._determined: dict[str, dict[str, Places | None]] = {}
        """For each column the columns that it may still determine, with the image of each code."""
        self._groups: list[list[str]] = []
        """Groups of columns that are still multiples of each other."""
        self._scales: dict[str, float] = {}

    def add(self, batch: Any) -> None:  # noqa: ANN401 - an Arrow batch
        """Take in the next rows."""
        if batch.num_rows == 0:
            return
        is_first = not self._names
        if is_first:
            self._names = [name for name in batch.schema.names if _is_compared(batch.schema.field(name).type)]
            self._coded = {name: _Coded() for name in self._names}
        self._look_for_copies(batch, is_first=is_first)
        needed = (
            set(self._coded)
            if is_first
            else {
                *self._determined,
                *(name for dependents in self._determined.values() for name in dependents),
            }
        )
        codes: dict[str, Places] = {}
        for name in self._names:
            if name in needed and (found := self._coded[name].places_of(batch.column(name))) is not None:
                codes[name] = found
        if is_first:
            self._determined = _first_pairs(codes)
        self._compare(codes)

    def dependencies(self) -> list[Dependency]:
        """All functional dependencies between two columns, except on constant columns."""
        return [
            Dependency(determinant=by, dependent=name, images=self._images(by, name, codes))
            for by, dependents in self._determined.items()
            for name, codes in dependents.items()
            if codes is not None and len(self._coded[name].places) > 1
        ]

    def copies(self) -> list[Copy]:
        """Columns that are multiples of an earlier column."""
        return [
            Copy(name=name, of=group[0], factor=self._scales[name] / self._scales[group[0]])
            for group in self._groups
            for name in group[1:]
        ]

    def _images(self, by: str, name: str, codes: "Places") -> dict[str, str | None]:
        texts = self._coded[name].texts
        return {
            str(one): None if codes[place] == _NO_CODE else texts[codes[place]]
            for place, one in enumerate(self._coded[by].texts)
            if place < len(codes) and codes[place] != _UNMET
        }

    def _compare(self, codes: Mapping[str, "Places"]) -> None:
        """Drop the pairs that this batch refutes, alone or with earlier batches."""
        import numpy as np

        constant = {name for name, values in codes.items() if not values.any()}
        for by in list(self._determined):
            if by not in codes:
                del self._determined[by]
                continue
            firsts, rows = np.unique(codes[by], return_index=True)
            known = firsts != _NO_CODE
            present = codes[by] != _NO_CODE
            firsts, rows = firsts[known], rows[known]
            row_of = np.zeros(len(self._coded[by].places), dtype=np.int64)
            row_of[firsts] = rows
            places = row_of[codes[by][present]]
            for name in list(self._determined[by]):
                if name not in codes:
                    del self._determined[by][name]
                    continue
                values = codes[name]
                if name not in constant and not np.array_equal(values[places], values[present]):
                    del self._determined[by][name]
                    continue
                kept = _joined(self._determined[by][name], firsts, values[rows], len(row_of))
                if kept is None:
                    del self._determined[by][name]
                else:
                    self._determined[by][name] = kept

    def _look_for_copies(self, batch: Any, *, is_first: bool) -> None:  # noqa: ANN401
        """Split the groups by the rows of a batch. Some rows of the first batch come first, because they separate most columns."""
        if is_first:
            values = {name: _comparable(batch.column(name)) for name in self._names}
            # A column that is constant in the first rows is a multiple of any column.
            self._groups = [[name for name in self._names if _varies(values[name])]]
            self._scales = {name: _scale(values[name]) for name in self._groups[0]}
            rows = _evenly(batch.num_rows)
            self._split({name: _at(values[name], rows) for name in self._groups[0]})
        else:
            values = {name: _comparable(batch.column(name)) for group in self._groups for name in group}
        self._split(values)

    def _split(self, values: Mapping[str, Any]) -> None:
        split: list[list[str]] = []
        for group in self._groups:
            parts: dict[object, list[list[str]]] = defaultdict(list)
            for name in group:
                alike = parts[_signature(values[name], self._scales[name])]
                for part in alike:
                    if self._are_multiples(part[0], values[part[0]], name, values[name]):
                        part.append(name)
                        break
                else:
                    alike.append([name])
            split += [part for alike in parts.values() for part in alike if len(part) > 1]
        self._groups = split

    def _are_multiples(self, one: str, ones: Any, other: str, others: Any) -> bool:  # noqa: ANN401
        import numpy as np

        if isinstance(ones, np.ndarray) and isinstance(others, np.ndarray):
            with np.errstate(over="ignore", invalid="ignore"):  # files hold numbers of any size
                left, right = ones * self._scales[other], others * self._scales[one]
                return bool(np.allclose(left, right, rtol=_CLOSE, atol=0, equal_nan=True))
        return (
            not isinstance(ones, np.ndarray)
            and not isinstance(others, np.ndarray)
            and bool(ones.equals(others))
        )


def _is_compared(kind: Any) -> bool:  # noqa: ANN401
    """Whether intake reads values of a type, including dictionary types."""
    import pyarrow as pa

    return is_readable(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _joined(before: "Places | None", firsts: "Places", images: "Places", count: int) -> "Places | None":
    """The image of each code after one more batch; None if a code has two images."""
    import numpy as np

    kept = np.full(count, _UNMET, dtype=np.int32)
    if before is not None:
        kept[: len(before)] = before
    earlier = kept[firsts]
    if ((earlier != _UNMET) & (earlier != images)).any():
        return None
    kept[firsts] = images
    return kept


def _first_pairs(codes: Mapping[str, "Places"]) -> "dict[str, dict[str, Places | None]]":
    """Pairs that a sample of the first batch does not refute."""
    import numpy as np

    names = list(codes)
    if not names:
        return {}
    every = np.stack([codes[name] for name in names])
    every = every[:, _evenly(every.shape[1])]
    found: dict[str, dict[str, Places | None]] = {}
    for place, name in enumerate(names):
        present = every[place] != _NO_CODE
        own = every[:, present]
        if own.shape[1] == 0:
            continue
        _, first, inverse = np.unique(own[place], return_index=True, return_inverse=True)
        is_determined = (own[:, first[inverse]] == own).all(axis=1)
        found[name] = {
            other: None for other, holds in zip(names, is_determined, strict=True) if holds and other != name
        }
    return found


def _evenly(rows: int) -> "NDArray[np.int64]":
    """Row numbers of a sample, spread evenly over a batch."""
    import numpy as np

    return np.unique(np.linspace(0, rows - 1, min(rows, _FIRST_LOOK)).astype(np.int64))


def _at(values: Any, rows: "NDArray[np.int64]") -> Any:  # noqa: ANN401
    """Some of the values that `_comparable` returned."""
    import numpy as np
    import pyarrow as pa

    return values[rows] if isinstance(values, np.ndarray) else values.take(pa.array(rows))


def _comparable(values: Any) -> Any:  # noqa: ANN401
    """Numbers as float64 with NaN for missing ones; other values as Arrow text."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.dictionary.cast(pa.string()).take(values.indices)
    if pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        return np.asarray(pc.fill_null(values.cast(pa.float64(), safe=False), float("nan")))
    bare = pc.utf8_trim_whitespace(values.cast(pa.string()))
    bare = pc.if_else(pc.is_in(bare, value_set=pa.array(sorted(NULLS))), None, bare)
    try:
        return np.asarray(pc.fill_null(pc.cast(bare, pa.float64()), float("nan")))
    except pa.ArrowInvalid:
        return bare


def _varies(values: Any) -> bool:  # noqa: ANN401
    """Whether there are at least two distinct values."""
    import numpy as np
    import pyarrow.compute as pc

    if isinstance(values, np.ndarray):
        known = values[~np.isnan(values)]
        return bool(len(known)) and bool((known != known[0]).any())
    return len(pc.unique(values.drop_null())) > 1


def _scale(values: Any) -> float:  # noqa: ANN401
    """The first number that is neither missing nor 0; 1 for words."""
    import numpy as np

    if not isinstance(values, np.ndarray):
        return 1.0
    known = values[np.isfinite(values) & (values != 0)]
    return float(known[0]) if len(known) else 1.0


def _signature(values: Any, scale: float) -> object:  # noqa: ANN401
    """A key that is equal for multiples and rarely for others, so that few pairs are compared in full."""
    import numpy as np

    if not isinstance(values, np.ndarray):
        return len(values), str(values[0]), str(values[len(values) // 2])
    with np.errstate(over="ignore", under="ignore"):
        middle = values[len(values) // 2] / scale
    return np.isnan(values).sum(), (values == 0).sum(), "nan" if np.isnan(middle) else f"{middle:.3e}"
