"""Bounded-memory sample: every row of a short table, every 2nd, 4th ... of longer ones."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.date_forms import read_moments
from understudy.drafts.facts import NULLS, is_readable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_ROWS: Final = 2**16
_MOST_CELLS: Final = 2**21


class RowSample:
    """Collects a sample batch by batch."""

    def __init__(self) -> None:
        self._batches: list[Any] = []
        self._step = 1
        self._seen = 0

    def add(self, batch: Any) -> None:  # noqa: ANN401 - an Arrow batch; pyarrow is imported lazily
        """Take in the next rows."""
        first = -self._seen % self._step
        self._seen += batch.num_rows
        kept = _every(batch, first, self._step)
        if kept.num_columns:
            self._batches.append(kept)
        most = min(_MOST_ROWS, _MOST_CELLS // max(1, batch.num_columns))
        while sum(kept.num_rows for kept in self._batches) > most:
            self._halve()

    def _halve(self) -> None:
        """Keep the rows with numbers that are multiples of twice the step."""
        self._step *= 2
        first, kept = 0, []
        for batch in self._batches:
            kept.append(_every(batch, first, 2))
            first = (first + batch.num_rows) % 2
        self._batches = kept

    def numbers(self, name: str) -> "Floats":
        """The numbers of a column; NaN for missing values and words."""
        import pyarrow as pa
        import pyarrow.compute as pc

        parts = []
        for texts in self._texts(name):
            is_number = pc.match_substring_regex(
                texts, r"^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$"
            )
            parts.append(_known(pc.cast(pc.if_else(is_number, texts, None), pa.float64())))
        return _joined(parts)

    def words(self, name: str) -> Any:  # noqa: ANN401 - an Arrow array
        """The texts of a column, null for missing values."""
        import pyarrow as pa

        return pa.chunked_array(self._texts(name), pa.string()).combine_chunks()

    def seconds(self, name: str, form: str | None, *, is_date: bool) -> "Floats":
        """Seconds since 1970 of a column's dates or times in a format of strptime, or else in ISO 8601; NaN for missing values."""
        import pyarrow as pa

        form = form or ("date" if is_date else "datetime")
        return _joined(
            [
                _known(read_moments(texts, form).cast(pa.int64()).cast(pa.float64()))
                for texts in self._texts(name)
            ]
        )

    def owners(self, name: str) -> Any:  # noqa: ANN401
        """A number for each row, equal for rows of the same privacy unit."""
        import numpy as np

        return np.asarray(self.words(name).dictionary_encode().indices.fill_null(-1))

    def _texts(self, name: str) -> Sequence[Any]:
        """The texts of a column without outer blanks, null for texts that mean "missing"."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = []
        for batch in self._batches:
            bare = pc.utf8_trim_whitespace(batch.column(name).cast(pa.string()))
            found.append(pc.if_else(pc.is_in(bare, value_set=pa.array(NULLS)), None, bare))
        return found


def _every(batch: Any, first: int, step: int) -> Any:  # noqa: ANN401
    """Every n-th row of a batch, copied because a slice would keep the whole batch. Columns that intake does not read are left out."""
    import numpy as np
    import pyarrow as pa

    rows = pa.array(np.arange(first, batch.num_rows, step))
    kept = {}
    for name, values in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_dictionary(values.type):
            # The dictionary of a polars column holds text views, which cannot be taken from it.
            if is_readable(values.type.value_type):
                kept[name] = values.dictionary.cast(pa.string()).take(values.indices.take(rows))
        elif is_readable(values.type):
            is_view = pa.types.is_string_view(values.type)
            kept[name] = (values.cast(pa.string()) if is_view else values).take(rows)
    return pa.RecordBatch.from_pydict(kept)


def _known(values: Any) -> "Floats":  # noqa: ANN401
    """An Arrow array as floats, NaN for nulls."""
    import numpy as np
    import pyarrow.compute as pc

    return np.asarray(pc.fill_null(values, float("nan")), dtype=np.float64)


def _joined(parts: Sequence["Floats"]) -> "Floats":
    import numpy as np

    return np.concatenate([np.zeros(0), *parts])
