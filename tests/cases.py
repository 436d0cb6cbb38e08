"""Cases of a parametrised proof that run on every change, and the others, which run weekly in `make check-long`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def daily(cases: Iterable[Any], *, some: Collection[Any]) -> list[Any]:
    """All cases, those marked `long` that are not among `some`.

    Args:
        cases: What `pytest.mark.parametrize` takes; a tuple is the values of several names.
        some: The cases that stay daily: the ends of a range and a middle, or one case of each kind.

    Raises:
        AssertionError: A daily case is no case at all, so the proof would run on fewer changes than it says.
    """
    listed = list(cases)
    assert some, "a proof has a daily case"
    assert all(case in listed for case in some), (
        f"{[case for case in some if case not in listed]} are no cases"
    )
    return [case if case in some else _weekly(case) for case in listed]


def _weekly(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.long)
