"""Hash chains: editing, removing or reordering a link breaks every later one. The ledger and the audit log are chains.

The hash of a link is SHA-256 over the hash of the link before (32 zero bytes for the first) followed by the link's
content as canonical JSON. Whoever can rewrite the whole database can rewrite a chain. Against that, and against a
restored backup, a head noted elsewhere (a witness) must lie on the chain.
"""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Self, TypeVar

from core.canonical import canonical

NO_HASH: Final = bytes(32)
HISTORY_DIFFERS: Final = "history differs from the one witnessed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The end of a chain: the number of its links and the hash of the last."""

    sequence: int
    hash: bytes


EMPTY: Final = Head(sequence=0, hash=NO_HASH)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainLink(ABC):
    """One link; each kind of chain adds its content.

    Attributes:
        previous_hash: the hash of the link before.
        hash: the link's own hash, as stored.
    """

    previous_hash: bytes = NO_HASH
    hash: bytes = NO_HASH

    @property
    @abstractmethod
    def head(self) -> Head:
        """The head of the chain that ends with this link."""

    @abstractmethod
    def content(self) -> Mapping[str, Any] | None:
        """The JSON object that the hash covers; None if what it described is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainCheck:
    """The result of a verification.

    Attributes:
        checked: how many links are intact, counted from the first.
        broken_at: the place of the first link that is wrong or missing, if the problem has a place.
        problem: what is wrong, in constant words; None for an intact chain.
        head: the head of the intact part.
    """

    checked: int = 0
    broken_at: int | None = None
    problem: str | None = None
    head: Head = EMPTY

    @property
    def intact(self) -> bool:
        """Whether no problem was found."""
        return self.problem is None

    def broken(self, problem: str) -> Self:
        """The same check with a problem after the links that are intact."""
        return replace(self, broken_at=self.checked + 1, problem=problem)


Link = TypeVar("Link", bound=ChainLink)


@dataclass(frozen=True, slots=True, kw_only=True)
class HashChain(Generic[Link]):
    """One kind of chain.

    Attributes:
        noun: what messages call a link; it begins with a vowel.
        plural: its plural.
    """

    noun: str
    plural: str

    def append(self, head: Head, link: Link) -> Link:
        """Hash `link` as the successor of `head`. The caller stores it.

        Raises:
            ValueError: the link has another place than the one after `head`.
        """
        if link.head.sequence != head.sequence + 1:
            raise ValueError("the link does not follow the head")
        return replace(link, previous_hash=head.hash, hash=self._hash(head.hash, link.content()))

    def hash_of(self, link: Link) -> bytes:
        """The hash that a link must carry, given its content and the hash that it names as the one before."""
        return self._hash(link.previous_hash, link.content())

    def verify(
        self,
        links: Iterable[Link],
        *,
        end: Head | None = None,
        witnesses: Iterable[Head] = (),
        rule: Callable[[Link], str | None] = lambda _: None,
    ) -> ChainCheck:
        """Verify a chain from its first link: places, hashes, contents, and that it passes through every witness.

        Args:
            links: all links in order.
            end: the head that is kept beside the chain (a ledger's on its budget's row), if any.
            witnesses: heads noted earlier outside the database.
            rule: what else is wrong with a link, in constant words. It sees every link once, in order.
        """
        noted = list(witnesses)
        last = EMPTY
        for link in links:
            problem = self._problem(link, last) or rule(link)
            if problem is None and any(w.sequence == link.head.sequence and w != link.head for w in noted):
                problem = HISTORY_DIFFERS
            if problem is not None:
                return ChainCheck(checked=last.sequence, head=last).broken(problem)
            last = link.head
        found = ChainCheck(checked=last.sequence, head=last)
        if end is not None and last != end:
            return found.broken("the end of the chain is not the head on the budget")
        if any(witness.sequence > last.sequence for witness in noted):
            return found.broken(self.witnessed_missing)
        return found

    @property
    def witnessed_missing(self) -> str:
        """The problem of a chain that is shorter than a witness."""
        return f"{self.plural} that were witnessed are missing"

    def _problem(self, link: Link, last: Head) -> str | None:
        if link.head.sequence != last.sequence + 1:
            return f"an {self.noun} is missing"
        if link.previous_hash != last.hash:
            return f"the link to the {self.noun} before is broken"
        content = link.content()
        if content is None:
            return f"an {self.noun} was removed"
        if link.hash != self._hash(last.hash, content):
            return f"the content of an {self.noun} was changed"
        return None

    @staticmethod
    def _hash(previous_hash: bytes, content: Mapping[str, Any] | None) -> bytes:
        return hashlib.sha256(previous_hash + canonical(content or {})).digest()
