"""What the verifier says of a certificate that leaves its schema; libraries let some of it pass (docs/decisions/weight.md)."""

import copy
import math
from typing import Any

import pytest

from tests.core.artifacts.certified import certified
from understudy.verifying.form import problems


def _changed(place: str, value: object) -> dict[str, Any]:
    document = copy.deepcopy(certified().certificate)
    *outer, last = place.split("/")
    member = document
    for name in outer:
        member = member[name]
    member[last] = value
    return document


def test_a_certificate_has_no_problem() -> None:
    assert not list(problems(certified().certificate))


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("declared_size", float(certified().certificate["declared_size"]), "/declared_size is no integer"),
        ("declared_size", True, "/declared_size is no integer"),
        ("declared_size", 0, "/declared_size is not within the schema (minimum)"),
        ("epsilon/reported", math.nan, "/epsilon/reported is not within the schema (minimum)"),
        ("key_id", "0" * 32 + "\n", "/key_id is not within the schema (pattern)"),
        ("algorithm", "none", "/algorithm is not what every certificate of this version says"),
    ],
)
def test_a_problem_is_named_with_its_place(place: str, value: object, said: str) -> None:
    assert list(problems(_changed(place, value))) == [said]


def test_every_problem_is_named() -> None:
    document = _changed("stranger", 1)
    del document["ledger"]
    assert list(problems(document)) == ["/ledger is missing", "/stranger is not part of a certificate"]
