"""A declared domain in words: what a column may hold, and what becomes of everything else."""

from collections.abc import Mapping
from typing import Any, Final

from service.dashboard.words import delta, epsilon

LONGEST: Final = 12
"""How many categories are shown; the rest is counted."""


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
    if "categories" in column:
        shown = ", ".join(str(word) for word in column["categories"][:LONGEST])
        further = len(column["categories"]) - LONGEST
        return f"{shown} and {further} more" if further > 0 else shown
    if "true" in column:
        return f"{column['true']} or {column['false']}"
    if "lower" in column or "edges" in column:
        low = column.get("lower", column.get("edges", ("", ""))[0])
        high = column.get("upper", column.get("edges", ("", ""))[-1])
        return f"{low} to {high}"
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
