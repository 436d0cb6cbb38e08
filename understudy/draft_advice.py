"""What a person knows and a draft cannot, and what they should not miss in it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from understudy.draft_categories import NOTE
from understudy.draft_dependencies import RULES
from understudy.errors import InputUnusable
from understudy.near_names import suggestion
from understudy.table_files import MARK

NUMBERS_LEFT_OUT: Final = "Numbers that are written as text are left out of every release"
"""How the note of such a column begins."""


def warnings_of(document: Mapping[str, Any]) -> list[str]:
    """Say which columns of numbers no release will have, in one line or none.

    Args:
        document: A draft with its notes.
    """
    lost = [
        str(column["name"])
        for column in document["columns"]
        if str(column.get(NOTE, "")).startswith(NUMBERS_LEFT_OUT)
    ]
    return (
        [f"WARNING: {', '.join(lost)}: numbers that no release will have. See there what to do."]
        if lost
        else []
    )


def rules_of(document: Mapping[str, Any], *, answer: str) -> list[str]:
    """Say which functional dependencies a draft proposes as rules, in one line or none.

    Args:
        document: A draft.
        answer: How its rules are dropped.
    """
    named = [
        " determines ".join(rule["columns"])
        for rule in document.get(RULES) or ()
        if rule.get("kind") == "determines" and MARK in rule
    ]
    if not named:
        return []
    return [f"Drafted rules, which every synthetic row keeps: {', '.join(named)}. To drop them: {answer}."]


def order_of_times(document: Mapping[str, Any], *, answer: str) -> list[str]:
    """Ask which of several dates or times comes first, in one line or none.

    Args:
        document: A draft, or a confirmed domain.
        answer: How it is written.
    """
    names = [
        column["name"]
        for column in document.get("columns", ())
        if column["kind"] in {"date", "datetime"} and "difference" not in column
    ]
    has_order = any(rule.get("kind") == "at_most" for rule in document.get("rules") or ())
    if len(names) < 2 or has_order:  # noqa: PLR2004 - an order takes two
        return []
    named = f"If one of {', '.join(names)} is never after another"
    near = (
        "If one is always shortly after another, such as a discharge, declare its 'difference' instead (docs/domain.md#kinds-of-columns): of the"
        " distance of dates that share a bin an order keeps the mean alone"
    )
    return [
        f"{named}, declare it, or synthetic rows mix their order: {answer} (docs/domain.md#rules-between-columns). {near}."
    ]


def declare_orders(document: dict[str, Any], orders: Sequence[str]) -> None:
    """Add the rules that columns are in an order.

    Args:
        document: A draft, or a confirmed domain; it is changed.
        orders: Each the names of columns, from the smallest on, with commas between.

    Raises:
        InputUnusable: There is no such column, or fewer than two.
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
            told = ", ".join(f"{name} is {kinds[name]}" for name in names)
            message = f"--in-order takes numbers, or dates and times: {told}"
            raise InputUnusable(message)
        rules = document.setdefault("rules", [])
        for pair in pairwise(names):
            rule = {"kind": "at_most", "columns": list(pair)}
            if rule not in rules:
                rules.append(rule)
