"""Records hidden by the noise of a release's counts: their number cannot be distinguished from zero, or their pairs are nothing but noise.

A generator still draws such records, from noise. Post-processing of released counts, free of privacy cost.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import numpy as np

from core.artifacts.asking.codes import Mask, labels_of
from core.artifacts.asking.estimates import DEVIATIONS, Estimates
from core.plan.domain.columns.kinds import LabelColumn
from core.plan.domain.table import TableDomain

REMEDY: Final = "A larger epsilon, fewer columns or coarser bins show more of it."
MOST_UNLISTED: Final = 0.5
"""Share of records outside a column's learnt words above which a note says so."""


def hidden_condition(domain: TableDomain, estimates: Estimates, wanted: Mapping[int, Mask]) -> str | None:
    """Say that the noise hides the records that satisfy a condition; None if the counts show them, or contain nothing about them.

    Args:
        wanted: by the index of a coded column, (codes,) the codes that the condition allows.
    """
    names = [_on_one_line(column.name) for column in domain.coded]
    for place, codes in wanted.items():
        if (found := _too_few(estimates, {place: codes})) is not None:
            return f"Few records have such a value of '{names[place]}': {found}"
    for first, second in itertools.combinations(sorted(wanted), 2):
        if estimates.are_counted((first, second)):
            both = {place: wanted[place] for place in (first, second)}
            if (found := _too_few(estimates, both)) is not None:
                return f"Few records have such values of '{names[first]}' and '{names[second]}': {found}"
    for place, codes in wanted.items():
        if not codes.all() and _pairs_are_noise(estimates, place, codes, len(names)):
            return (
                f"The counts of such values of '{names[place]}' with other columns cannot be distinguished from noise: in rows with these values "
                "the other columns are drawn from noise, or nearly as in all rows."
            )
    return None


def hidden_class(domain: TableDomain, estimates: Estimates) -> str | None:
    """Say that the noise hides the smallest class of the target; missing values and unlisted words do not count as classes."""
    target = domain.target_index
    if target is None or not estimates.are_counted((target,)):
        return None
    column, counts = domain.coded[target], estimates.table((target,)).copy()
    for code in (column.null_code, column.other_code if isinstance(column, LabelColumn) else None):
        if code is not None:
            counts[code] = np.inf  # often empty, as expected
    smallest = int(np.argmin(counts))
    codes = np.arange(domain.cardinalities[target]) == smallest
    reason = hidden_condition(domain, estimates, {target: codes})
    if reason is None:
        return None
    label = _on_one_line(labels_of(column)[smallest])
    return f"The noise hides '{label}', the smallest class of the target. {reason} {REMEDY}"


def unlisted_words(domain: TableDomain, estimates: Estimates, learnt: Iterable[int]) -> Iterator[str]:
    """Name the columns with learnt words, given by index, in which most records have a word that was not learnt."""
    for place in learnt:
        column = domain.modelled[place]
        if (
            not isinstance(column, LabelColumn)
            or column.other_code is None
            or not estimates.are_counted((place,))
        ):
            continue
        counts = np.maximum(estimates.table((place,)), 0.0)
        share = float(counts[column.other_code] / max(float(counts.sum()), 1.0))
        if share > MOST_UNLISTED:
            words = len(column.words) - 1
            yield (
                f"{words} word{'' if words == 1 else 's'} of '{_on_one_line(column.name)}' could be learnt; about {100 * share:.0f} % of the records have "
                f"another one, which is '{_on_one_line(column.words[column.other_code])}' in synthetic rows. Declare its words if they are public."
            )


def _on_one_line(name: str) -> str:
    return " ".join(name.split())


def _too_few(estimates: Estimates, wanted: Mapping[int, Mask]) -> str | None:
    """Note that the group may be empty; else None."""
    columns = list(wanted)
    if not estimates.are_counted(columns):
        return None
    groups = estimates.groups(columns)
    cells = np.ones([])
    for place, codes in wanted.items():
        cells = np.multiply.outer(cells, (np.bincount(groups[place], weights=codes) > 0).astype(np.float64))
    estimate = float((estimates.table(columns) * cells).sum())
    error = math.sqrt(estimates.variance(columns, cells))
    if estimate > DEVIATIONS * error:
        return None
    return (
        f"the noisy counts say {max(estimate, 0.0):,.0f} with a standard error of {error:,.0f}, which cannot be distinguished from zero. "
        "Rows are drawn as if there were some."
    )


def _pairs_are_noise(estimates: Estimates, place: int, codes: Mask, columns: int) -> bool:
    """Whether the pairs of some values with all columns look like noise alone, and the values are too rare to show otherwise.

    Under independence a contrast of the values' row (its counts minus its share of the other column's counts) is noise of known variance. So the sum
    of its squares over all pairs, in units of that variance, is chi-squared. A cell of the row is hidden if its mean count is within noise.
    """
    squares, freedom, hidden, pairs = 0.0, 0, 0, 0
    for other in range(columns):
        pair = (place, other)
        if other == place or not estimates.are_counted(pair):
            continue
        row = (np.bincount(estimates.groups(pair)[place], weights=codes) > 0).astype(np.float64)
        table = estimates.table(pair)
        if table.shape[1] == 1 or row.all():
            continue  # no comparison: the other column has one group, or all groups of this one are selected
        total = float(table.sum())
        part = float(row @ table.sum(axis=1)) / total if total > 0 else 0.0
        along = row - part
        left = along @ table
        one = np.zeros(table.shape[1])
        one[0], one[1] = math.sqrt(0.5), -math.sqrt(0.5)
        variance = estimates.variance(pair, np.multiply.outer(along, one))
        squares += float((left**2).sum()) / variance
        freedom += table.shape[1] - 1
        cell = np.multiply.outer(row, np.eye(1, table.shape[1])[0])
        hidden += part * total / table.shape[1] < DEVIATIONS * math.sqrt(estimates.variance(pair, cell))
        pairs += 1
    is_noise = squares < freedom + DEVIATIONS * math.sqrt(2.0 * freedom)
    return pairs > 0 and is_noise and 2 * hidden > pairs
