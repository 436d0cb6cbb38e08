"""Questions and slow answers for tests of counters."""

import itertools
from collections.abc import Iterable

import numpy as np

from models.counting.question import CountQuestion


def question(
    cardinalities: tuple[int, ...], *columns: int, groups: dict[int, list[int]] | None = None
) -> CountQuestion:
    """Ask for a table over some columns, grouped where `groups` names a column."""
    found = groups or {}
    return CountQuestion(
        columns=columns,
        groups=tuple(np.array(found[column], np.int32) if column in found else None for column in columns),
        cardinalities=tuple(cardinalities[column] for column in columns),
    )


def all_questions(cardinalities: tuple[int, ...], *, halved: Iterable[int] = ()) -> list[CountQuestion]:
    """Ask for every table over one to three columns; the codes of `halved` columns are grouped by two."""
    groups = {column: [code // 2 for code in range(cardinalities[column])] for column in halved}
    places = range(len(cardinalities))
    return [
        question(cardinalities, *columns, groups=groups)
        for width in (1, 2, 3)
        for columns in itertools.combinations(places, width)
    ]


def counted_slowly(asked: CountQuestion, codes: np.ndarray, weights: Iterable[int]) -> np.ndarray:
    """Count record by record, in Python's integers."""
    totals = np.zeros(asked.shape, dtype=object)
    for record, weight in zip(codes.tolist(), weights, strict=True):
        cell = tuple(
            record[column] if groups is None else int(groups[record[column]])
            for column, groups in zip(asked.columns, asked.groups, strict=True)
        )
        totals[cell] += int(weight)
    return totals.astype(np.int64)
