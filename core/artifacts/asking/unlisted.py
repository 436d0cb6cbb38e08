"""The share of records whose value a release does not list, by its noisy counts. Post-processing, free.

Synthetic rows have one word for all such values. An error that compares shares of codes counts them as one value, so it can be near zero for a
column of which little is left; this share tells.
"""

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.result import Row
from core.plan.domain.columns import LabelColumn


def unlisted_shares(counts: OpenedCounts) -> dict[str, Row]:
    """By column with a word for values that are not listed, and with counts of its own: the share of the records that have it."""
    found = {}
    for place, column in enumerate(counts.domain.coded_columns):
        other = column.other_code if isinstance(column, LabelColumn) else None
        if other is not None and counts.estimates.are_counted((place,)):
            assert isinstance(column, LabelColumn), "only labels have such a word"
            answer = counts.answer(f"share of {_quoted(column.name)} = {_quoted(column.words[other])}")
            (found[column.name],) = answer.rows
    return found


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
