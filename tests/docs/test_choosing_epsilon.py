"""The table of what epsilon bounds: every number is the bound, rounded up by less than one of its last digit."""

import math
import re
from decimal import Decimal
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "choosing-epsilon.md").read_text()
ROWS = re.findall(r"^\| ([\d.]+) \| ([\d.,]+) \| ([\d.]+) % \| ([\d.]+) % \|$", PAGE, flags=re.MULTILINE)


def test_the_table_is_there() -> None:
    assert len(ROWS) == 6


@pytest.mark.parametrize(("epsilon", "factor", "even", "rare"), ROWS)
def test_a_row_promises_no_more_than_the_bound(epsilon: str, factor: str, even: str, rare: str) -> None:
    likelier = math.exp(float(epsilon))
    for told, bound in (
        (factor.replace(",", ""), likelier),
        (even, 100 * likelier / (1 + likelier)),
        (rare, 100 * likelier / (99 + likelier)),
    ):
        last = 10.0 ** Decimal(told).as_tuple().exponent
        assert bound <= float(told) < bound + last, (epsilon, told, bound)
