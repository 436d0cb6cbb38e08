"""Reading rules between columns from the domain document; every error has a JSON pointer."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from core.plan.domain.columns.kinds import NumericColumn
from core.plan.domain.reading import Node
from core.plan.domain.rules.kinds import (
    DURATION_UNITS,
    AtMost,
    Columns,
    Combinations,
    Determines,
    Duration,
    ExactlyOne,
    NullTogether,
    Rule,
    Sum,
)
from core.plan.domain.rules.values import Vocabulary, read_value, read_value_set, refuse
from core.plan.near_names import nearest

MAXIMUM_RULES: Final = 128
MAXIMUM_ENTRIES: Final = 32767
"""Combinations, or pairs of a code book, of one rule."""
_FEWEST_COLUMNS: Final = 2
_COLUMNS_OF_A_DURATION: Final = 3
_OTHER: Final = "Name another column as 'computed'."


def rules_from_json(entries: list[object], columns: Columns) -> tuple[Rule, ...]:
    """Read "rules".

    Raises:
        DomainInvalid: an entry is wrong, or names values that its columns cannot have.
    """
    if len(entries) > MAXIMUM_RULES:
        refuse("/rules", f"A domain has at most {MAXIMUM_RULES} rules.", "too-many-rules")
    return tuple(rule_from_json(entry, f"/rules/{index}", columns) for index, entry in enumerate(entries))


def require_computable(rules: Sequence[Rule], columns: Columns, target: str | None) -> None:
    """Refuse what sums cannot compute from drawn rows, if one of them says what it computes.

    Rules without "computed" are as they always were.

    Raises:
        DomainInvalid: A computed column has a distribution to keep, or another rule uses it before it is computed.
    """
    _require_durations(rules, columns, target)
    if not any(isinstance(rule, Sum) and rule.computed is not None for rule in rules):
        return
    differences = {name: column.difference for name, column in columns.items() if column.difference}
    distant = differences.keys() | {difference.start for difference in differences.values()}
    determined = {rule.columns[-1] for rule in rules if isinstance(rule, Determines)}
    used: set[str] = set()
    for index, rule in enumerate(rules):
        if not isinstance(rule, Sum):
            continue
        computed, pointer = rule.computes, f"/rules/{index}"
        if rule.computed is not None:
            pointer += "/computed"
            if computed == target:
                refuse(
                    pointer,
                    "The target keeps the distribution that it was drawn with.",
                    "computed-target",
                    _OTHER,
                )
            if computed in distant:
                refuse(pointer, "A difference is declared of this column.", "computed-difference", _OTHER)
        if computed in determined:
            refuse(pointer, "A rule 'determines' computes this column too.", "computed-twice", _OTHER)
        if computed in used:
            refuse(
                pointer,
                "An earlier sum has this column, and would no longer hold once it is computed.",
                "computed-too-late",
                "Move this rule before the other one, or let one of them compute another column.",
            )
        used |= set(rule.columns)


def _require_durations(rules: Sequence[Rule], columns: Columns, target: str | None) -> None:
    """Refuse durations of which rows cannot have the number computed.

    Raises:
        DomainInvalid: The number has a distribution to keep, or another rule computes it.
    """
    distant = {name for name, column in columns.items() if column.difference}
    distant |= {column.difference.start for column in columns.values() if column.difference}
    computed = [rule.computes for rule in rules if isinstance(rule, Sum)]
    computed += [rule.columns[-1] for rule in rules if isinstance(rule, Determines | Duration)]
    for index, rule in enumerate(rules):
        if not isinstance(rule, Duration):
            continue
        number, pointer, remedy = rule.columns[-1], f"/rules/{index}/columns/2", "Leave the rule out."
        if number == target:
            refuse(
                pointer,
                "The target keeps the distribution that it was drawn with.",
                "computed-target",
                remedy,
            )
        if number in distant:
            refuse(pointer, "A difference is declared of this column.", "computed-difference", remedy)
        if computed.count(number) > 1:
            refuse(pointer, "Another rule computes this column too.", "computed-twice", remedy)


def rule_from_json(value: object, pointer: str, columns: Columns) -> Rule:
    """Read one entry of "rules".

    Raises:
        DomainInvalid: the entry is wrong, or names values that its columns cannot have.
    """
    node = Node(value, pointer)
    rule = _READERS[node.take_choice("kind", _READERS)](node, columns)
    node.finish()
    return rule


def _take_columns(node: Node, key: str, columns: Columns, *, most: int) -> tuple[str, ...]:
    names = node.take_texts(key)
    for index, name in enumerate(names):
        _require_modelled(node, f"{key}/{index}", name, columns)
    if not _FEWEST_COLUMNS <= len(names) <= most:
        wanted = f"at least {_FEWEST_COLUMNS}" if len(names) < _FEWEST_COLUMNS else f"at most {most}"
        wanted = f"{most}" if most == _FEWEST_COLUMNS else wanted
        node.refuse(f"'{key}' must name {wanted} columns.", "wrong-number-of-columns", key=key)
    return names


def _require_modelled(node: Node, key: str, name: str, columns: Columns) -> None:
    if name not in columns:
        near = nearest(name, columns)
        node.refuse(
            f"No modelled column has this name: '{name}'.",
            "unknown-column",
            key=key,
            remedy=(f"Did you mean '{near}'? " if near else "")
            + "Name a column that is neither ignored nor the privacy unit.",
        )


def _entries(node: Node, key: str) -> list[object]:
    entries = node.take_list(key)
    if not entries:
        node.refuse(f"'{key}' is empty.", "no-values", key=key, remedy="List at least one entry.")
    if len(entries) > MAXIMUM_ENTRIES:
        node.refuse(f"'{key}' has more than {MAXIMUM_ENTRIES} entries.", "rule-too-large", key=key)
    return entries


def _row(node: Node, entry: object, key: str, length: int) -> list[object]:
    if not isinstance(entry, list) or len(entry) != length:
        node.refuse(f"Each entry must be an array of {length}.", "wrong-number-of-values", key=key)
    return entry


def _combinations(kind: str) -> Callable[[Node, Columns], Rule]:
    def read(node: Node, columns: Columns) -> Rule:
        names = _take_columns(node, "columns", columns, most=16)
        known = [Vocabulary(columns[name]) for name in names]
        listed = []
        for index, entry in enumerate(_entries(node, "combinations")):
            place = f"combinations/{index}"
            tests = _row(node, entry, place, len(names))
            listed.append(
                tuple(
                    read_value_set(node.at(f"{place}/{number}"), test, own)
                    for number, (own, test) in enumerate(zip(known, tests, strict=True))
                )
            )
        return Combinations(kind=kind, columns=names, combinations=tuple(listed))

    return read


def _at_most(node: Node, columns: Columns) -> Rule:
    names = _take_columns(node, "columns", columns, most=2)
    kinds = {columns[name].kind for name in names}
    if kinds != {"numeric"} and not kinds <= {"date", "datetime"}:
        node.refuse(
            "Both columns must be numbers, or both dates or times.",
            "not-comparable",
            key="columns",
            remedy=f"Here {' and '.join(f'{name!r} is {columns[name].kind}' for name in names)}.",
        )
    return AtMost(columns=names)


def _sum(node: Node, columns: Columns) -> Rule:
    parts = _take_columns(node, "parts", columns, most=1000)
    total = node.take_text("total")
    _require_modelled(node, "total", total, columns)
    if total in parts:
        node.refuse("The total is also a part.", "duplicate-value", key="total")
    names = (*parts, total)
    if (other := next((name for name in names if columns[name].kind != "numeric"), None)) is not None:
        node.refuse(
            "All columns of a sum must be numbers.",
            "not-comparable",
            key="parts",
            remedy=f"Here '{other}' is {columns[other].kind}.",
        )
    tolerance = node.number(node.take("tolerance", 0), "tolerance")
    if tolerance < 0:
        node.refuse("'tolerance' must not be negative.", "out-of-range", key="tolerance")
    computed = node.take_text("computed") if node.has("computed") else None
    if computed is not None and computed not in names:
        node.refuse(
            "'computed' must name one of the parts, or the total.",
            "unknown-column",
            key="computed",
            remedy="Leave it out for the total.",
        )
    return Sum(columns=names, tolerance=tolerance, computed=computed)


def _duration(node: Node, columns: Columns) -> Rule:
    names = _take_columns(node, "columns", columns, most=_COLUMNS_OF_A_DURATION)
    unit = node.take_choice("unit", DURATION_UNITS)
    if len(names) < _COLUMNS_OF_A_DURATION:
        node.refuse(
            "'columns' must name three columns: two dates or times, and a number.",
            "wrong-number-of-columns",
            key="columns",
        )
    *times, number = (columns[name] for name in names)
    if any(column.kind not in {"date", "datetime"} for column in times) or not (
        isinstance(number, NumericColumn) and number.integer
    ):
        node.refuse(
            "The first two columns must be dates or times, and the third a whole number.",
            "not-comparable",
            key="columns",
        )
    if unit in {"second", "minute", "hour"} and any(column.kind == "date" for column in times):
        node.refuse(
            f"Durations in {unit}s are those between two times.",
            "not-comparable",
            key="unit",
            remedy="Choose 'day' or 'year', or declare both columns as times.",
        )
    return Duration(columns=names, unit=unit)


def _null_together(node: Node, columns: Columns) -> Rule:
    names = _take_columns(node, "columns", columns, most=MAXIMUM_ENTRIES)
    for index, name in enumerate(names):
        if columns[name].null_code is None:
            node.refuse(
                f"The column '{name}' is never missing in synthetic rows.",
                "null-has-no-place",
                key=f"columns/{index}",
                remedy="Give its 'null' the policy 'category', or leave it out of the rule.",
            )
    return NullTogether(columns=names)


def _exactly_one(node: Node, columns: Columns) -> Rule:
    names = _take_columns(node, "columns", columns, most=MAXIMUM_ENTRIES)
    if not node.has("set"):
        for name in names:
            if columns[name].kind != "boolean":
                node.refuse(
                    "'set' is missing: only of boolean columns it is known.",
                    "missing-key",
                    remedy="Add 'set', the value that counts as set, or an array with one for each column.",
                )
        return ExactlyOne(columns=names, set=(1.0,) * len(names))
    given = node.take("set")
    listed = _row(node, given, "set", len(names)) if isinstance(given, list) else [given] * len(names)
    found = []
    for index, (name, value) in enumerate(zip(names, listed, strict=True)):
        place = node.at(f"set/{index}" if isinstance(given, list) else "set")
        known = Vocabulary(columns[name])
        wanted = read_value(place, value, known)
        if wanted is None:
            refuse(place, "A missing value cannot count as set.", "bad-value")
        try:
            known.other_than(wanted)
        except LookupError:
            refuse(place, f"The column '{name}' has no other value than this one.", "no-values")
        found.append(wanted)
    return ExactlyOne(columns=names, set=tuple(found))


def _determines(node: Node, columns: Columns) -> Rule:
    names = _take_columns(node, "columns", columns, most=2)
    key, determined = (Vocabulary(columns[name]) for name in names)
    pairs, ends = [], []
    for index, entry in enumerate(_entries(node, "pairs")):
        place = f"pairs/{index}"
        one, other = _row(node, entry, place, 2)
        test = read_value_set(node.at(f"{place}/0"), one, key)
        pairs.append((test, read_value(node.at(f"{place}/1"), other, determined)))
        null, ranges = test.data(key.values.lower, key.values.upper)
        ends += [(low, high, index) for low, high in ranges] + (
            [(-math.inf, -math.inf, index)] if null else []
        )
    ends.sort()
    for (_low, high, _one), (low, _high, index) in pairwise(ends):
        if low <= high:
            node.refuse(
                "A value of the first column is listed twice.", "duplicate-value", key=f"pairs/{index}/0"
            )
    return Determines(columns=names, pairs=tuple(pairs))


_READERS: Final[dict[str, Callable[[Node, Columns], Rule]]] = {
    "impossible": _combinations("impossible"),
    "possible": _combinations("possible"),
    "at_most": _at_most,
    "duration": _duration,
    "sum": _sum,
    "null_together": _null_together,
    "exactly_one": _exactly_one,
    "determines": _determines,
}
