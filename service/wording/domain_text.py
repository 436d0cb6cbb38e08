"""A declared domain in plain language: the allowed values of each column and the handling of all others."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from core.dp.charge import MICRO, UNBOUNDED_MICROS
from core.ledger.admission import BASIC
from core.plan.learning import learns_categories
from service.wording.amounts import delta, epsilon

LEARN: Final = "learn"
LONGEST: Final = 12
"""Categories, or columns of a rule, listed by name; the rest is only counted."""


def composition(rule: str, filters: Sequence[Mapping[str, Any]], domain: Mapping[str, Any]) -> str:
    """The rule by which charges add up, and which of its filters still applies.

    Args:
        filters: Their states, as in the view of a budget; empty before a cap is set.
    """
    if rule != "filters":
        return "basic (sum of epsilons)"
    divergences = [one for one in filters if one["filter"] != BASIC]
    if divergences and not any(one["holds"] for one in divergences):
        unbounded = all(float(one["used"]) >= UNBOUNDED_MICROS / MICRO for one in divergences)
        return "basic (sum of epsilons) now; " + (
            "a job that learns categories has no Rényi divergence"
            if unbounded
            else "the Rényi filters have no budget left"
        )
    if any(one["filter"] == BASIC and not one["holds"] for one in filters):
        return "Rényi privacy filters now; the basic one has no budget left"
    both = "Rényi and basic privacy filters; the one with more budget left applies"
    return (
        f"{both}, and only the basic one (sum of epsilons) once a job has learned categories"
        if learns_categories(domain)
        else both
    )


def kind(column: Mapping[str, Any]) -> str:
    """The kind of a column."""
    parts = {
        "numeric": {"integer": "whole number", "real": "number"}.get(str(column.get("type")), "number"),
        "categorical": "category",
        "ordinal": "ordered category",
        "boolean": "yes or no",
        "unit": "identifies the privacy unit",
        "ignored": "left out",
    }
    return parts.get(str(column.get("kind")), str(column.get("kind")))


def holds(column: Mapping[str, Any]) -> str:
    """The allowed values of a column."""
    if column.get("categories") == LEARN:
        return f"{_shortened(column)}at most {column.get('most')} categories, learnt in each training at a privacy cost"
    if "categories" in column:
        return f"{_shortened(column)}{_listed(column['categories'])}"
    if "levels" in column:
        return f"in this order: {_listed(column['levels'])}"
    if "true" in column:
        return f"{column['true']} or {column['false']}"
    if "lower" in column or "edges" in column:
        low = column.get("lower", column.get("edges", ("", ""))[0])
        high = column.get("upper", column.get("edges", ("", ""))[-1])
        parts = [f"{low} to {high}"]
        if step := column.get("multiple_of"):
            parts.append(f"multiples of {step}")
        if specials := column.get("specials"):
            parts.append(f"special {'value' if len(specials) == 1 else 'values'}: {_listed(specials)}")
        parts += [
            f"{part} learnt in each training at a privacy cost"
            for part in ("bounds", "bins")
            if column.get(part) == LEARN
        ]
        if difference := column.get("difference"):
            far = f"{difference.get('lower', 0)} to {difference.get('upper', 'a declared edge')}"
            unit = distance_unit(column)
            parts.append(f"modelled by its distance from {difference['from']}, {far}{unit and f' {unit}'}")
        return "; ".join(parts)
    return "–"


def _shortened(column: Mapping[str, Any]) -> str:
    """How much of a text counts; empty where all of it does."""
    prefix = column.get("prefix")
    if prefix is None:
        return ""
    kept = {"letters": "letters at the beginning", 1: "first character"}.get(
        prefix, f"first {prefix} characters"
    )
    return f"the {kept} of each text: "


def otherwise(column: Mapping[str, Any]) -> str:
    """The handling of values that are not allowed."""
    parts = []
    if "lower" in column or "edges" in column:
        outside = str(column.get("outside", "clamp"))
        parts.append(f"beyond: {WORDS_OF_VALUES['outside'].get(outside, 'refused')}")
    if column.get("kind") in {"categorical", "ordinal", "boolean"}:
        unlisted = _unlisted(column)
        words = value_words("other", _other(column)) if unlisted == "other" else None
        parts.append(f"not listed: {words or WORDS_OF_VALUES['unknown'][unlisted]}")
    if column.get("kind") in {"numeric", "categorical", "ordinal", "boolean", "date", "datetime"}:
        null = column.get("null", "refuse")
        if isinstance(null, Mapping):
            parts.append(f"missing: replaced by {null.get('use')}")
        else:
            parts.append(
                f"missing: {WORDS_OF_VALUES['null']['category' if null == 'category' else 'refuse']}"
            )
    return "; ".join(parts) or "–"


def _other(column: Mapping[str, Any]) -> Any:  # noqa: ANN401 - true, a text or nothing
    """The declared "other"; learnt categories always have it."""
    return column.get("other", column.get("categories") == LEARN)


def _unlisted(column: Mapping[str, Any]) -> str:
    """The treatment of values that are not listed: as in the domain, "other" where it is declared."""
    return str(column.get("unknown", "other" if _other(column) else "refuse"))


def distance_unit(column: Mapping[str, Any]) -> str:
    """The unit of a column's distance from another one, in the plural; empty for numbers."""
    if column.get("kind") == "date":
        return "days"
    return f"{column.get('resolution', 'second')}s" if column.get("kind") == "datetime" else ""


def missing_words(domain: Mapping[str, Any]) -> str:
    """The texts of a file that mean a missing value."""
    words = (domain.get("csv") or {}).get("null_values", [""])
    return ", ".join("an empty field" if not word else f"“{word}”" for word in words) or "none"


def previewed(domain: Mapping[str, Any]) -> Mapping[str, Any]:
    """Expectations that the preview of a file is compared with (preview.js): columns, or the shape and labels of images."""
    if "columns" in domain:
        return declared_columns(domain)
    shape = {name: domain[name] for name in ("height", "width", "channels", "labels")}
    return {"images": shape | {"unit": domain.get("privacy_unit")}}


def declared_columns(domain: Mapping[str, Any]) -> Mapping[str, Any]:
    """The columns and the CSV dialect as the preview of a file compares them (preview.js).

    `words` are the values that a column may hold, of which `prefix` says how much of a text counts, `lower` and `upper` its bounds, and `format` that of its numbers; null where only the service can
    decide, or numbers are plain. `null` is the treatment of a missing value; null where the column is left out, so that nobody reads its values.
    """
    dialect = domain.get("csv") or {}
    return {
        "columns": [
            {
                "name": column["name"],
                "kind": column.get("kind"),
                "holds": holds(column),
                "null": None if column.get("kind") == "ignored" else column.get("null", "refuse"),
                "words": _words(column),
                "prefix": column.get("prefix"),
                "specials": column.get("specials", []),
                "lower": _bound(column, "lower", 0),
                "upper": _bound(column, "upper", -1),
                "format": column.get("number_format"),
            }
            for column in domain["columns"]
        ],
        "dialect": {
            "delimiter": dialect.get("delimiter", ","),
            "quote": dialect.get("quote", '"'),
            "header": dialect.get("header", True),
            "nulls": dialect.get("null_values", [""]),
            "strip": dialect.get("strip_spaces", False),
            "decimal": dialect.get("decimal_mark", "."),
            "encoding": dialect.get("encoding", "utf-8"),
        },
    }


def _words(column: Mapping[str, Any]) -> Sequence[str] | None:
    if "true" in column:
        return [str(column["true"]), str(column["false"])]
    categories = column.get("categories")
    if categories is None or categories == LEARN or _unlisted(column) == "other":
        return None
    return [str(word) for word in categories]


def _bound(column: Mapping[str, Any], name: str, place: int) -> float | None:
    if column.get("kind") != "numeric" or column.get("bounds") == LEARN:
        return None
    edges = column.get("edges")
    value = column.get(name, edges[place] if isinstance(edges, Sequence) and edges else None)
    return float(value) if isinstance(value, (int, float)) else None


def rule(declared: Mapping[str, Any]) -> str:
    """A rule between columns."""
    within = f", within {declared['tolerance']}" if declared.get("tolerance") else ""
    return _RULES[declared["kind"]].format(
        columns=_listed(declared.get("columns", ())),
        first=declared.get("columns", ("",))[0],
        last=declared.get("columns", ("",))[-1],
        second=declared.get("columns", ("", ""))[1],
        unit=declared.get("unit"),
        parts=_listed(declared.get("parts", ())),
        total=declared.get("total"),
        within=within,
        computed=f"; {declared['computed']} is computed from the others" if declared.get("computed") else "",
        combinations=len(declared.get("combinations", ())),
        pairs=len(declared.get("pairs", ())),
    )


_RULES: Final[Mapping[str, str]] = {
    "impossible": "impossible combinations of {columns}: {combinations} declared",
    "possible": "possible combinations of {columns}: {combinations} declared, and no others",
    "at_most": "{first} is at most {last}",
    "sum": "{total} is the sum of {parts}{within}{computed}",
    "duration": "{last} is the number of whole {unit}s from {first} to {second}",
    "null_together": "{columns}: all missing or none missing",
    "exactly_one": "{columns}: exactly one is set",
    "determines": "{first} determines {last}, by a code book of {pairs}",
}


def value_words(key: str, value: object) -> str | None:
    """The value of a key in words; None where the value itself says it, as a number or a category does."""
    if value is None:
        return "each record" if key == "privacy_unit" else "none"
    if value == LEARN and key in _LEARNT:
        return "learnt in each training at a privacy cost"
    if key == "other":
        return f"counted together as “{'other' if value is True else value}”" if value else "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return _object_words(key, value)
    return WORDS_OF_VALUES.get(key, {}).get(value) if isinstance(value, str) else None


def _object_words(key: str, value: Mapping[str, Any]) -> str | None:
    """An object of the domain in words; None if it is of an unknown form."""
    if key == "null" and "use" in value:
        return f"replaced by {value['use']}"
    if key == "difference" and "from" in value:
        low, high = value.get("lower", 0), value.get("upper")
        return f"{low} to {high} from {value['from']}" if high is not None else f"from {value['from']}"
    if key == "number_format":
        parts = [
            f"thousands grouped by {_SIGNS.get(value['thousands'], value['thousands'])}"
            if value.get("thousands")
            else "",
            f"decimals after a {_SIGNS.get(value['decimal_mark'], value['decimal_mark'])}"
            if value.get("decimal_mark")
            else "",
            f"with {_listed(value['affixes'])} before or after the number" if value.get("affixes") else "",
            "times of the day" if value.get("clock") else "",
        ]
        return "; ".join(filter(None, parts)) or None
    return None


_LEARNT: Final = frozenset({"bins", "bounds", "categories", "records"})
_SIGNS: Final[Mapping[str, str]] = {
    ",": "comma",
    ".": "point",
    ";": "semicolon",
    "\t": "tab",
    "|": "vertical bar",
    " ": "blank",
    "'": "apostrophe",
}
WORDS_OF_VALUES: Final[Mapping[str, Mapping[str, str]]] = {
    "decimal_mark": _SIGNS,
    "delimiter": _SIGNS,
    "quote": {'"': "double quotation mark", "'": "apostrophe"},
    "null_values": {"": "an empty field"},
    "null": {"category": "kept as a separate category", "refuse": "row refused"},
    "outside": {"clamp": "moved to the nearest bound", "null": "counted as missing", "refuse": "row refused"},
    "unknown": {"other": "counted together as other", "null": "counted as missing", "refuse": "row refused"},
    "spacing": {"linear": "equal widths", "log": "narrow at the smallest value, wider from there"},
    "type": {"integer": "whole number", "real": "number with decimals"},
    "kind": {
        "numeric": "number", "categorical": "category", "ordinal": "ordered category", "boolean": "yes or no", "datetime": "date and time",
        "unit": "identifies the privacy unit", "ignored": "left out", "determines": "one column determines another", "at_most": "one column is at most another",
        "null_together": "columns are missing together", "duration": "a number is the time between two columns", "exactly_one": "exactly one column is set",
    },
    "resolution": {
        "month_end": "last days of months", "quarter_end": "last days of quarters", "year_end": "last days of years",
    },
}  # fmt: skip


def _listed(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:LONGEST])
    further = len(names) - LONGEST
    return f"{shown} and {further} more" if further > 0 else shown


def terms(decided: Mapping[str, Any]) -> str:
    """The terms of a decision in the ledger."""
    parts = []
    if "epsilon" in decided:
        parts.append(f"ε {epsilon(decided['epsilon'])}, δ {delta(decided['delta'])}")
    if decided.get("outcome"):
        parts.append(str(decided["outcome"]))
    if decided.get("reason"):
        parts.append(f"“{decided['reason']}”")
    return ", ".join(parts)
