"""The lines of a ledger file: a header that names the dataset, and entries of the chain, as JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Self
from uuid import UUID

from core.canonical import canonical
from core.dp.charge import Charge
from core.dp.filters import AdmissionRule
from core.ledger.entries import Decision, DecisionKind, Entry
from core.ledger.reservation import Balance, EntryKind, Movement

SCHEMA: Final = "understudy.local-ledger/1"


def line_of(document: Mapping[str, Any]) -> str:
    """A line of the file, with its line break."""
    return canonical(document).decode("ascii") + "\n"


@dataclass(frozen=True, slots=True)
class Header:
    """The first line.

    Args:
        population_id: population of the chain; opaque.
        rule: the filters that guard it.
    """

    dataset: str
    population_id: UUID
    rule: AdmissionRule

    def line(self) -> str:
        """The line as written."""
        return line_of(
            {
                "schema": SCHEMA,
                "dataset": self.dataset,
                "population_id": str(self.population_id),
                "rule": self.rule.value,
            }
        )

    def was_begun_as(self, piece: bytes) -> bool:
        """Whether a file that ends within its first line is a cut-off header."""
        whole = self.line().encode()
        unknown = whole.index(str(self.population_id).encode())
        known = min(unknown, len(piece))
        return len(piece) < len(whole) and piece[:known] == whole[:known]

    @classmethod
    def read(cls, line: str) -> Self:
        """Read the line.

        Raises:
            ValueError, KeyError, TypeError: the line is no such header.
        """
        document = json.loads(line)
        if document["schema"] != SCHEMA:
            raise ValueError("another schema")
        return cls(str(document["dataset"]), UUID(document["population_id"]), AdmissionRule(document["rule"]))


def entry_json(entry: Entry) -> dict[str, Any]:
    """An entry as the JSON of its line."""
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


def entry_from(document: Mapping[str, Any], population_id: UUID) -> Entry:
    """Read the result of `entry_json`; the chain verifies its truth.

    Raises:
        KeyError, TypeError, ValueError, AttributeError, core.errors.UnderstudyError: the document is no entry.
    """
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
