"""A declared domain in words: what a column may hold, and what becomes of everything else."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from service.dashboard.labels import delta, epsilon

LEARN: Final = "learn"
LONGEST: Final = 12
"""How many categories, or columns of a rule, are shown; the rest is counted."""


def kind(column: Mapping[str, Any]) -> str:
    """What sort of column it is."""
    told = {
        "numeric": {"integer": "whole number", "real": "number"}.get(str(column.get("type")), "number"),
        "categorical": "category",
        "ordinal": "ordered category",
        "boolean": "yes or no",
        "unit": "names the protected unit",
        "ignored": "left out",
    }
    return told.get(str(column.get("kind")), str(column.get("kind")))


def holds(column: Mapping[str, Any]) -> str:
    """What it may hold."""
    if column.get("categories") == LEARN:
        return f"at most {column.get('most')} categories, learnt by each training for a charge"
    if "categories" in column:
        return _listed(column["categories"])
    if "true" in column:
        return f"{column['true']} or {column['false']}"
    if "lower" in column or "edges" in column:
        low = column.get("lower", column.get("edges", ("", ""))[0])
        high = column.get("upper", column.get("edges", ("", ""))[-1])
        told = [f"{low} to {high}"]
        told += [
            f"{part} learnt by each training for a charge"
            for part in ("bounds", "bins")
            if column.get(part) == LEARN
        ]
        return "; ".join(told)
    return "–"


def otherwise(column: Mapping[str, Any]) -> str:
    """What becomes of what it may not hold."""
    told = []
    if "lower" in column or "edges" in column:
        beyond = {
            "clamp": "moved to the nearest bound",
            "null": "counted as missing",
            "refuse": "row refused",
        }
        told.append(f"beyond: {beyond.get(str(column.get('outside', 'clamp')), 'refused')}")
    if column.get("kind") in {"numeric", "categorical", "ordinal", "boolean", "date", "datetime"}:
        null = column.get("null", "refuse")
        if isinstance(null, Mapping):
            told.append(f"missing: taken as {null.get('use')}")
        else:
            told.append("missing: a value of its own" if null == "category" else "missing: row refused")
    return "; ".join(told) or "–"


def rule(declared: Mapping[str, Any]) -> str:
    """What a rule between columns says."""
    within = f", within {declared['tolerance']}" if declared.get("tolerance") else ""
    return _RULES[declared["kind"]].format(
        columns=_listed(declared.get("columns", ())),
        first=declared.get("columns", ("",))[0],
        last=declared.get("columns", ("",))[-1],
        parts=_listed(declared.get("parts", ())),
        total=declared.get("total"),
        within=within,
        combinations=len(declared.get("combinations", ())),
        pairs=len(declared.get("pairs", ())),
    )


_RULES: Final[Mapping[str, str]] = {
    "impossible": "impossible combinations of {columns}: {combinations} declared",
    "possible": "possible combinations of {columns}: {combinations} declared, and no others",
    "at_most": "{first} is at most {last}",
    "sum": "{total} is the sum of {parts}{within}",
    "null_together": "{columns}: all missing or none",
    "exactly_one": "{columns}: exactly one is set",
    "determines": "{first} determines {last}, by a code book of {pairs}",
}


def _listed(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:LONGEST])
    further = len(names) - LONGEST
    return f"{shown} and {further} more" if further > 0 else shown


def terms(decided: Mapping[str, Any]) -> str:
    """What a decision in the ledger says."""
    told = []
    if "epsilon" in decided:
        told.append(f"ε {epsilon(decided['epsilon'])}, δ {delta(decided['delta'])}")
    if decided.get("outcome"):
        told.append(str(decided["outcome"]))
    if decided.get("reason"):
        told.append(f"“{decided['reason']}”")
    return ", ".join(told)
