"""The cap that a first training sets, only if the training can be."""

from pathlib import Path
from typing import Any

import pytest

from tests.understudy.local.test_synthesizer import made, table
from understudy import UnderstudyError
from understudy.local import read_account


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"domain": "nofile.json"}, "nofile.json"),
        ({"options": {"no_option": 1}}, "no_option"),
        ({"cap": (0.5, 4e-6)}, "No cap was set"),
        ({"cap": 2.0}, "cap is a pair of numbers"),
        ({"cap": ("2", 4e-6)}, "epsilon of cap must be a number, not str"),
        ({"cap": (2.0,)}, "cap is a pair of numbers"),
        ({"epsilon": "1"}, "epsilon of the guarantee must be a number, not str"),
        ({"epsilon": True}, "epsilon of the guarantee must be a number, not bool"),
        ({"epsilon": float("nan")}, "epsilon of the guarantee must be a finite number, not nan"),
    ],
)
def test_a_training_that_is_refused_sets_no_cap(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    found = made(tmp_path)
    found.draft(table())
    found.accept_draft().set_params(**changed)
    repr(found)
    with pytest.raises(UnderstudyError, match=said):
        found.fit(table())
    assert read_account("wards", ledgers=tmp_path).cap is None
