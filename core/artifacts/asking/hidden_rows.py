"""Conditions on synthetic rows that are hidden by the noise of a release's counts."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.codes import bin_ends
from core.artifacts.asking.hidden import REMEDY, hidden_condition
from core.artifacts.errors import InvalidCondition
from core.artifacts.sampling.condition_values import Interval
from core.artifacts.sampling.conditions import Where, table_condition
from core.artifacts.sampling.value_conditions import Conditions, Ordered, requested_conditions
from core.plan.domain.columns.kinds import LabelColumn, TimeColumn
from core.plan.domain.table import TableDomain

Mask = NDArray[np.bool_]


def hidden_in(counts: OpenedCounts, wanted: Conditions) -> str | None:
    """Say that the noise hides the rows that satisfy some conditions; None if it does not."""
    return hidden_condition(counts.domain, counts.estimates, _codes_of(counts.domain, wanted))


def hidden_where(counts: OpenedCounts, where: Where) -> str | None:
    """Say the same for the conditions of a request (`core.artifacts.sampling.value_conditions.requested_conditions`), with the remedy.

    Raises:
        InvalidCondition: there is no such column, or it cannot have such values.
    """
    hidden = hidden_in(counts, requested_conditions(where, counts.domain))
    return None if hidden is None else f"{hidden} {REMEDY}"


def _codes_of(domain: TableDomain, wanted: Conditions) -> Mapping[int, Mask]:
    """The allowed codes of each column of words, and of the target, by the column's index.

    For other numbers and times one bin of many has little information: its rows are drawn much like those of its neighbours.
    """
    places = {column.name: place for place, column in enumerate(domain.coded)}
    found: dict[int, Mask] = {}
    for name, value in wanted.fixed.items():
        if name == domain.target or isinstance(domain.coded[places[name]], LabelColumn):
            found[places[name]] = _code_of(domain, places[name], value)
    for name, words in wanted.words.items():
        found[places[name]] = np.logical_or.reduce([_code_of(domain, places[name], word) for word in words])
    for name, (spans, is_missing) in wanted.spans.items():
        if name != domain.target:
            continue
        column = domain.modelled[places[name]]
        if not isinstance(column, LabelColumn):
            found[places[name]] = _codes_within(column, spans, is_missing=is_missing)
    return found


def _code_of(domain: TableDomain, place: int, value: Any) -> Mask:  # noqa: ANN401 - whatever a program writes
    """The code of a value; all codes if it has none of its own."""
    column = domain.coded[place]
    try:
        condition = table_condition(domain, {column.name: value})
    except InvalidCondition:
        return np.ones(column.cardinality, dtype=np.bool_)
    code = condition.others.get(place, condition.label)
    found: Mask = np.arange(column.cardinality) == code
    return found


def _codes_within(column: Ordered, spans: list[Interval], *, is_missing: bool) -> Mask:
    """The codes with bins that some intervals touch."""
    unit = column.seconds_per_unit if isinstance(column, TimeColumn) else 1
    lows, highs, _ = bin_ends(column)
    specials = np.array(column.specials, dtype=np.float64)
    codes = np.zeros(column.cardinality, dtype=np.bool_)
    for first, last in spans:
        start, end = first / unit, last / unit
        codes[: len(specials)] |= (start <= specials) & (specials <= end)
        codes[len(specials) : column.ordinary_codes] |= (lows <= end) & (
            highs >= (np.floor(start) if unit > 1 else start)
        )
    if is_missing and column.null_code is not None:
        codes[column.null_code] = True
    return codes
