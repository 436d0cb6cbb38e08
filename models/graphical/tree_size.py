"""Size of a junction tree that holds given marginals; public arithmetic on columns and codes."""

import math
from collections.abc import Sequence

Clique = tuple[int, ...]


def tree_cells(cliques: Sequence[Clique], cardinalities: Sequence[int]) -> int:
    """Cells of a junction tree that holds the cliques; elimination by the smallest table first.

    Args:
        cliques: columns of every marginal.
        cardinalities: codes of every column.
    """
    neighbours = [0] * len(cardinalities)
    for clique in cliques:
        mask = sum(1 << column for column in clique)
        for column in clique:
            neighbours[column] |= mask
    left = {column for column in range(len(cardinalities)) if neighbours[column]}
    sizes = {column: _cells(neighbours[column], cardinalities) for column in left}
    tables: list[int] = []
    while left:
        column = min(left, key=sizes.__getitem__)
        table = neighbours[column]
        if not any(table & other == table for other in tables):
            tables.append(table)
        left.remove(column)
        for other in _members(table & ~(1 << column)):
            neighbours[other] = (neighbours[other] | table) & ~(1 << column)
            sizes[other] = _cells(neighbours[other], cardinalities)
    return sum(_cells(table, cardinalities) for table in tables)


def _members(mask: int) -> list[int]:
    return [column for column in range(mask.bit_length()) if mask >> column & 1]


def _cells(mask: int, cardinalities: Sequence[int]) -> int:
    return math.prod(cardinalities[column] for column in _members(mask))
