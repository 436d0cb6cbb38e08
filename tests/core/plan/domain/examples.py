"""Domains that several tests use."""

from core.plan.domain.table import TableDomain

EVERY_KIND: dict[str, object] = {
    "schema": "understudy.domain/1",
    "target": "dead",
    "privacy_unit": "patient",
    "csv": {"null_values": ["?", ""], "strip_spaces": True},
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 17, "upper": 90, "specials": [0, 20]},
        {
            "name": "fare", "kind": "numeric", "type": "real", "lower": 0, "upper": 100.5,
            "decimals": 2, "spacing": "log", "null": {"use": 3},
        },
        {"name": "ratio", "kind": "numeric", "type": "real", "edges": [0, 1, 5.5], "specials": [0], "infinite": "clamp"},
        {"name": "work", "kind": "categorical", "categories": ["P", "Q"], "other": True, "null": "category"},
        {"name": "education", "kind": "ordinal", "levels": ["HS", "BA"], "null": {"use": "HS"}},
        {"name": "dead", "kind": "boolean", "true": "yes", "false": "no"},
        {"name": "admitted", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "resolution": "week"},
        {
            "name": "seen", "kind": "datetime", "lower": "2020-01-01", "upper": "2020-12-31T23:59:59",
            "resolution": "minute", "bins": 12,
        },
        {
            "name": "month", "kind": "date", "lower": "2020-01-15", "upper": "2021-12-31", "resolution": "month",
            "null": {"use": "2020-02-03"}, "outside": "null",
        },
        {"name": "ssn", "kind": "ignored"},
        {"name": "patient", "kind": "unit"},
    ],
}  # fmt: skip


def every_kind() -> TableDomain:
    return TableDomain.from_json(EVERY_KIND)


DAY_WITH_WEEKDAY: dict[str, object] = {
    "name": "day", "kind": "date", "lower": "2025-01-01", "upper": "2025-12-31", "patterns": ["weekday"],
}  # fmt: skip


def table(*columns: dict[str, object], **keys: object) -> TableDomain:
    """A domain of some columns."""
    return TableDomain.from_json({"schema": "understudy.domain/1", "columns": list(columns), **keys})
