"""Columns of labels from and to the domain document: categories, levels, and the words for true and false."""

from typing import Final, Literal, cast

from core.plan.domain.columns.common_keys import (
    LEARN,
    MOST_BINS_OR_LEARNT,
    check_null_has_a_place,
    null_policy,
    refuse_stand_in,
)
from core.plan.domain.columns.kinds import LabelColumn, Prefix, Unknown
from core.plan.domain.columns.prefixes import LETTERS, shortened
from core.plan.domain.reading import Node

MOST_CATEGORIES: Final = 64
"""Default of `most` for a column whose categories are learnt."""
LONGEST_PREFIX: Final = 200


def _learnt_categories(node: Node, name: str) -> LabelColumn:
    """A column whose categories are learnt; every value that is not among them is "other"."""
    node.take("categories")
    most = node.take_integer("most", MOST_CATEGORIES, lowest=1, highest=MOST_BINS_OR_LEARNT)
    other = node.take("other", default=True)
    if other is False:
        node.refuse(
            "Learnt categories omit rare values, so 'other' is needed.", "learn-without-other", key="other",
            remedy="Leave out 'other', or give its text.",
        )  # fmt: skip
    text = "other" if other is True else other
    if not isinstance(text, str) or not text:
        node.refuse("'other' must be true or its text.", "not-text", key="other")
    null = null_policy(node, str)
    refuse_stand_in(node, null, ("categories",))
    node.take_choice("unknown", ("other",), "other")
    width = len(str(most))
    places = [f"category {place:0{width}}" for place in range(1, (most or 0) + 1)]
    return LabelColumn(
        name=name, kind="categorical", labels=tuple(place for place in places if place != text), other=text,
        null=null, unknown="other", learn=("categories",), prefix=_prefix(node),
    )  # fmt: skip


def labels_from_json(
    node: Node, name: str, kind: Literal["categorical", "ordinal", "boolean"]
) -> LabelColumn:
    """Read the keys of a column of labels.

    Raises:
        DomainInvalid: One of them breaks a rule.
    """
    if kind == "categorical" and node.is_text("categories", LEARN):
        return _learnt_categories(node, name)
    other: str | None = None
    prefix: Prefix | None = None
    labels: tuple[str, ...]
    if kind == "boolean":
        labels = (node.take_text("false", "false"), node.take_text("true", "true"))
        if labels[0] == labels[1]:
            node.refuse("The words for false and true must differ.", "duplicate-value", key="true")
    else:
        key = "categories" if kind == "categorical" else "levels"
        labels = node.take_texts(key)
        other = _other(node, labels) if kind == "categorical" else None
        prefix = _prefix(node, labels) if kind == "categorical" else None
        # A release with learnt categories may have none: perhaps no value is shared by enough units.
        if not labels and other is None:
            node.refuse(f"'{key}' is empty.", "no-values", key=key, remedy="List at least one value.")
    words = labels if other is None else (*labels, other)

    def stand_in(value: object) -> str:
        if str(value) not in words:
            node.refuse("The value must be a listed one.", "outside-bounds", key="null/use")
        return str(value)

    null = null_policy(node, stand_in)
    choices = ("other", "null", "refuse") if other is not None else ("null", "refuse")
    unknown = node.take_choice("unknown", choices, "refuse" if other is None else "other")
    check_null_has_a_place(node, null, unknown=unknown)
    return LabelColumn(
        name=name, kind=kind, labels=labels, other=other, null=null, unknown=cast("Unknown", unknown), prefix=prefix
    )  # fmt: skip


def _prefix(node: Node, labels: tuple[str, ...] = ()) -> Prefix | None:
    """Read `prefix`; a prefix must leave every listed word unchanged, or no row could have that word."""
    prefix = node.take("prefix", None)
    is_length = isinstance(prefix, int) and not isinstance(prefix, bool) and 1 <= prefix <= LONGEST_PREFIX
    if not (prefix is None or prefix == LETTERS or is_length):
        node.refuse(
            f"'prefix' must be a whole number from 1 to {LONGEST_PREFIX}, or 'letters'.", "bad-prefix", key="prefix",
            remedy="3 keeps E11 of E11.9; 'letters' keeps LS of LS6 2AB.",
        )  # fmt: skip
    prefix = cast("Prefix | None", prefix)
    for place, label in enumerate(labels):
        if shortened(label, prefix) != label:
            node.refuse(
                "A category is longer than the declared prefix of the texts, so no row could have it.", "longer-than-prefix",
                key=f"categories/{place}", remedy="Shorten the category, or leave out 'prefix'.",
            )  # fmt: skip
    return prefix


def _other(node: Node, labels: tuple[str, ...]) -> str | None:
    value = node.take("other", default=False)
    if value is False:
        return None
    text = "other" if value is True else value
    if not isinstance(text, str) or not text:
        node.refuse("'other' must be true, false or its text.", "not-text", key="other")
    if text in labels:
        node.refuse(
            "The text for 'other' is also a category.", "duplicate-value", key="other",
            remedy=f'Leave the word out of the list: rows that hold it count as {text!r}. Or write another text, for example "other": "any other".',
        )  # fmt: skip
    return text


def labels_to_json(column: LabelColumn) -> dict[str, object]:
    """The keys of a column of labels; `labels_from_json` reads them back."""
    if column.kind == "boolean":
        return {"false": column.labels[0], "true": column.labels[1], "unknown": column.unknown}
    if column.kind == "ordinal":
        return {"levels": list(column.labels), "unknown": column.unknown}
    other = False if column.other is None else column.other
    # Documents without a prefix are as they were before there was one.
    prefix = {} if column.prefix is None else {"prefix": column.prefix}
    if column.learn:
        listed: dict[str, object] = {"categories": LEARN, "most": len(column.labels)}
    else:
        listed = {"categories": list(column.labels)}
    return {**listed, "other": other, "unknown": column.unknown, **prefix}
