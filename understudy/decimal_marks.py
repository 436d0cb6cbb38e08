"""Files whose numbers have a decimal comma, as spreadsheets write them in much of Europe."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from understudy.draft_advice import NUMBERS_LEFT_OUT
from understudy.draft_categories import NOTE
from understudy.table_facts import ODD, Facts
from understudy.written_numbers import Writing, writing_of

MARKS: Final = (".", ",")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:,[0-9]+)?")
_PLAINLY: Final = (
    "write them without signs and without points between thousands, 1234,50 for 1.234,50 or 1.234,50 €, as a spreadsheet does with cells"
    " of plain numbers, and draft that file"
)
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+")
"""A whole number with groups of thousands to one reader, and a fraction to another."""


def columns_with_commas(facts: Mapping[str, Facts]) -> list[str]:
    """The columns that are numbers if commas come before decimals.

    Args:
        facts: Of all columns, whose commas were read as they are.
    """
    return [
        name
        for name, fact in facts.items()
        if fact.readable and not fact.numeric and _are_numbers(fact.values)
    ]


def guess_mark(facts: Mapping[str, Facts], *, delimiter: str) -> str:
    """Whether a file's numbers have a decimal comma: some do, none has a point, and fields are not separated by commas.

    A field such as "1,2" of a file of commas may be two answers. Numbers that could all have groups of thousands say nothing.
    """
    has_points = any(fact.numeric and fact.decimals > 0 for fact in facts.values())
    if delimiter == "," or has_points:
        return "."
    says = any(
        "," in text and _NUMBER.fullmatch(text) and not _GROUPED.fullmatch(text)
        for name in columns_with_commas(facts)
        for text in facts[name].values
    )
    return "," if says else "."


def with_points(batch: Any, columns: Collection[str]) -> Any:  # noqa: ANN401 - an Arrow batch of text
    """A batch whose numbers in some columns have a decimal point."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = [
        pc.replace_substring(values, ",", ".") if name in columns else values
        for name, values in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def say_how_to_write(columns: Sequence[dict[str, Any]], facts: Mapping[str, Facts]) -> None:
    """Say of numbers with signs, or with points between thousands, how a file of decimal commas writes them.

    Args:
        columns: Of a draft; notes are changed.
        facts: What their rows hold.
    """
    for column in columns:
        if not str(column.get(NOTE, "")).startswith(NUMBERS_LEFT_OUT):
            continue
        writing = writing_of(facts[column["name"]].values)
        if isinstance(writing, Writing) and writing.remedy == "with_comma":
            column[NOTE] = f"{NUMBERS_LEFT_OUT}: {_PLAINLY}."


def _are_numbers(texts: Collection[str]) -> bool:
    """Whether texts are numbers, some with a comma, but for words that mean "missing" among numbers."""
    others = [text for text in texts if _NUMBER.fullmatch(text) is None]
    return (
        any("," in text for text in texts)
        and all(text.lower() in ODD for text in others)
        and len(others) < len(texts)
    )
