import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.data.errors import TooManyUnits
from core.data.intake.unit_limit import UNITS_PER_DECLARED, UnitLimit
from core.plan.defaults import sampled_batch_cap


def _batch(units):
    return pa.record_batch({"person": pa.array([str(unit) for unit in units], pa.string())})


@given(st.lists(st.integers(0, 30), max_size=80), st.integers(1, 20))
def test_people_are_counted_once_however_often_they_come(people, declared):
    limit = UnitLimit(declared_size=declared, unit_column="person")

    def count_all():
        for start in range(0, len(people), 7):
            limit.see(_batch(people[start : start + 7]))
        limit.finish()

    if len(set(people)) > UNITS_PER_DECLARED * declared:
        with pytest.raises(TooManyUnits):
            count_all()
    else:
        count_all()


def test_records_are_counted_where_each_is_its_own_unit():
    limit = UnitLimit(declared_size=3, unit_column=None)
    limit.see(_batch([1, 1, 1, 1]))
    limit.see(_batch([1, 1]))
    limit.finish()
    with pytest.raises(TooManyUnits) as caught:
        limit.see(_batch([1]))
    assert "7" not in caught.value.detail, "the number of rows is private"


@pytest.mark.parametrize("batch", [1, 10, 100, 150, 256, 1000, 2048, 10**5])
def test_within_the_limit_a_batch_over_the_cap_never_happens(batch):
    mean, cap = UNITS_PER_DECLARED * batch, sampled_batch_cap(batch)
    exponent = cap * math.log(cap / mean) - cap + mean  # Chernoff's bound for a sum of coins
    assert exponent > 300
