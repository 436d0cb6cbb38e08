"""Verifying a chain from its first entry: places, links, contents, and the law of the fold."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.ledger.books import Books
from core.ledger.chain import EMPTY, Entry, Head, hash_of
from core.ledger.errors import IllegalFold


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCheck:
    """What a verification found.

    Args:
        checked: entries whose links are intact, counted from the first.
        broken_at: sequence of the first entry that is wrong or missing; None when the chain is intact.
        problem: what is wrong there, or None.
    """

    checked: int
    broken_at: int | None = None
    problem: str | None = None

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return self.broken_at is None


def check(entries: Iterable[Entry], *, head: Head, books: Books, witness: Head | None = None) -> ChainCheck:
    """Verify a whole chain.

    Args:
        entries: all entries of a population in order of sequence.
        head: the head on the budget's row.
        books: empty books, which the entries are folded into.
        witness: a head noted earlier outside the database; the chain must pass through it.
    """
    last = EMPTY
    for entry in entries:
        problem = _problem_of_link(entry, last) or _problem_of_fold(entry, books)
        if problem is None and witness is not None and witness.sequence == entry.sequence:
            problem = None if witness == entry.head else "history differs from the one witnessed"
        if problem is not None:
            return ChainCheck(checked=last.sequence, broken_at=last.sequence + 1, problem=problem)
        last = entry.head
    problem = None
    if last != head:
        problem = "the end of the chain is not the head on the budget"
    elif witness is not None and witness.sequence > last.sequence:
        problem = "entries that were witnessed are missing"
    broken_at = None if problem is None else last.sequence + 1
    return ChainCheck(checked=last.sequence, broken_at=broken_at, problem=problem)


def _problem_of_link(entry: Entry, last: Head) -> str | None:
    if entry.sequence != last.sequence + 1:
        return "an entry is missing"
    if entry.previous_hash != last.hash:
        return "the link to the entry before is broken"
    return None if entry.hash == hash_of(entry) else "the content was changed"


def _problem_of_fold(entry: Entry, books: Books) -> str | None:
    try:
        books.take(entry)
    except IllegalFold as illegal:
        return f"the entry may not follow the ones before it: {illegal.reason}"
    return None
