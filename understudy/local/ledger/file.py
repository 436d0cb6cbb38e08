"""The ledger of one dataset as a file: JSON lines with the hash chain and the admission rules of the service's ledger.

The first line names the dataset; each further line is one entry (`core.ledger.entries`). Lines are only appended, under an exclusive lock,
and are on disk before the paid work begins. Opening the file verifies every line from the first: link, content, running totals, and that no
reservation ever exceeded the cap.

The file protects against mistakes and crashes, and shows edited lines. It cannot protect against its owner, who can delete it, remove the
last lines, or use another name for the same records: the name is trusted.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid4

from core.clock import Clock
from core.dp.filters import AdmissionRule
from core.errors import UnderstudyError as EngineError
from core.ledger.entries import Decision, Entry, LedgerState, next_entry, verify_entries
from core.ledger.hash_chain import EMPTY, Head
from core.ledger.reservation import EntryKind, Movement, fold
from understudy.errors import InputUnusable, VerificationFailed
from understudy.local.ledger.lines import Header, entry_from, entry_json, line_of

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_OWNER_ONLY: Final = 0o600
_WRONG: Final = (KeyError, TypeError, ValueError, AttributeError, EngineError)


def ledger_path(folder: Path, dataset: object) -> Path:
    """Return the file of a dataset's ledger.

    Raises:
        InputUnusable: the name cannot be a file name.
    """
    if not isinstance(dataset, str) or _NAME.fullmatch(dataset) is None:
        message = "a dataset's name has 1 to 100 letters, digits, dots, dashes and underlines, a letter or digit first"
        raise InputUnusable(message)
    return folder / f"{dataset}.jsonl"


@dataclass(slots=True)
class OpenLedger:
    """A ledger while its lock is held: its state, and the file for new entries.

    Attributes:
        population_id: population of the chain; opaque.
        state: the fold of all entries.
    """

    path: Path
    population_id: UUID
    state: LedgerState
    entries: list[Entry]
    _descriptor: int = field(repr=False)

    @property
    def head(self) -> Head:
        """The head of the chain."""
        return self.entries[-1].head if self.entries else EMPTY

    def append(
        self, *contents: Movement | Decision, clock: Clock, mechanism: Mapping[str, Any] | None = None
    ) -> list[Head]:
        """Append entries, all of them in one write, and return the head after each of them when they are on the disk.

        The mechanism is noted with the entry that reserves it.

        Raises:
            VerificationFailed: the file was replaced.
        """
        first = len(self.entries)
        for content in contents:
            self._link(content, clock=clock, mechanism=mechanism)
        new = self.entries[first:]
        _write(self._descriptor, "".join(line_of(entry_json(entry)) for entry in new))
        if not _lies_at(self._descriptor, self.path):
            message = f"{self.path} was replaced while it was written to, so the paid work does not begin"
            raise VerificationFailed(message)
        return [entry.head for entry in new]

    def _link(
        self, content: Movement | Decision, *, clock: Clock, mechanism: Mapping[str, Any] | None
    ) -> None:
        balance, reserving = self.state.balance, False
        if isinstance(content, Movement):
            before = self.state.reservations.get(content.job_id)
            balance = balance.after(before, fold([content]) if before is None else before.after(content))
            reserving = content.kind is EntryKind.RESERVED
        entry = next_entry(
            self.head,
            population_id=self.population_id,
            content=content,
            at=clock.now(),
            balance=balance,
            mechanism=dict(mechanism) if reserving and mechanism is not None else None,
        )
        self.state.apply(entry)
        self.entries.append(entry)


@contextmanager
def opened_ledger(path: Path, dataset: str) -> Iterator[OpenLedger]:
    """Open a dataset's ledger exclusively, waiting for other processes; create it if missing.

    Raises:
        VerificationFailed: the file was altered.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _locked(path)
    try:
        content = _content(descriptor)
        whole = content.rfind(b"\n") + 1
        header = Header(dataset, uuid4(), AdmissionRule.FILTERS)
        if not whole and not header.was_begun_as(content):
            raise _damaged(path, 1, "it is not the first line of a ledger")
        if whole < len(content):
            # An incomplete last line was being written when the machine stopped, so its paid work never ran.
            os.ftruncate(descriptor, whole)
            os.fsync(descriptor)
        if not whole:
            _begin(descriptor, path, header)
        lines = content[:whole].decode("utf-8", "replace").splitlines() or [header.line()]
        yield _read(path, dataset, lines, descriptor)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    """Return the locked file at the path. Closing it, or the death of the process, releases the lock."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _lies_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        # While this process waited for the lock, an editor or a restored backup may have replaced the file.
        os.close(descriptor)


def _lies_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _content(descriptor: int) -> bytes:
    content = bytearray()
    os.lseek(descriptor, 0, os.SEEK_SET)
    while piece := os.read(descriptor, 1 << 20):
        content += piece
    return bytes(content)


def _begin(descriptor: int, path: Path, header: Header) -> None:
    _write(descriptor, header.line())
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(descriptor: int, text: str) -> None:
    os.lseek(descriptor, 0, os.SEEK_END)
    left = memoryview(text.encode("ascii"))
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _read(path: Path, dataset: str, lines: Sequence[str], descriptor: int) -> OpenLedger:
    """Verify and fold all lines.

    Raises:
        VerificationFailed: a line was altered.
    """
    try:
        header = Header.read(lines[0])
    except _WRONG:
        raise _damaged(path, 1, "it is not the first line of a ledger") from None
    if header.dataset != dataset:
        raise _damaged(path, 1, "it is the ledger of another dataset")
    entries: list[Entry] = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            entries.append(entry_from(json.loads(line), header.population_id))
        except _WRONG:
            raise _damaged(path, number, "it cannot be read") from None
    state = LedgerState(rule=header.rule)
    found = verify_entries(entries, head=entries[-1].head if entries else EMPTY, state=state)
    if found.broken_at is not None:
        raise _damaged(path, found.broken_at + 1, str(found.problem))
    return OpenLedger(path, header.population_id, state, entries, descriptor)


def _damaged(path: Path, number: int, problem: str) -> VerificationFailed:
    return VerificationFailed(
        f"{path}, line {number}: {problem}. Nothing may be spent until this is repaired: restore the file from a "
        "backup that is not older than the newest release, or treat the dataset's budget as spent."
    )
