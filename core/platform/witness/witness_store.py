"""Where signed heads are kept: in the object store, and in a second store if the operator configured one.

    witness/populations/<population>/head-<sequence>-<hash>.json       a signed head that the ledger had
    witness/populations/<population>/release-<job>.json                a signed statement that a job's output was published
    witness/populations/<population>/accepted-<sequence>-<hash>.json   an operator's signed acceptance: which of the others no longer count
    witness/ledger/<population>.json                                   the one head that earlier versions kept
    witness/audit.json                                                 the head of the audit log

Objects are only ever added to a population's folder, under names that hold everything that is compared. So no writer can
replace a newer head by an older one, in whichever order writes arrive, and a store that forbids overwriting is enough.
A forged name can only make an intact ledger look broken; acceptances, which could hide something, are verified.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from core.artifacts.signing.contexts import LEDGER_ACCEPTANCE, LEDGER_HEAD
from core.artifacts.signing.errors import SignatureInvalid, SignedFormUnknown
from core.artifacts.signing.signed import SignedDocument, verify
from core.data.errors import ObjectMissing
from core.data.objects import ObjectStore, open_store
from core.ledger.hash_chain import Head
from core.platform.settings import Settings
from core.platform.witness.errors import WitnessInvalid
from core.platform.witness.signed_heads import Acceptance, acceptance_of, ledger_head_of

AUDIT_KEY: Final = "witness/audit.json"
_LEDGERS: Final = "witness/ledger"
_POPULATIONS: Final = "witness/populations"
_UUID: Final = r"([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_OF_POPULATION: Final = re.compile(rf"{_POPULATIONS}/{_UUID}/([^/]+)")
_OF_LEDGER: Final = re.compile(rf"{_LEDGERS}/{_UUID}\.json")
_HEAD: Final = re.compile(r"(head|accepted)-(\d{1,19})-([0-9a-f]{64})\.json")
_RELEASE: Final = re.compile(rf"release-{_UUID}\.json")


def ledger_key(population_id: UUID) -> str:
    """Return the key under which earlier versions kept the head of a population's ledger."""
    return f"{_LEDGERS}/{population_id}.json"


def head_key(population_id: UUID, head: Head) -> str:
    """Return the key of a noted head of a population's ledger."""
    return f"{_POPULATIONS}/{population_id}/head-{_name(head)}.json"


def publication_key(population_id: UUID, job_id: UUID) -> str:
    """Return the key of the statement that a job's output was published."""
    return f"{_POPULATIONS}/{population_id}/release-{job_id}.json"


def acceptance_key(population_id: UUID, head: Head) -> str:
    """Return the key of an operator's acceptance of a ledger that ended at `head`."""
    return f"{_POPULATIONS}/{population_id}/accepted-{_name(head)}.json"


@dataclass(frozen=True, slots=True)
class Noted:
    """Notes of all stores about one population.

    Attributes:
        heads: Through which the chain must pass.
        published: Jobs whose output was published.
        accepted: What an operator accepted as lost; it is in neither of the other two.
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
        stores: Where they are kept. Each is a witness by itself: what any of them knows must have happened.
    """

    def __init__(self, *stores: ObjectStore) -> None:
        self._stores = stores

    @classmethod
    def of(cls, settings: Settings, store: ObjectStore) -> "Witnesses":
        """Return the witnesses in the object store and in the operator's second store."""
        return cls(store) if settings.witness_url is None else cls(store, open_store(settings.witness_url))

    def read(self, key: str, *, context: str, public_keys: Mapping[str, bytes]) -> list[Mapping[str, Any]]:
        """Return the documents that the stores hold under a key; equal ones once.

        Raises:
            WitnessInvalid: a store holds something there that this service has not signed.
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
        """Put a document into every store that has nothing under the key. Returns whether there was such a store."""
        lacking = [store for store in self._stores if not store.exists(key)]
        for store in lacking:
            store.put_bytes(key, _content(signed))
        return bool(lacking)

    def noted(self, population_id: UUID, *, public_keys: Mapping[str, bytes]) -> Noted:
        """Return what is known of a population. Call it before reading the database, or a head noted meanwhile looks lost.

        Raises:
            WitnessInvalid: the head that an earlier version kept is not signed by this service.
        """
        keys = (
            found.key for store in self._stores for found in store.list(f"{_POPULATIONS}/{population_id}")
        )
        return self._noted(population_id, (_last(key) for key in keys), public_keys)

    def noted_by_population(self, *, public_keys: Mapping[str, bytes]) -> Iterator[tuple[UUID, Noted | None]]:
        """Yield the same for every population that was ever witnessed, by one listing; None where ``noted`` would raise."""
        names: defaultdict[UUID, set[str]] = defaultdict(set)
        for store in self._stores:
            for found in store.list("witness"):
                # Objects under other names are not ours.
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
        """Read a noted head from every store that has it, and compare it with its name.

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
        """Return what an acceptance covers; nothing if it is not ours, so that what it would have hidden is found."""
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
