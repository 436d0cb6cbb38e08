"""Check noisy counts: their tables have the declared columns, and their standard errors follow from the certified noise.

Only the signature attests the contents of the cells: noisy counts cannot be recomputed.
"""

import itertools
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.errors import NotABundle
from understudy.verifying.anchors import counts_combinations, has_rounds, is_of_images, screening_sensitivity
from understudy.verifying.bundle_file import COUNTS, Opened
from understudy.verifying.closeness import close
from understudy.verifying.federations import summed
from understudy.verifying.learning import learns_records
from understudy.verifying.marginals import counted, is_of_marginals
from understudy.verifying.records import described
from understudy.verifying.reused import combined, keeps_groups_by_class, keeps_screened_pairs
from understudy.verifying.strict_json import read_object

Json = Mapping[str, Any]
Table = tuple[tuple[int, ...], float]
"""Indices of columns, increasing, and the standard deviation of the noise on their counts."""
Pairs = frozenset[tuple[int, ...]]
_SCHEMA: Final = "understudy.counts/2"
_WITHOUT_GROUPS: Final = "understudy.counts/1"
_BYTES_OF_CELL: Final = 4
_TARGET_WEIGHT: Final = 8.0
"""Squared weight of a pair with the target relative to another pair, if counts are of codes and not by class."""
_TARGET_WEIGHT_OF_GROUPS: Final = 2.0
_COLUMN_POWER, _TABLE_POWER = 2.0 / 3.0, 0.5
"""Powers of the number of cells by which the squared weights of columns and of group tables grow."""


def count_problems(opened: Opened, plan: Json) -> Iterator[str]:
    """Report counts of a bundle that differ from the release in the plan of the training on all records."""
    assert opened.counts is not None, "a bundle with counts"
    try:
        head = read_object(opened.counts, COUNTS)
    except NotABundle:
        head = {}
    members = {"schema", "cardinalities", "step", "groups"}
    of_groups = head.get("schema") == _SCHEMA
    if head.keys() != (members | {"merged"} if of_groups else members) or (
        not of_groups and head["schema"] != _WITHOUT_GROUPS
    ):
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
    if of_groups != (has_rounds(anchor) or is_of_marginals(anchor)):
        yield f"{COUNTS} is of another version than the plan"
        return
    yield from _table_problems(opened, head, plan)


def _table_problems(opened: Opened, head: Json, plan: Json) -> Iterator[str]:
    anchor = summed(plan, combined(plan))
    most_records = plan["privacy_unit"].get("records") or 1
    cells, stated = head["cardinalities"], _stated(head["groups"])
    if is_of_marginals(anchor):
        yield from _marginal_problems(opened, cells, head["merged"], stated, anchor)
        if head["step"] != _step(min((std for _, std in stated), default=1.0), plan["declared_size"]):
            yield f"{COUNTS}: the step does not follow from the noise and the declared size"
        return
    target = opened.manifest["label_index"]
    groups = _group_counts(head["merged"], cells) if "merged" in head else cells
    if groups is None:
        yield f"{COUNTS} does not say which codes were merged"
        return
    if target is not None and groups[target] != cells[target]:
        yield f"{COUNTS} merges classes of the target"
        return
    if groups != opened.manifest.get("groups", groups):
        yield f"{COUNTS} merges codes into other groups than the manifest"
        return
    listed = [columns for columns, _std in stated]
    possible = [
        list(
            _rounds(
                anchor,
                cells,
                groups,
                target,
                by_class=by_class,
                most_records=most_records,
                times=_learnt_records(opened, plan),
                chosen=chosen,
            )
            if "merged" in head
            else _tables(anchor, len(cells), target, by_class=by_class)
        )
        for by_class, chosen in _ways(plan, target, len(cells), frozenset(listed))
    ]
    tables = next((one for one in possible if [columns for columns, _std in one] == listed), None)
    if tables is None:
        yield f"{COUNTS} does not list every pair of columns once that the plan counts"
        return
    if any(not close(std, derived) for (_, std), (_, derived) in zip(stated, tables, strict=True)):
        yield f"{COUNTS}: a standard deviation is not that of the certified noise"
    if head["step"] != _step(min(std for _columns, std in tables), plan["declared_size"]):
        yield f"{COUNTS}: the step does not follow from the noise and the declared size"
    length = len(opened.counts or b"") + 1
    length += _BYTES_OF_CELL * sum(
        math.prod((cells if len(columns) == 1 else groups)[column] for column in columns)
        for columns in listed
    )
    if opened.files[COUNTS].bytes != length:
        yield f"{COUNTS} has not as many cells as its tables"


def _ways(plan: Json, target: int | None, columns: int, listed: Pairs) -> Iterator[tuple[bool, Pairs | None]]:
    """The ways to count: whether by class of the target, and which pairs without the target; None for all pairs."""
    if counts_combinations(plan["anchor"]):
        yield False, None
        return
    kept, screened = keeps_groups_by_class(plan), screening_sensitivity(combined(plan)) > 0
    chosen = listed if screened or keeps_screened_pairs(plan) else None
    if kept is not True:
        yield False, chosen
    if target is None or columns == 1:
        return
    if kept is not False:
        yield True, chosen
    if kept is None and chosen is None:  # noise hides all other pairs
        yield False, frozenset()


def _learnt_records(opened: Opened, plan: Json) -> int:
    """The learnt bound on records per unit, which multiplies the planned noise; 1 if it is not learnt."""
    if not learns_records(plan):
        return 1
    learnt = [column.get("records") for column in opened.domain["columns"] if column["kind"] == "unit"]
    return learnt[0] if learnt and type(learnt[0]) is int else 1


def _marginal_problems(
    opened: Opened, cells: list[int], merged: list[object], stated: list[Table], anchor: Json
) -> Iterator[str]:
    """Noisy scores chose the marginals, so only the signature attests the choice; the number of marginals and their noise are checked."""
    if any(groups is not None for groups in merged):
        yield f"{COUNTS} merges codes, which a graphical model counts one by one"
        return
    required, one_way, chosen = counted(anchor, len(cells))
    listed = [columns for columns, _std in stated]
    others = [(columns, std) for columns, std in stated if columns not in required]
    known = all(
        2 <= len(columns) <= 3  # noqa: PLR2004 - candidates are of two and three columns
        and all(0 <= one < other < len(cells) for one, other in itertools.pairwise(columns))
        for columns, _std in others
    )
    if not known or not required <= set(listed) or len(set(listed)) != len(listed):
        yield f"{COUNTS} does not list every column, and marginals of two or three"
        return
    if len(others) > anchor["rounds"] * anchor["marginals_per_round"]:
        yield f"{COUNTS} lists more marginals than the plan measured"
    right = all(close(std, one_way) for columns, std in stated if columns in required)
    if not right or not all(any(close(std, one) for one in chosen) for _columns, std in others):
        yield f"{COUNTS}: a standard deviation is not that of the certified noise"
    length = len(opened.counts or b"") + 1
    length += _BYTES_OF_CELL * sum(math.prod(cells[column] for column in columns) for columns in listed)
    if opened.files[COUNTS].bytes != length:
        yield f"{COUNTS} has not as many cells as its tables"


def _stated(groups: object) -> list[Table]:
    """The tables listed in the first line; none if the line has another form."""
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


def _group_counts(merged: object, cells: list[int]) -> list[int] | None:
    """Number of groups of codes per column; None if not stated."""
    if not isinstance(merged, list) or len(merged) != len(cells):
        return None
    counts: list[int] = []
    for groups, codes in zip(merged, cells, strict=True):
        if groups is None:
            counts.append(codes)
            continue
        whole = isinstance(groups, list) and len(groups) == codes and all(type(one) is int for one in groups)
        if not whole or min(groups) != 0 or not max(groups) + 1 == len(set(groups)) < codes:
            return None
        counts.append(len(set(groups)))
    return counts


def _rounds(
    anchor: Json,
    cells: list[int],
    groups: list[int],
    target: int | None,
    *,
    by_class: bool,
    most_records: int,
    times: int,
    chosen: Pairs | None,
) -> Iterator[Table]:
    """Tables of a two-round anchor: codes of columns, then groups of pairs, by class of the target or not, or all combinations.

    Noisy distances decided which pairs without the target a screening chose, here or in a release whose pairs are reused, so only the signature
    attests these pairs. The chosen pairs are taken as given; the noise follows from their number.
    """
    std = times * anchor["noise_multiplier"] * anchor["sensitivity"]
    powers = [codes**_COLUMN_POWER for codes in cells]
    of_columns = anchor["column_sensitivity"] / most_records
    for column, power in enumerate(powers):
        yield (column,), std / (of_columns * math.sqrt(power / math.fsum(powers)))
    if counts_combinations(anchor):
        yield tuple(range(len(cells))), std / math.sqrt(math.comb(len(cells), 2))
        return
    sliced = (target,) if by_class and target is not None else ()
    features = [column for column in range(len(cells)) if column not in sliced]
    sizes = (1, 2) if sliced else (2,)
    tables = [table for size in sizes for table in itertools.combinations(features, size)]
    squares = float(len(tables))
    if chosen is not None:
        squares = (float(anchor["table_sensitivity"]) / most_records) ** 2
        tables = [
            table
            for table in tables
            if len(table) == 1 or target in table or tuple(sorted((*sliced, *table))) in chosen
        ]
    shares = [
        math.prod(groups[column] for column in table) ** _TABLE_POWER
        * (_TARGET_WEIGHT_OF_GROUPS if not sliced and target in table else 1.0)
        for table in tables
    ]
    for table, share in zip(tables, shares, strict=True):
        yield tuple(sorted((*sliced, *table))), std / math.sqrt(squares * share / math.fsum(shares))


def _tables(anchor: Json, columns: int, target: int | None, *, by_class: bool) -> Iterator[Table]:
    """Tables of a one-round anchor: columns and pairs, by class of the target, or with more precision for pairs with the target."""
    std, weight = anchor["noise_multiplier"] * anchor["sensitivity"], anchor["diagonal_weight"]
    sliced = (target,) if by_class and target is not None else ()
    features = [column for column in range(columns) if column not in sliced]
    if sliced:
        yield sliced, std / weight
    one_std = std / (math.hypot(weight, 1.0) if sliced else weight)
    yield from ((tuple(sorted((*sliced, column))), one_std) for column in features)
    # One more record changes k - 1 pairs with the target and (k - 1)(k - 2) / 2 others; squared weights average one.
    others = columns / (2 * _TARGET_WEIGHT + columns - 2) if target is not None and not sliced else 1.0
    for first, second in itertools.combinations(features, 2):
        squared = others * _TARGET_WEIGHT if not sliced and target in (first, second) else others
        yield tuple(sorted((*sliced, first, second))), std / math.sqrt(squared)


def _step(smallest_std: float, declared_size: int) -> float:
    """The unit of the cells: at most 2^-10 of the noise, unless 32 bits could not hold eight times the declared size."""
    return float(
        2.0 ** max(math.floor(math.log2(smallest_std)) - 10, math.ceil(math.log2(declared_size)) - 28)
    )
