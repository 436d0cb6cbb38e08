"""Columns that a draft leaves out although they could be modelled: constants, and free text. The answer "keep" models them."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from understudy.draft_categories import NOTE
from understudy.draft_dependencies import ELSE
from understudy.draft_words import names_free_text
from understudy.table_facts import Facts
from understudy.table_files import MARK

_CONSTANT: Final = (
    "Every row has the same value, so it is left out: it would take budget and tell nothing. Add it to synthetic rows afterwards, or"
    " give its kind as 'keep'."
)
_FREE_TEXT: Final = (
    "Called like free text, and several words long: a sentence may be about one person, and must not become public. If its words are a"
    " list that everybody knows, give its kind as 'keep'."
)
_FEWEST_ROWS: Final = 20
_WORDS_OF_A_SENTENCE: Final = 3
_NOT_MODELLED: Final = frozenset({"ignored", "unit"})


def leave_constants_and_free_text_out(
    columns: Sequence[dict[str, Any]], facts: Mapping[str, Facts], *, target: str | None
) -> None:
    """Draft constants and free text as ignored; the target stays.

    Args:
        columns: Of the draft; changed.
        facts: What their rows hold.
        target: Name of the column to be predicted.
    """
    for column in columns:
        name, fact = str(column["name"]), facts[str(column["name"])]
        if column["kind"] in _NOT_MODELLED or name == target:
            continue
        if _is_constant(fact):
            note = _CONSTANT
        elif column["kind"] == "categorical" and names_free_text(name) and _are_sentences(fact):
            note = _FREE_TEXT
        else:
            continue
        otherwise = {key: value for key, value in column.items() if key != "name"}
        column.clear()
        column |= {"name": name, "kind": "ignored", NOTE: note, MARK: ["name", "kind"], ELSE: otherwise}


def _is_constant(fact: Facts) -> bool:
    return fact.rows >= _FEWEST_ROWS and fact.present == fact.rows and fact.distinct == 1


def _are_sentences(fact: Facts) -> bool:
    """Whether most texts have several words."""
    long = sum(count for text, count in fact.values.items() if len(text.split()) >= _WORDS_OF_A_SENTENCE)
    return 2 * long > sum(fact.values.values())
