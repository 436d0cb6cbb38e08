"""A ledger of one dataset as a file: JSON lines under the chain of hashes, and the law, of the service's own ledger.

The first line names the dataset; each further line is one entry (`core.ledger.chain`). Lines are only ever appended,
under an exclusive lock, and are on the disk before anything that they pay for begins. Opening verifies every line from
the first: link, content, running totals, and that nothing was ever reserved above the cap.

The file guards against mistakes and crashes, and shows edited lines. It cannot guard against its owner, who can delete
it, cut whole lines off its end, or call the same records by another name: the name is what is trusted.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Self
from uuid import UUID, uuid4

from core.clock import Clock
from core.errors import UnderstudyError as EngineError
from core.ledger.balance import Balance
from core.ledger.books import Books
from core.ledger.chain import EMPTY, Entry, Head, link
from core.ledger.decisions import Decision, DecisionKind
from core.ledger.reservation import EntryKind, Movement, fold
from core.ledger.verification import check
from core.privacy.charge import Charge
from core.privacy.filters import AdmissionRule
from understudy.errors import InputUnusable, VerificationFailed

SCHEMA: Final = "understudy.local-ledger/1"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWNER_ONLY: Final = 0o600
_WRONG: Final = (KeyError, TypeError, ValueError, AttributeError, EngineError)


def ledger_path(folder: Path, dataset: str) -> Path:
    """Give the file of a dataset's ledger.

    Args:
        folder: where ledgers are.
        dataset: what the dataset is called.

    Raises:
        InputUnusable: the name cannot be a file's.
    """
    if _NAME.fullmatch(dataset) is None:
        message = "a dataset's name has 1 to 100 letters, digits, dots, dashes and underlines, a letter or digit first"
        raise InputUnusable(message)
    return folder / f"{dataset}.jsonl"


@dataclass(slots=True)
class OpenLedger:
    """A ledger while its lock is held: what it amounts to, and where entries are appended.

    Attributes:
        path: the file.
        population_id: whose chain it is; opaque.
        books: what all entries amount to.
        entries: all of them.
    """

    path: Path
    population_id: UUID
    books: Books
    entries: list[Entry]
    _descriptor: int = field(repr=False)

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return self.entries[-1].head if self.entries else EMPTY

    def append(
        self,
        *contents: Movement | Decision,
        clock: Clock,
        mechanism: Mapping[str, Any] | None = None,
    ) -> list[Head]:
        """Append entries, all of them in one write, and return when they are on the disk.

        Args:
            contents: what happens, in order.
            clock: dates it.
            mechanism: what is reserved, noted with the entry that reserves.

        Returns:
            The head after each.
        """
        first = len(self.entries)
        for content in contents:
            self._link(content, clock=clock, mechanism=mechanism)
        new = self.entries[first:]
        _write(self._descriptor, "".join(_line(_entry_json(entry)) for entry in new))
        return [entry.head for entry in new]

    def _link(
        self, content: Movement | Decision, *, clock: Clock, mechanism: Mapping[str, Any] | None
    ) -> None:
        balance, reserving = self.books.balance, False
        if isinstance(content, Movement):
            before = self.books.reservations.get(content.job_id)
            balance = balance.after(before, fold([content]) if before is None else before.after(content))
            reserving = content.kind is EntryKind.RESERVED
        entry = link(
            self.head,
            population_id=self.population_id,
            content=content,
            at=clock.now(),
            balance=balance,
            mechanism=dict(mechanism) if reserving and mechanism is not None else None,
        )
        self.books.take(entry)
        self.entries.append(entry)


@contextmanager
def opened_ledger(path: Path, dataset: str) -> Iterator[OpenLedger]:
    """Open a dataset's ledger alone, waiting for whoever has it open; make it where there is none.

    Args:
        path: the file.
        dataset: what the dataset is called.

    Raises:
        VerificationFailed: the file is not what was written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
    try:
        # Let go when the file is closed, so also when the process dies.
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        lines = _whole_lines(descriptor)
        if not lines:
            lines = [_new_header(descriptor, path, dataset)]
        yield _read(path, dataset, lines, descriptor)
    finally:
        os.close(descriptor)


def _whole_lines(descriptor: int) -> list[str]:
    """The lines that were written to their end.

    A last line without its end was being written when the machine stopped: whoever wrote it never went on to what it
    would have paid for, so it is cut off.
    """
    content = bytearray()
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, 1 << 20):
        content += piece
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.ftruncate(descriptor, whole)
        os.fsync(descriptor)
    return content[:whole].decode("utf-8", "replace").splitlines()


def _new_header(descriptor: int, path: Path, dataset: str) -> str:
    header = {
        "schema": SCHEMA,
        "dataset": dataset,
        "population_id": str(uuid4()),
        "rule": AdmissionRule.FILTERS.value,
    }
    line = _line(header)
    _write(descriptor, line)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return line


def _write(descriptor: int, text: str) -> None:
    os.lseek(descriptor, 0, os.SEEK_END)
    left = memoryview(text.encode("ascii"))
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _line(document: Mapping[str, Any]) -> str:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False) + "\n"


@dataclass(frozen=True, slots=True)
class _Header:
    dataset: str
    population_id: UUID
    rule: AdmissionRule

    @classmethod
    def read(cls, line: str) -> Self:
        document = json.loads(line)
        if document["schema"] != SCHEMA:
            raise ValueError("another schema")
        return cls(str(document["dataset"]), UUID(document["population_id"]), AdmissionRule(document["rule"]))


def _read(path: Path, dataset: str, lines: Sequence[str], descriptor: int) -> OpenLedger:
    """Verify every line and fold them all.

    Raises:
        VerificationFailed: one is not what was written.
    """
    try:
        header = _Header.read(lines[0])
    except _WRONG:
        raise _damaged(path, 1, "it is not the first line of a ledger") from None
    if header.dataset != dataset:
        raise _damaged(path, 1, "it is the ledger of another dataset")
    entries: list[Entry] = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            entries.append(_entry_from(json.loads(line), header.population_id))
        except _WRONG:
            raise _damaged(path, number, "it cannot be read") from None
    books = Books(rule=header.rule)
    found = check(entries, head=entries[-1].head if entries else EMPTY, books=books)
    if found.broken_at is not None:
        raise _damaged(path, found.broken_at + 1, str(found.problem))
    return OpenLedger(path, header.population_id, books, entries, descriptor)


def _damaged(path: Path, number: int, problem: str) -> VerificationFailed:
    return VerificationFailed(
        f"{path}, line {number}: {problem}. Nothing may be spent until somebody has looked: put the file back from a "
        "backup that is not older than the newest release, or treat the dataset's budget as spent."
    )


def _entry_json(entry: Entry) -> dict[str, Any]:
    document: dict[str, Any] = {
        "sequence": entry.sequence,
        "kind": entry.kind,
        "at": entry.at.isoformat(timespec="microseconds"),
        "balance": None if entry.balance is None else entry.balance.to_numbers(),
        "previous_hash": entry.previous_hash.hex(),
        "hash": entry.hash.hex(),
    }
    if entry.movement is not None:
        document |= {"job_id": str(entry.movement.job_id), "charge": entry.movement.charge.to_json()}
    if entry.decision is not None:
        document |= {"terms": entry.decision.terms}
    return document | ({} if entry.mechanism is None else {"mechanism": entry.mechanism})


def _entry_from(document: Mapping[str, Any], population_id: UUID) -> Entry:
    movement, decision = None, None
    if "terms" in document:
        decision = Decision(kind=DecisionKind(document["kind"]), terms=dict(document["terms"]))
    else:
        charge = Charge.from_json(document["charge"])
        movement = Movement(kind=EntryKind(document["kind"]), job_id=UUID(document["job_id"]), charge=charge)
    return Entry(
        population_id=population_id,
        sequence=int(document["sequence"]),
        movement=movement,
        decision=decision,
        mechanism=document.get("mechanism"),
        fence=None,
        at=datetime.fromisoformat(document["at"]),
        balance=Balance.from_numbers(document["balance"]),
        grant_balance=None,
        previous_hash=bytes.fromhex(document["previous_hash"]),
        hash=bytes.fromhex(document["hash"]),
    )
