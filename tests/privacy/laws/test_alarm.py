import math

import pytest

from tests.privacy.laws.alarm import FALSE_ALARM, SHARES, Alarm


def test_all_shares_together_are_one_in_a_million() -> None:
    assert math.fsum(SHARES.values()) <= FALSE_ALARM


def test_every_comparison_counts() -> None:
    alarm = Alarm(1e-7, comparisons=2)
    alarm.within("a", 1.0, 0.0, 2.0)
    with pytest.raises(AssertionError, match="twice"):
        alarm.within("a", 1.0, 0.0, 2.0)
    alarm.below("b", 3.0, 2.0)
    with pytest.raises(AssertionError, match="every comparison"):
        alarm.within("c", 1.0, 0.0, 2.0)
    assert alarm.side == 2.5e-8
    assert alarm.rung == ["b"]


def test_what_is_not_a_number_rings() -> None:
    alarm = Alarm(1e-7, comparisons=1)
    alarm.below("a", math.nan, 1.0)
    assert alarm.rung == ["a"]
