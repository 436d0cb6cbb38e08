"""What numbers that are written for people become in a draft: columns of numbers with the declaration of how they are written."""

from collections.abc import Mapping
from typing import Any, Final

from understudy.draft_advice import NUMBERS_LEFT_OUT
from understudy.draft_categories import NOTE
from understudy.draft_numbers import numbers
from understudy.table_facts import Facts
from understudy.written_numbers import Writing

_DAY_MINUTES: Final = 1440
_HALF_DAY_MINUTES: Final = 720


def plain_batch(batch: Any, written: Mapping[str, Writing]) -> Any:  # noqa: ANN401 - an Arrow batch
    """A batch whose written numbers are plain text.

    Args:
        batch: The rows.
        written: How the numbers of some columns are written.
    """
    import pyarrow as pa

    if not written:
        return batch
    arrays = [
        written[name].plain(values) if name in written else values
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def written_kind(name: str, fact: Facts, writing: Writing, *, decimal_mark: str) -> dict[str, Any]:
    """Draft a column of written numbers.

    Args:
        name: Of the column.
        fact: What its rows hold, read as they are written.
        writing: How.
        decimal_mark: Of the file.

    Returns:
        Kind, format, bounds and bins, and a note.
    """
    if not fact.numeric:
        note = f"{NUMBERS_LEFT_OUT}: beside numbers there are several words. Leave those fields empty, or write numbers there, and draft it again."
        return {"kind": "ignored", NOTE: note}
    spans_a_day = (
        fact.upper - fact.lower >= _HALF_DAY_MINUTES and fact.lower >= 0 and fact.upper < _DAY_MINUTES
    )
    if writing.clock and spans_a_day:
        found: dict[str, Any] = {"kind": "numeric", "type": "integer", "lower": 0, "upper": _DAY_MINUTES - 1}
        found |= {"bins": 24, NOTE: "A bin for each hour."}
    else:
        found = numbers(name, fact)
    how = f"Written with {_signs(writing)}; synthetic rows have plain numbers."
    if writing.clock:
        how = "Hours and minutes are read as minutes, minutes and seconds as seconds: 17:45 is 1065, and synthetic rows have such numbers."
    return {
        **found,
        "number_format": writing.number_format(decimal_mark=decimal_mark),
        NOTE: f"{found[NOTE]} {how}",
    }


def _signs(writing: Writing) -> str:
    """What a person sees in the numbers that no plain number has."""
    parts = [f"“{affix}”" for affix in writing.affixes]
    if writing.thousands is not None:
        parts.append(f"“{writing.thousands}” between thousands")
    if writing.decimal_mark == ",":
        parts.append("“,” before decimals")
    return " and ".join(parts)
