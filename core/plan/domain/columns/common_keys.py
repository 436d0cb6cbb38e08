"""Keys that several kinds of columns have: what is learnt, and missing values."""

from collections.abc import Callable
from typing import Final

from core.plan.domain.columns.kinds import Learnt, NullPolicy
from core.plan.domain.reading import Node

MOST_BINS_OR_LEARNT: Final = 32767
"""Bins of a number or time, and categories that may be learnt of one column."""
LEARN: Final = "learn"
"""Value in a document for bounds, bins or categories that training learns for a charge (docs/domain.md)."""


def null_policy(node: Node, read_value: Callable[[object], str | float]) -> NullPolicy:
    """Read `null`: how a missing value is treated; `read_value` reads and checks the replacement.

    Raises:
        DomainInvalid: It is no such treatment.
    """
    value = node.take("null", "refuse")
    if isinstance(value, dict):
        inner = Node(value, node.at("null"))
        stand_in = inner.take("use")
        inner.finish()
        return NullPolicy(action="use", value=read_value(stand_in))
    if value not in ("refuse", "category"):
        node.refuse("'null' must be 'refuse', 'category' or {\"use\": value}.", "bad-null-policy", key="null")
    return NullPolicy(action=value)


def check_null_has_a_place(node: Node, null: NullPolicy, **rules: str) -> None:
    """Refuse rules that turn values into missing ones where these are refused.

    Raises:
        DomainInvalid: One of the rules does.
    """
    for key, rule in rules.items():
        if rule == "null" and null.action == "refuse":
            node.refuse(
                f"'{key}' turns values into null, but 'null' refuses them.",
                "null-has-no-place",
                key=key,
                remedy=f'Write "{key}": "refuse", or give \'null\' the policy \'category\' or {{"use": value}}.',
            )


def refuse_stand_in(node: Node, null: NullPolicy, learn: tuple[Learnt, ...]) -> None:
    """Refuse a replacement of missing values where it is not known which values there will be.

    Raises:
        DomainInvalid: There is a replacement beside learnt bounds or categories.
    """
    if null.action == "use" and learn and learn != ("bins",):
        node.refuse(
            "The replacement of missing values must be a declared value.", "learn-beside-stand-in", key="null",
            remedy='Write "null": "category", or declare what is to be learnt.',
        )  # fmt: skip
