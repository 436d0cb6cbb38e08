"""The private table with canaries in it, and its neighbour without them: what the two stages are set up with."""

from collections.abc import Iterator
from typing import Any, Final

from tests.privacy.leaks.canaries import COUNT, NUMBER, PERSON, WARD

DECLARED_SIZE: Final = 110_000
REFUSED: Final = 17
DOMAIN: Final[dict[str, Any]] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": "person",
    "columns": [
        {"name": "person", "kind": "unit"},
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "other": "elsewhere"},
        {
            "name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 10, "bins": 4, "outside": "clamp",
            "infinite": "clamp", "null": "category",
        },
        {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
    ],
    # One of the persons with canaries breaks it.
    "rules": [{"kind": "impossible", "columns": ["ward", "sick"], "combinations": [["elsewhere", "yes"]]}],
}  # fmt: skip
_ORDINARY: Final = "{person}{number},{ward},{dose},{sick}\n"


REFUSED_LINE = f"{PERSON}z,A,1.0,{WARD}\n".encode()


def with_canaries() -> bytes:
    """COUNT acceptable rows and a few that are refused; the words and the number stand in many of them."""
    lines = [
        *_ordinary(COUNT - 3),
        f"{PERSON}x,{WARD},{NUMBER},yes\n",
        f"{PERSON}x,A,-{NUMBER},no\n",
        f"{PERSON}y,{WARD},NaN,no\n",
        *[REFUSED_LINE.decode()] * REFUSED,
    ]
    return ("person,ward,dose,sick\n" + "".join(lines)).encode()


def neighbour() -> bytes:
    """The same without three persons: other counts, no extreme value, no unknown category, nothing refused."""
    return ("person,ward,dose,sick\n" + "".join(_ordinary(COUNT - 3))).encode()


def _ordinary(count: int) -> Iterator[str]:
    for number in range(count):
        yield _ORDINARY.format(
            person=PERSON,
            number=number,
            ward="AB"[number % 2],
            dose=number % 10,
            sick=("yes", "no")[number % 3 == 0],
        )
