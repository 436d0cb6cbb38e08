from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from core.canonical import canonical
from core.errors import InvalidInput
from core.values import Count, OrAbsent, Positive, Published, Value, adapter_of, derived


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    noise: float
    learning: OrAbsent[str] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Value):
    UNREADABLE = InvalidInput, "no such form"

    version: Literal[1] = 1
    size: Annotated[int, Published(Count)]
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        if self.size < 1:
            raise OverflowError("out of range")

    @derived
    def total(self) -> Annotated[float, Published(Positive)]:
        return sum(part.noise for part in self.parts)


VALUE = Whole(size=2, parts=(Part(noise=1.5), Part(noise=2.0, learning="bins")))
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "size": 2,
    "parts": [{"noise": 1.5}, {"noise": 2.0, "learning": "bins"}],
    "total": 3.5,
}


def test_a_value_is_written_with_its_derived_members_and_read_back():
    assert VALUE.to_json() == DOCUMENT
    assert Whole.from_json(DOCUMENT) == VALUE
    assert Whole(size=2, parts=(Part(noise=2),)).to_json()["parts"] == [{"noise": 2.0}]
    assert canonical(VALUE.to_json()) == canonical(DOCUMENT)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"version": True},
        {"size": True},
        {"size": 2.0},
        {"size": "2"},
        {"parts": [{"noise": 1.5}]},
        {"parts": [{"noise": "1.5"}, {"noise": 2.0}]},
        {"parts": [{"noise": 1.5}, {"noise": 2, "learning": "bins"}]},
        {"parts": [{"noise": 1.5}, {"noise": 2.0, "learning": None}]},
        {"parts": [{"noise": 1.5}, {"noise": 2.0, "learning": "bins", "more": 1}]},
        {"parts": [{"noise": 1.5}, {"noise": float("nan"), "learning": "bins"}]},
        {"parts": None},
        {"total": 3.0},
        {"more": 1},
        {"more": {1, 2}},
    ],
    ids=str,
)
def test_what_the_value_is_not_written_as_is_refused(change: dict[str, Any]):
    with pytest.raises(InvalidInput, match="no such form") as refused:
        Whole.from_json(DOCUMENT | change)
    assert refused.value.__suppress_context__


@pytest.mark.parametrize("name", DOCUMENT)
def test_every_member_is_required(name: str):
    with pytest.raises(InvalidInput):
        Whole.from_json({key: member for key, member in DOCUMENT.items() if key != name})


def test_a_member_that_came_later_may_be_missing():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Anchor(Value):
        UNREADABLE = InvalidInput, "no such form"

        noise: float
        column_sensitivity: float = 0.0

    assert Anchor.from_json({"noise": 1.0}) == Anchor(noise=1.0)


def test_a_value_out_of_range_is_refused_by_its_class():
    with pytest.raises(OverflowError):
        Whole.from_json(DOCUMENT | {"size": 0})


def test_the_schema_is_the_published_one():
    schema = adapter_of(Whole).json_schema(mode="serialization")
    assert schema["properties"]["size"] == {
        "minimum": 1, "maximum": 10**12, "title": "Size", "type": "integer",
    }  # fmt: skip
    assert schema["properties"]["total"]["exclusiveMinimum"] == 0
    assert schema["$defs"]["Part"]["properties"]["learning"]["type"] == "string"
