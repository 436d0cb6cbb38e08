"""Where signed heads are kept: in the object store, and in a second store where the operator named one.

    witness/populations/<population>/head-<sequence>-<hash>.json       a signed head that the ledger had
    witness/populations/<population>/release-<job>.json                a signed statement that a job's output was published
    witness/populations/<population>/accepted-<sequence>-<hash>.json   an operator's word, signed: which of the others count no more
    witness/ledger/<population>.json                                   the one head that earlier versions kept
    witness/audit.json                                                 the head of the audit log

What a population's folder holds is only ever added to, under names that say all that is compared. So no writer can put an
older head in the place of a newer one, in whichever order writes arrive, and a store that allows no overwriting will do.
A name that somebody forged can only make a whole ledger look broken; acceptances, which could hide something, are verified.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from core.settings import Settings
from core.signing.contexts import LEDGER_ACCEPTANCE, LEDGER_HEAD
from core.signing.errors import SignatureInvalid, SignedFormUnknown
from core.signing.hash_chain import Head
from core.signing.signed import SignedDocument, verify
from core.storage.errors import ObjectMissing
from core.storage.objects import ObjectStore, open_store
from core.witness.errors import WitnessInvalid
from core.witness.heads import Acceptance, acceptance_of, ledger_head_of

AUDIT_KEY: Final = "witness/audit.json"
_LEDGERS: Final = "witness/ledger"
_POPULATIONS: Final = "witness/populations"
_UUID: Final = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_OF_POPULATION: Final = re.compile(rf"{_POPULATIONS}/{_UUID}/([^/]+)")
_OF_LEDGER: Final = re.compile(rf"{_LEDGERS}/{_UUID}\.json")
_HEAD: Final = re.compile(r"(head|accepted)-(\d{1,19})-([0-9a-f]{64})\.json")
_RELEASE: Final = re.compile(rf"release-{_UUID}\.json")


def ledger_key(population_id: UUID) -> str:
    """Where earlier versions kept the head of a population's ledger."""
    return f"{_LEDGERS}/{population_id}.json"


def head_key(population_id: UUID, head: Head) -> str:
    """Where a head of a population's ledger lies."""
    return f"{_POPULATIONS}/{population_id}/head-{_name(head)}.json"


def publication_key(population_id: UUID, job_id: UUID) -> str:
    """Where it is stated that a job's output was published."""
    return f"{_POPULATIONS}/{population_id}/release-{job_id}.json"


def acceptance_key(population_id: UUID, head: Head) -> str:
    """Where an operator's acceptance of a ledger that ended at `head` lies."""
    return f"{_POPULATIONS}/{population_id}/accepted-{_name(head)}.json"


@dataclass(frozen=True, slots=True)
class Noted:
    """What the stores know of one population.

    Args:
        heads: Through which the chain must pass.
        published: Jobs whose output was published.
        accepted: What counts no more, on an operator's word.
    """

    heads: frozenset[Head] = frozenset()
    published: frozenset[UUID] = frozenset()
    accepted: Acceptance = field(default_factory=Acceptance)

    @property
    def newest(self) -> Head | None:
        """The head with the highest sequence."""
        return max(self.heads, key=lambda head: (head.sequence, head.hash), default=None)


class Witnesses:
    """Signed heads, the same in every store.

    Args:
        stores: Where they are kept. Each on its own is a witness: what any of them knows must have happened.
    """

    def __init__(self, *stores: ObjectStore) -> None:
        self._stores = stores

    @classmethod
    def of(cls, settings: Settings, store: ObjectStore) -> "Witnesses":
        """The object store, and the operator's second place."""
        return cls(store) if settings.witness_url is None else cls(store, open_store(settings.witness_url))

    def read(self, key: str, *, context: str, public_keys: Mapping[str, bytes]) -> list[Mapping[str, Any]]:
        """What the stores that hold an object say in it; equal statements once.

        Raises:
            WitnessInvalid: something lies there that this service has not signed.
        """
        found: list[Mapping[str, Any]] = []
        for store in self._stores:
            try:
                signed = SignedDocument.from_json(json.loads(store.get_bytes(key)))
                document = verify(signed, context=context, public_keys=public_keys)
            except ObjectMissing:
                continue
            except (ValueError, SignedFormUnknown, SignatureInvalid):
                raise WitnessInvalid from None
            if document not in found:
                found.append(document)
        return found

    def write(self, key: str, signed: SignedDocument) -> None:
        """Put a document into every store, replacing the one before."""
        for store in self._stores:
            store.put_bytes(key, _content(signed))

    def add(self, key: str, signed: SignedDocument) -> bool:
        """Put a document into every store that has nothing under the key. Returns whether any had not."""
        lacking = [store for store in self._stores if not store.exists(key)]
        for store in lacking:
            store.put_bytes(key, _content(signed))
        return bool(lacking)

    def noted(self, population_id: UUID, *, public_keys: Mapping[str, bytes]) -> Noted:
        """What is known of a population. Read it before the database: what is noted meanwhile must not look lost.

        Raises:
            WitnessInvalid: the head that an earlier version kept is not signed by this service.
        """
        keys = (
            found.key for store in self._stores for found in store.list(f"{_POPULATIONS}/{population_id}")
        )
        return self._noted(population_id, (_last(key) for key in keys), public_keys)

    def noted_by_population(self, *, public_keys: Mapping[str, bytes]) -> Iterator[tuple[UUID, Noted | None]]:
        """The same of every population that was ever witnessed, by one listing; None where ``noted`` would raise."""
        names: defaultdict[UUID, set[str]] = defaultdict(set)
        for store in self._stores:
            for found in store.list("witness"):
                # What has another name belongs to somebody else.
                if key := _OF_POPULATION.fullmatch(found.key):
                    names[UUID(key[1])].add(key[2])
                elif key := _OF_LEDGER.fullmatch(found.key):
                    names[UUID(key[1])] |= set()
        for population_id, of_one in names.items():
            try:
                yield population_id, self._noted(population_id, of_one, public_keys)
            except WitnessInvalid:
                yield population_id, None

    def require_signed(self, population_id: UUID, head: Head, *, public_keys: Mapping[str, bytes]) -> None:
        """Read a noted head, wherever it lies, and hold it against its name.

        Raises:
            WitnessInvalid: this service has not signed it.
        """
        documents = self.read(head_key(population_id, head), context=LEDGER_HEAD, public_keys=public_keys)
        if any(ledger_head_of(document, population_id) != head for document in documents):
            raise WitnessInvalid

    def _noted(self, population_id: UUID, names: Iterable[str], public_keys: Mapping[str, bytes]) -> Noted:
        kept = self.read(ledger_key(population_id), context=LEDGER_HEAD, public_keys=public_keys)
        heads = {ledger_head_of(document, population_id) for document in kept}
        published: set[UUID] = set()
        accepted = Acceptance()
        for name in set(names):
            if release := _RELEASE.fullmatch(name):
                published.add(UUID(release[1]))
            elif noted := _HEAD.fullmatch(name):
                head = Head(sequence=int(noted[2]), hash=bytes.fromhex(noted[3]))
                if noted[1] == "head":
                    heads.add(head)
                else:
                    accepted |= self._acceptance(population_id, head, public_keys)
        return Noted(
            heads=frozenset(heads - accepted.heads),
            published=frozenset(published - accepted.jobs),
            accepted=accepted,
        )

    def _acceptance(self, population_id: UUID, head: Head, public_keys: Mapping[str, bytes]) -> Acceptance:
        """What an acceptance lets go; nothing where it is not ours, so that what it would have hidden is found."""
        key = acceptance_key(population_id, head)
        try:
            documents = self.read(key, context=LEDGER_ACCEPTANCE, public_keys=public_keys)
            accepted = Acceptance()
            for document in documents:
                accepted |= acceptance_of(document, population_id)
        except WitnessInvalid:
            return Acceptance()
        return accepted


def _content(signed: SignedDocument) -> bytes:
    return json.dumps(signed.to_json(), indent=1).encode()


def _last(key: str) -> str:
    return key.rpartition("/")[2]


def _name(head: Head) -> str:
    return f"{head.sequence:012d}-{head.hash.hex()}"
