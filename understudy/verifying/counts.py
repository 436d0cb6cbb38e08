"""Noisy counts: that their tables are of the declared columns, and that their standard errors follow from the certified noise.

What the cells hold is attested by the signature alone: nobody can compute noisy counts again.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.errors import NotABundle
from understudy.verifying.anchors import is_of_images
from understudy.verifying.bundle_file import COUNTS, Opened
from understudy.verifying.closeness import close
from understudy.verifying.records import described
from understudy.verifying.strict_json import read_object

Json = Mapping[str, Any]
Table = tuple[tuple[int, ...], float]
"""Places of columns, increasing, and the standard deviation of the noise on their counts."""
_SCHEMA: Final = "understudy.counts/1"
_BYTES_OF_CELL: Final = 4
_TARGET_WEIGHT: Final = 8.0
"""Squared weight of a pair with the target over that of another pair, where counts are not by class."""


def count_problems(opened: Opened, plan: Json) -> Iterator[str]:
    """Say where the counts are not what the plan released.

    Args:
        opened: the bundle, with counts.
        plan: of the training on all records.
    """
    assert opened.counts is not None, "a bundle with counts"
    try:
        head = read_object(opened.counts, COUNTS)
    except NotABundle:
        head = {}
    if head.keys() != {"schema", "cardinalities", "step", "groups"} or head["schema"] != _SCHEMA:
        yield f"{COUNTS} does not begin with a line that says what was counted"
        return
    if opened.counts != json.dumps(head, sort_keys=True, separators=(",", ":")).encode():
        yield f"{COUNTS} is not written as the service writes it"
    anchor, cells = plan["anchor"], list(described(opened.manifest).cardinalities)
    if anchor is None or is_of_images(anchor):
        yield f"{COUNTS}: the plan counted nothing"
        return
    if head["cardinalities"] != cells:
        yield f"{COUNTS} is of other columns than the manifest"
        return
    yield from _table_problems(opened, head, anchor, plan["declared_size"])


def _table_problems(opened: Opened, head: Json, anchor: Json, declared_size: int) -> Iterator[str]:
    cells, stated = head["cardinalities"], _stated(head["groups"])
    target = opened.manifest["label_index"]
    possible = [list(_tables(anchor, len(cells), target, by_class=False))]
    if target is not None and len(cells) > 1:
        possible.append(list(_tables(anchor, len(cells), target, by_class=True)))
    listed = [columns for columns, _std in stated]
    tables = next((one for one in possible if [columns for columns, _std in one] == listed), None)
    if tables is None:
        yield f"{COUNTS} does not list every pair of columns once"
        return
    if any(not close(std, derived) for (_, std), (_, derived) in zip(stated, tables, strict=True)):
        yield f"{COUNTS}: a standard deviation is not that of the certified noise"
    if head["step"] != _step(min(std for _columns, std in tables), declared_size):
        yield f"{COUNTS}: the step does not follow from the noise and the declared size"
    length = len(opened.counts or b"") + 1
    length += _BYTES_OF_CELL * sum(math.prod(cells[column] for column in columns) for columns in listed)
    if opened.files[COUNTS].bytes != length:
        yield f"{COUNTS} has not as many cells as its tables"


def _stated(groups: object) -> list[Table]:
    """The tables that the first line lists; none where it is of another form."""
    found: list[Table] = []
    for group in groups if isinstance(groups, list) else []:
        if not isinstance(group, dict) or group.keys() != {"noise_std", "tables"}:
            return []
        std, tables = group["noise_std"], group["tables"]
        if type(std) is not float or not isinstance(tables, list):
            return []
        if not all(isinstance(one, list) and all(type(column) is int for column in one) for one in tables):
            return []
        found += [(tuple(one), std) for one in tables]
    return found


def _tables(anchor: Json, columns: int, target: int | None, *, by_class: bool) -> Iterator[Table]:
    """What an anchor counts: columns and pairs, by class of the target, or pairs with the target more precisely."""
    std, weight = anchor["noise_multiplier"] * anchor["sensitivity"], anchor["diagonal_weight"]
    sliced = (target,) if by_class and target is not None else ()
    features = [column for column in range(columns) if column not in sliced]
    if sliced:
        yield sliced, std / weight
    one_std = std / (math.hypot(weight, 1.0) if sliced else weight)
    yield from ((tuple(sorted((*sliced, column))), one_std) for column in features)
    # One more record moves k - 1 pairs with the target and (k - 1)(k - 2) / 2 others; squared weights average one.
    others = columns / (2 * _TARGET_WEIGHT + columns - 2) if target is not None and not sliced else 1.0
    for first, second in itertools.combinations(features, 2):
        squared = others * _TARGET_WEIGHT if not sliced and target in (first, second) else others
        yield tuple(sorted((*sliced, first, second))), std / math.sqrt(squared)


def _step(smallest_std: float, declared_size: int) -> float:
    """The unit of the cells: at most 2^-10 of the noise, unless 32 bits would not hold eight times the declared size."""
    return float(
        2.0 ** max(math.floor(math.log2(smallest_std)) - 10, math.ceil(math.log2(declared_size)) - 28)
    )
