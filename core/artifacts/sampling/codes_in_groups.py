"""Codes of wide tables: the network gives logits of groups of codes, and a code is drawn within its group.

Needs numpy alone: the script of a bundle holds a copy.

A code's share in its group is the same for every row. So a row of half a million codes takes as long as one of its groups.
"""

import json
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


class CodesInGroups:
    """The shares of codes within their groups.

    Args:
        group_of_code: (cells,) the group of every code among those of all columns, increasing from column to column.
        logarithms: (cells,) of the share that every code has in its group.
        cardinalities: Codes of every column.
        groups: Groups of every column.

    Raises:
        ValueError: These are not groups of such columns.
    """

    def __init__(
        self,
        group_of_code: NDArray[np.int64],
        logarithms: NDArray[np.float32],
        cardinalities: Sequence[int],
        groups: Sequence[int],
    ) -> None:
        starts = np.concatenate([[0], np.cumsum(groups)]).astype(np.int64)
        column = np.repeat(np.arange(len(groups)), cardinalities)
        if not group_of_code.shape == logarithms.shape == column.shape:
            raise ValueError("every code has a group")
        if ((group_of_code < starts[column]) | (group_of_code >= starts[column + 1])).any():
            raise ValueError("a code is in a group of its column")
        if not np.isfinite(logarithms).all() or logarithms.max(initial=0.0) > 1:
            raise ValueError("a share is at most one")
        self._starts = starts
        self._order = np.argsort(group_of_code, kind="stable")
        self._code = self._order - np.repeat(np.cumsum(cardinalities) - cardinalities, cardinalities)
        self._first = np.searchsorted(group_of_code[self._order], np.arange(starts[-1] + 1))
        if (np.diff(self._first) == 0).any():
            raise ValueError("every group has a code")
        self._sums = np.concatenate([[0.0], np.cumsum(np.exp(logarithms[self._order].astype(np.float64)))])

    @classmethod
    def read(cls, weights: bytes, *, cardinalities: Sequence[int], groups: Sequence[int]) -> "CodesInGroups":
        """Read them from the weights of a bundle, a safetensors file.

        Args:
            weights: The file.
            cardinalities: See the class.
            groups: Likewise.

        Raises:
            KeyError, TypeError, ValueError: The file holds no such shares.
        """
        body = 8 + int.from_bytes(weights[:8], "little")
        head: Mapping[str, Mapping[str, Sequence[int]]] = json.loads(weights[8:body])
        first, last = head["group_of_code"]["data_offsets"]
        group_of_code = np.frombuffer(weights[body + first : body + last], "<i8").astype(np.int64)
        first, last = head["within_group"]["data_offsets"]
        logarithms = np.frombuffer(weights[body + first : body + last], "<f4").astype(np.float32)
        return cls(group_of_code, logarithms, cardinalities, groups)

    def draw(self, drawn: NDArray[np.integer], uniforms: NDArray[np.float64]) -> NDArray[np.int32]:
        """Draw a code of each group.

        Args:
            drawn: (rows, columns) groups, from 0 in every column.
            uniforms: (rows, columns) in [0, 1).

        Returns:
            (rows, columns) codes.
        """
        codes = np.empty(drawn.shape, dtype=np.int32)
        for column, start in enumerate(self._starts[:-1]):
            group = drawn[:, column].astype(np.int64) + start
            first, end = self._first[group], self._first[group + 1]
            low, high = self._sums[first], self._sums[end]
            place = np.searchsorted(self._sums, low + uniforms[:, column] * (high - low), side="right") - 1
            codes[:, column] = self._code[np.clip(place, first, end - 1)]
        return codes
