"""Warnings of a draft, and questions that only a person can answer."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import combinations, pairwise
from typing import Any, Final

from understudy.drafts.bounds import FEWEST_ROWS_OF_A_DRAFT
from understudy.drafts.categories import NOT_MODELLED, NOTE
from understudy.drafts.code_counts import codes_of
from understudy.drafts.dependencies import DURATION, MISSING_TOGETHER, ORDER, RULES, SKIPPED, leave_out
from understudy.drafts.facts import Facts
from understudy.drafts.persons import may_name_few
from understudy.drafts.words import names_free_text, target_rank
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.plain_text import one_line
from understudy.table_files import MARK

NUMBERS_LEFT_OUT: Final = "Numbers that are written as text are left out of every release"
"""Beginning of the note of such a column."""
WARNINGS: Final = "_warnings"
"""Key of a draft for warnings about the whole table."""


def few_rows(rows: int, *, of: str) -> list[str]:
    """Warn that a draft of few rows shows single rows; one line or none. `of` names what was counted."""
    if rows >= FEWEST_ROWS_OF_A_DRAFT:
        return []
    message = (
        f"WARNING: there are {rows} {of}. Below {FEWEST_ROWS_OF_A_DRAFT} the draft lists words of single rows, and bounds lie at the"
        " outermost rows: words, bounds and special values may belong to one person, and a release would show them. Declare"
        " publicly known values instead."
    )
    return [message]


def warnings_of(document: Mapping[str, Any]) -> list[str]:
    """Warn of too few rows, of words that may name persons, and of number columns that no release will have; one line each."""
    lost = [
        str(column["name"])
        for column in document["columns"]
        if str(column.get(NOTE, "")).startswith(NUMBERS_LEFT_OUT)
    ]
    said = [str(line) for line in document.get(WARNINGS) or ()]
    said += [
        f"WARNING: {column['name']}: called like what names a person, and its words would be public. If they name persons, give its kind as 'ignored'."
        for column in document["columns"]
        if column["kind"] == "categorical" and may_name_few(str(column["name"]))
    ]
    if lost:
        said.append(
            f"WARNING: {', '.join(lost)}: numbers that no release will have. Their notes say what to do."
        )
    return said


def rules_of(document: Mapping[str, Any], *, answer: str) -> list[str]:
    """The rules that a draft proposes, in one line or none; `answer` says how to drop them."""
    named = [
        _named(rule)
        for rule in document.get(RULES) or ()
        if rule.get("kind") in {"determines", "sum", ORDER, DURATION, MISSING_TOGETHER, SKIPPED}
        and MARK in rule
    ]
    if not named:
        return []
    return [f"Drafted rules, which hold in every synthetic row: {', '.join(named)}. To drop them: {answer}."]


def propose_target(columns: Sequence[dict[str, Any]]) -> str | None:
    """The proposed target: a column of few classes with a target's name, else a last column of two classes, or a number called "target"."""
    classes: dict[str, int] = {
        column["name"]: codes_of(column)
        for column in columns
        if column["kind"] in {"boolean", "categorical", "ordinal"}
    }
    ranked: dict[str, int] = {name: rank for name in classes if (rank := target_rank(name)) is not None}
    ranked |= {
        str(column["name"]): 0
        for column in columns
        if column["kind"] == "numeric" and target_rank(str(column["name"])) == 0
    }
    if ranked:
        return min(ranked, key=lambda name: ranked[name])
    last = str(columns[-1]["name"])
    return last if classes.get(last) == 2 else None  # noqa: PLR2004


def target_line(document: Mapping[str, Any]) -> str:
    """The target, or the benefit of naming one."""
    if (target := document.get("target")) is not None:
        return f"Target: {one_line(str(target))}."
    return "Target: none. If others will want to predict a column, name it as the target: its relations with other columns are more accurate, at no cost."


def _named(rule: Mapping[str, Any]) -> str:
    """A drafted rule in a few words."""
    if rule["kind"] == "sum":
        return f"{' + '.join(rule['parts'])} = {rule['total']}"
    names = rule["columns"]
    if rule["kind"] == DURATION:
        return f"{names[2]} = {rule['unit']}s from {names[0]} to {names[1]}"
    if rule["kind"] == SKIPPED:
        return f"{names[1]} missing by {names[0]}"
    if rule["kind"] != MISSING_TOGETHER:
        return (" <= " if rule["kind"] == ORDER else " determines ").join(names)
    further = f", ... ({len(names)} columns)" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{further} missing together"


def order_of_times(document: Mapping[str, Any], *, answer: str) -> list[str]:
    """Ask for the order of several date or time columns, in one line or none; `answer` says how to declare it."""
    times = [
        column
        for column in document.get("columns", ())
        if column["kind"] in {"date", "datetime"} and "difference" not in column
    ]
    # Columns whose bounds settle the order with every other column need no rule.
    open_pairs = [
        (one, other)
        for one, other in combinations(times, 2)
        if not _ends_before(one, other) and not _ends_before(other, one)
    ]
    names = [column["name"] for column in times if any(column in pair for pair in open_pairs)]
    has_order = any(
        rule.get("kind") == ORDER and not {*names}.isdisjoint(rule.get("columns", ()))
        for rule in document.get(RULES) or ()
    )
    if len(names) < 2 or has_order:  # noqa: PLR2004 - an order takes two
        return []
    named = f"If one of {', '.join(names)} is never after another"
    near = (
        "If one is always shortly after another, such as a discharge, declare its 'difference' instead (docs/domain.md#kinds-of-columns): an order"
        " keeps only the mean distance of dates in the same bin"
    )
    return [
        f"{named}, declare it, or synthetic rows will break the order: {answer} (docs/domain.md#rules-between-columns). {near}."
    ]


def _ends_before(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    last, first = _bound(one, "upper", -1), _bound(other, "lower", 0)
    if last is None or first is None:
        return False
    # A date ends with the last moment of its day.
    return last <= first if one["kind"] == other["kind"] else last.date() < first.date()


def _bound(column: Mapping[str, Any], key: str, place: int) -> datetime | None:
    """A declared bound, or the outermost edge; None if it is learnt or unreadable."""
    edges = column.get("edges")
    written = column.get(key, edges[place] if isinstance(edges, list) and edges else None)
    if column.get("bounds") == "learn" or not isinstance(written, str):
        return None
    try:
        return datetime.fromisoformat(written).replace(tzinfo=None)
    except ValueError:
        return None


def declare_orders(document: dict[str, Any], orders: Sequence[str]) -> None:
    """Add rules that columns are in order, each given as names from smallest to largest with commas between them.

    Raises:
        InputUnusable: A column is unknown, or an order has fewer than two.
    """
    kinds = {str(column["name"]): str(column["kind"]) for column in document.get("columns", ())}
    for order in orders:
        names = [name.strip() for name in order.split(",")]
        if len(names) < 2:  # noqa: PLR2004 - an order takes two
            message = "--in-order takes the names of columns, such as admitted,discharged"
            raise InputUnusable(message)
        for name in names:
            if name not in kinds:
                message = f"--in-order: there is no column {name!r}{suggestion(name, list(kinds))}"
                raise InputUnusable(message)
        found = {kinds[name] for name in names}
        if found != {"numeric"} and not found <= {"date", "datetime"}:
            kinds_text = ", ".join(f"{name} is {kinds[name]}" for name in names)
            message = f"--in-order takes numbers, or dates and times: {kinds_text}"
            raise InputUnusable(message)
        rules = document.setdefault("rules", [])
        for pair in pairwise(names):
            rule = {"kind": ORDER, "columns": list(pair)}
            if rule not in rules:
                rules.append(rule)


_CONSTANT: Final = (
    "Every row has the same value, so the column is left out: it would take budget without information. Add it to synthetic rows afterwards, or"
    " give its kind as 'keep'."
)
_FREE_TEXT: Final = (
    "The name and the length suggest free text: a sentence may be about one person, and must not become public. If its words are a"
    " public list, give its kind as 'keep'."
)
_FEWEST_ROWS: Final = 20
_NAMED: Final = 3
_WORDS_OF_A_SENTENCE: Final = 3


def leave_constants_and_free_text_out(
    columns: Sequence[dict[str, Any]], facts: Mapping[str, Facts], *, target: str | None
) -> None:
    """Draft constants and free text as ignored; the target stays."""
    for column in columns:
        name, fact = str(column["name"]), facts[str(column["name"])]
        if column["kind"] in NOT_MODELLED or name == target:
            continue
        if fact.rows >= _FEWEST_ROWS and fact.present == fact.rows and fact.distinct == 1:
            leave_out(column, _CONSTANT)
        elif column["kind"] == "categorical" and names_free_text(name) and _are_sentences(fact):
            leave_out(column, _FREE_TEXT)


def _are_sentences(fact: Facts) -> bool:
    """Whether most texts have several words."""
    long = sum(count for text, count in fact.values.items() if len(text.split()) >= _WORDS_OF_A_SENTENCE)
    return 2 * long > sum(fact.values.values())


def say_what_is_missing(column: dict[str, Any], fact: Facts) -> None:
    """Note the words of a column that are taken as missing, except the empty text."""
    if column["kind"] in NOT_MODELLED:
        return
    among_numbers = set(fact.odd or ()) - set(fact.censored) - set(fact.unknown) if fact.numeric else set()
    found = sorted((fact.null_texts | among_numbers) - {""})
    if found:
        listed = ", ".join(json.dumps(word, ensure_ascii=False) for word in found)
        column[NOTE] = f"{column[NOTE]} Taken as missing: {listed}."
