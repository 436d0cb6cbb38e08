"""Lists that an operation of the API returns whole, shown a page at a time: a page costs the same however long they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Generic, TypeVar

from fastapi import Query

SHOWN: Final = 50
From = Annotated[int, Query(ge=0, lt=2**31)]

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Part(Generic[Item]):
    """One page of a list.

    Attributes:
        start: how many items are before it.
        next: how many items are before the next page; None on the last.
    """

    items: Sequence[Item]
    start: int
    next: int | None


def part_of(items: Sequence[Item], start: int) -> Part[Item]:
    """The page of a list that begins after so many items."""
    end = start + SHOWN
    return Part(items=items[start:end], start=start, next=end if end < len(items) else None)
