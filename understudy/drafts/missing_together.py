"""Rules for columns that are missing in the same rows, such as the results of a test that was not done."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from understudy.drafts.categories import NOTE
from understudy.drafts.dependencies import MISSING_TOGETHER, can_miss
from understudy.drafts.differences import values_of
from understudy.drafts.row_sample import RowSample
from understudy.table_files import MARK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]

_FEWEST_ROWS: Final = 30
"""Minimum rows with missing values, and minimum rows without; fewer may agree by chance."""

Column = dict[str, Any]


def propose_missing_together(
    columns: Sequence[Column],
    sample: RowSample,
    *,
    target: str | None,
    null_texts: Collection[str],
    most: int,
) -> list[Column]:
    """Draft a rule for each group of columns that are missing in the same rows, and note it at all but the first; the largest groups come first.

    No rule changes the target. `null_texts` mean "missing" in every column.
    """
    groups: dict[bytes, list[Column]] = {}
    for column in columns:
        if column["name"] == target or not can_miss(column):
            continue
        missing = missing_in(column, sample, null_texts)
        if min(missing.sum(), (~missing).sum()) >= _FEWEST_ROWS:
            groups.setdefault(missing.tobytes(), []).append(column)
    found = sorted((group for group in groups.values() if len(group) > 1), key=len, reverse=True)[:most]
    for first, *others in found:
        for column in others:
            column[NOTE] += (
                f" Missing in the same rows as {first['name']}, in every row that was compared. A rule is drafted, so that synthetic rows"
                " keep this: drop it if one may be missing without the other."
            )
    return [
        {"kind": MISSING_TOGETHER, "columns": [column["name"] for column in group], MARK: ["columns"]}
        for group in found
    ]


def missing_in(column: Mapping[str, Any], sample: RowSample, null_texts: Collection[str]) -> "Flags":
    """(rows,) whether a column is missing, by the rules of intake."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if column["kind"] in {"numeric", "date", "datetime"}:
        return np.isnan(values_of(dict(column), sample))
    words = sample.words(str(column["name"]))
    known = pa.array(sorted(null_texts), pa.string())
    return np.asarray(pc.or_(pc.is_null(words), pc.is_in(words, value_set=known)))
