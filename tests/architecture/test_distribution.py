from pathlib import Path

import pytest

from tests.distribution import LONGEST, SHARED, SPREAD, WAITING, group_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("path", sorted({*LONGEST, *SHARED, *SPREAD, *WAITING}))
def test_every_named_path_is_there(path: str) -> None:
    assert (ROOT / path).is_dir() or (ROOT / f"{path}.py").is_file()


def test_a_file_or_what_shares_a_stack_is_one_group_and_a_long_file_of_lone_tests_many() -> None:
    assert group_of("tests/core/test_a.py::test_x[1]") == group_of("tests/core/test_a.py::test_y")
    assert group_of("tests/core/test_a.py::test_x") != group_of("tests/core/test_b.py::test_x")
    assert group_of("tests/privacy/leaks/test_a.py::test_x") == group_of(
        "tests/privacy/leaks/test_b.py::test_x"
    )
    assert group_of("tests/understudy/verifying/test_every_plan.py::test_x[1]") != group_of(
        "tests/understudy/verifying/test_every_plan.py::test_x[2]"
    )
