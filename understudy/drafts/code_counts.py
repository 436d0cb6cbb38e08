"""The number of codes of a draft's columns."""

import math
from typing import Any

from understudy.drafts.bin_costs import BINS
from understudy.drafts.differences import DIFFERENCE

_PATTERN_CODES = {"hour": 24, "weekday": 7, "month": 12}


def codes_at_most(draft: dict[str, Any]) -> int:
    """An upper bound on the number of codes of all columns; the service counts exactly."""
    return sum(codes_of(column) for column in draft["columns"] if column["kind"] not in {"ignored", "unit"})


def codes_of(column: dict[str, Any]) -> int:
    """The number of codes of a modelled column; see `codes_at_most`."""
    if column["kind"] == "boolean":
        codes = 2
    elif column["kind"] == "ordinal":
        codes = len(column["levels"])
    elif column["kind"] == "categorical":
        listed = column["most"] if column["categories"] == "learn" else len(column["categories"])
        codes = listed + bool(column.get("other"))
    elif DIFFERENCE in column:
        difference = column[DIFFERENCE]
        bins = len(difference["edges"]) - 1 if "edges" in difference else difference.get("bins", BINS)
        codes = bins + len(difference.get("specials", ()))
    elif "edges" in column:
        codes = len(column["edges"]) - 1 + len(column.get("specials", ()))
    elif column.get("bins") == 1:
        codes = 1 + len(column["specials"])
    elif column["kind"] == "numeric" and (column["type"] == "integer" or "decimals" in column):
        points = (column["upper"] - column["lower"]) * 10 ** column.get("decimals", 0) + 1
        codes = min(BINS, math.ceil(points)) + len(column.get("specials", ()))
    else:
        codes = BINS + len(column.get("specials", ()))
    missing = column.get("null") == "category"
    return codes + missing + sum(_PATTERN_CODES[pattern] + missing for pattern in column.get("patterns", ()))
