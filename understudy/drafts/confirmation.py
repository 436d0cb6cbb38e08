"""Confirming a draft of a domain in a terminal: a person accepts or edits every value that was taken from the rows.

A mark is a key that a draft lists under ``_from_data``. Accepting a mark says that its value may be public. Accepted values stay accepted
when the person stops and resumes later: the file with the remaining marks is the whole state.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, Literal

from understudy.drafts.changes import (
    COMMAS,
    category_hints,
    change,
    ignore,
    known_column,
    quoted,
    unquoted,
)
from understudy.drafts.chosen_unit import size_sentence
from understudy.drafts.dependencies import (
    DURATION,
    MISSING_TOGETHER,
    ORDER,
    RULES,
    SKIPPED,
    columns_of,
    require_possible,
)
from understudy.drafts.marked_values import KINDS, Mark, marks_of
from understudy.errors import InputUnusable
from understudy.table_files import MARK

_MEANING: Final = {
    "unit": "The privacy unit: one row, or all rows that share a value of this column. If a person has several rows, name the column that identifies the person.",
    "size": "The number of people (or rows) that formulas use. It is public. A round number reveals less than the exact one.",
    "target": "The column that others will want to predict. Its relations with other columns are more accurate, at no cost. It may be none.",
    "file": "The format of the file, and the texts that mean a missing value.",
    "names": "The names of the columns. They are public.",
    "kinds": "The kind of each column. An ignored column is dropped on arrival and never stored.",
    "bounds": "The smallest and largest value. Declare the possible range, not the range of the rows: an upper bound of 107 reveals that somebody is 107. Values outside are clamped to the bound; wider bounds make bins coarser.",
    "words": "The words of a column. A rare word reveals that somebody has it: drop it, and it counts as 'other'. The whole code book of a catalogue reveals nothing.",
    "rules": "A relation that holds in every synthetic row: one column determines another, such as a code its label; the last column is the sum of the others; the first is at most the second; a number is the time between two dates; all columns are missing together; or a column is missing where another one has certain words. The pairs, and the computed column of a sum, become public. Drop the rule if other rows may break it.",
}
_LONG = 12
_FEW_PAIRS = 5
Ask = Callable[[str], str | None]
"""Asks a question; None at the end of the input."""
Say = Callable[[str], None]


class Quit(Exception):
    """The person stops; accepted values stay accepted."""


def walk(document: dict[str, Any], ask: Ask, say: Say) -> None:
    """Ask about all remaining marks.

    Raises:
        Quit: The person stops, or the input ends.
    """
    for kind in KINDS:
        require_possible(document)
        # A column may have been dropped meanwhile, with its other marks.
        while marks := [mark for mark in marks_of(document) if mark.kind == kind]:
            count = len({id(mark.holder) for mark in marks}) if kind == "rules" else len(marks)
            say(f"\n{kind.upper()} ({count} to confirm)")
            if kind in {"names", "kinds", "file"}:
                _ask_together(document, marks, ask, say)
            elif kind == "rules":
                _ask_about_rule(document, marks, ask, say)
            else:
                _ask_each(document, marks, ask, say)


def _ask_together(document: dict[str, Any], marks: Sequence[Mark], ask: Ask, say: Say) -> None:
    kind = marks[0].kind
    for column, group in groupby(marks, key=lambda mark: None if kind == "names" else mark.column):
        said = ", ".join(_shown(mark) for mark in group)
        say(f"  {said}" if column is None else f"  {column}: {said}")
    while True:
        match _answer(ask, "  [Enter] accept all, [o]ne by one, [?] explain, [q]uit: "):
            case "" | "a" | "y":
                for mark in marks:
                    mark.accept()
                return
            case "o":
                _ask_each(document, marks, ask, say)
                return
            case "?":
                say(f"  {_MEANING[kind]}")
            case _:
                say("  Answer with Enter, o, ? or q.")


def _ask_each(document: dict[str, Any], marks: Sequence[Mark], ask: Ask, say: Say) -> None:
    groups = [list(group) for _, group in groupby(marks, key=lambda mark: mark.column)]
    for place, group in enumerate(groups):
        if _ask_one(document, group, len(groups) - place, ask, say) == "all":
            for mark in (mark for rest in groups[place:] for mark in rest):
                mark.accept()
            return


def _ask_about_rule(document: dict[str, Any], marks: Sequence[Mark], ask: Ask, say: Say) -> None:
    """Ask about the first rule; the answer may drop others."""
    rule = marks[0].holder
    count = len({id(mark.holder) for mark in marks})
    say(f"  {shown_rule(rule, most=_FEW_PAIRS)}")
    *_, dependent = columns_of(rule)
    match _answer(
        ask,
        f"  [Enter] accept, [d]rop the rule, [i]gnore the column {dependent}, [a]ccept all {count} left, [?] explain, [q]uit: ",
    ):
        case "" | "y":
            for mark in marks:
                if mark.holder is rule:
                    mark.accept()
        case "a":
            for mark in marks:
                mark.accept()
        case "d":
            document[RULES].remove(rule)
        case "i":
            ignore(document, known_column(document, dependent))
        case "?":
            say(f"  {_MEANING['rules']}")
        case _:
            say("  Answer with Enter, d, i, a, ? or q.")
    require_possible(document)


def shown_rule(rule: Mapping[str, Any], *, most: int) -> str:
    """A drafted rule as text, with at most so many of its pairs."""
    if rule["kind"] == "sum":
        computed = f"; {rule['computed']} is computed" if "computed" in rule else ""
        return f"{' + '.join(map(str, rule['parts']))} = {rule['total']}{computed}"
    if rule["kind"] == DURATION:
        start, end, number = map(str, rule["columns"])
        return f"{number} is the number of whole {rule['unit']}s from {start} to {end}"
    if rule["kind"] == ORDER:
        return " is at most ".join(map(str, rule["columns"]))
    if rule["kind"] == MISSING_TOGETHER:
        return f"{', '.join(map(str, rule['columns']))}: all missing or none missing"
    if rule["kind"] == SKIPPED:
        by, column = map(str, rule["columns"])
        said = [
            f"{'never' if test is None else 'always'} where {by} is {_words(words)}"
            for words, test in rule["combinations"]
        ]
        return f"{column} is missing {', '.join(said)}"
    return f"{' determines '.join(map(str, rule['columns']))}: {_shown_pairs(rule['pairs'], most=most)}"


def _shown_pairs(pairs: Sequence[Sequence[object]], *, most: int) -> str:
    """The first pairs of a rule, as text."""
    shown = "; ".join(f"{_first(one)}: {_value(other)}" for one, other in pairs[:most])
    return f"{shown} ... ({len(pairs)} pairs)" if len(pairs) > most else shown


def _words(words: object) -> str:
    own = words.get("one_of") if isinstance(words, dict) else None
    listed = own if isinstance(own, list) else [words]
    return " or ".join("missing" if word is None else _value(word) for word in listed)


def _first(value: object) -> str:
    return f"{value['from']} to {value['to']}" if isinstance(value, dict) else _value(value)


def _ask_one(
    document: dict[str, Any], group: Sequence[Mark], left: int, ask: Ask, say: Say
) -> Literal["one", "all"]:
    """Ask about the marks of one place until they are accepted or their column is dropped."""
    column = group[0].holder if group[0].column is not None else None
    dropping = "" if column is None else "[i]gnore the column, "
    while group[0].holder.get(MARK) is not None:
        head = "" if column is None else f"{group[0].column} ({column['kind']}): "
        say(f"  {head}{', '.join(_shown(mark) for mark in group if mark.key in mark.holder)}")
        note = group[0].holder.get("_note") if column is not None else _why_unit(document, group)
        if note:
            say(f"    {note}")
        match _answer(
            ask, f"  [Enter] accept, [e]dit, {dropping}[a]ccept all {left} left, [?] explain, [q]uit: "
        ):
            case "" | "y":
                for mark in group:
                    mark.accept()
                break
            case "a":
                return "all"
            case "e":
                _edit(document, group, ask, say)
            case "i" if column is not None:
                ignore(document, column)
            case "?":
                say(f"  {_MEANING[group[0].kind]}")
            case _:
                say(f"  Answer with Enter, e, {'' if column is None else 'i, '}a, ? or q.")
    return "one"


def _why_unit(document: Mapping[str, Any], group: Sequence[Mark]) -> str:
    """The reasons for the proposed privacy unit, the document's note after its first sentence; or what the declared size counts."""
    if group[0].kind == "size" and "columns" in document:
        return size_sentence(document)
    return str(document.get("_note", "")).partition(". ")[2] if group[0].kind == "unit" else ""


def _edit(document: dict[str, Any], group: Sequence[Mark], ask: Ask, say: Say) -> None:
    for mark in group:
        if mark.key not in mark.holder:
            continue  # the kind was just changed, and the new kind has no such key
        value = mark.holder[mark.key]
        hint = f" ({COMMAS}; -WORD drops one)" if isinstance(value, list) else ""
        if mark.key == "categories":
            hint = f" ({'; '.join(category_hints(mark.holder))})"
        text = _answer(ask, f"    {mark.key} [{_value(value)}]{hint}: ")
        if not text:
            continue
        try:
            is_list = isinstance(value, list) or mark.key == "categories"
            change(document, mark, text if is_list else unquoted(text))
        except InputUnusable as error:
            say(f"    {error}")
            return
        if (
            mark.key in {"lower", "upper"}
            and mark.holder["kind"] == "numeric"
            and "bins" not in mark.holder
            and "edges" not in mark.holder
        ):
            width = (mark.holder["upper"] - mark.holder["lower"]) / 32
            say(
                f"    With 32 bins of {width:.3g}, a median may be off by that much, and values outside are clamped to the bound."
            )


def _answer(ask: Ask, question: str) -> str:
    answer = ask(question)
    if answer is None or answer.strip() == "q":
        raise Quit
    return answer.strip()


def _shown(mark: Mark) -> str:
    value = _value(mark.holder[mark.key])
    return value if mark.key == "name" or (mark.key == "kind" and mark.column) else f"{mark.key} {value}"


def _value(value: object) -> str:
    if isinstance(value, list):
        shown = ", ".join(quoted(item) for item in value[:_LONG])
        return f"{shown} ... ({len(value)} in all)" if len(value) > _LONG else shown
    if isinstance(value, bool | None):
        return {True: "yes", False: "no", None: "none"}[value]
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else quoted(value)
