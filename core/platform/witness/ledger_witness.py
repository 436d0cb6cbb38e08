"""The ledger witness: note where a ledger ends outside the database before it counts, and compare ledgers with the notes.

A database that was restored from a backup verifies by itself and has forgotten what was spent since. So:

| before                                   | this is noted in every store            |
|------------------------------------------|-----------------------------------------|
| a claimed job's private rows are opened  | the entry that spent its charge         |
| a release or a report is published       | that the job has published, and what    |

A ledger that lacks something that was noted is frozen: nothing of its population is admitted or opened.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final
from uuid import UUID

from obstore.exceptions import BaseError as StoreError
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.artifacts.signing import keyring
from core.artifacts.signing.contexts import PUBLICATION
from core.artifacts.signing.signed import Signer
from core.clock import Clock
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore
from core.db.session import Database
from core.db.tables.budget import Budget
from core.errors import Unavailable
from core.ledger import governance
from core.ledger import repository as ledger_repository
from core.ledger.audit_log import append
from core.ledger.errors import PopulationFrozen
from core.ledger.hash_chain import EMPTY, Head
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.logs import get_logger
from core.platform.settings import Settings
from core.platform.witness.errors import PublishedOtherwise, WitnessInvalid
from core.platform.witness.signed_heads import signed_ledger_head, signed_publication
from core.platform.witness.verification import NOT_OURS, forgotten
from core.platform.witness.witness_store import Noted, Witnesses, head_key, publication_key

ACTOR: Final = "upkeep"
FROZEN_BECAUSE: Final = "the ledger does not verify"
POPULATIONS_KEPT: Final = 10_000


class LedgerWitness:
    """Notes heads of ledgers in every store, and freezes ledgers that lack a noted head or publication."""

    def __init__(
        self, database: Database, *, witnesses: Witnesses, master_keys: MasterKeys, clock: Clock
    ) -> None:
        self._database = database
        self._witnesses = witnesses
        self._master_keys = master_keys
        self._clock = clock
        self._agreed: OrderedDict[UUID, None] = OrderedDict()
        self._lock = threading.Lock()
        self._heads: dict[UUID, Head] = {}

    @classmethod
    def of(
        cls, settings: Settings, *, database: Database, store: ObjectStore, clock: Clock
    ) -> "LedgerWitness":
        """Return the witness that the settings describe."""
        witnesses = Witnesses.of(settings, store)
        return cls(database, witnesses=witnesses, master_keys=settings.master_keys, clock=clock)

    def require(self, population_id: UUID) -> None:
        """Compare a population's ledger with what was noted of it.

        Raises:
            PopulationFrozen: The ledger lacks something, and is frozen now.
            PopulationNotFound: No such population.
            StoreError, OSError: A store does not answer.
        """
        try:
            noted = self._witnesses.noted(population_id, public_keys=self._public_keys())
        except WitnessInvalid:
            noted = None
        self._require(population_id, noted)

    def require_once(self, population_id: UUID) -> None:
        """Call ``require``, unless this process has found the ledger to agree before. Raises the same."""
        with self._lock:
            known = population_id in self._agreed
        if not known:
            self.require(population_id)

    def require_all(self) -> list[UUID]:
        """Compare every ledger, with one listing of each store. Returns the populations that lack something, now frozen.

        Raises:
            StoreError, OSError: A store does not answer.
        """
        noted = dict(self._witnesses.noted_by_population(public_keys=self._public_keys()))
        with self._database.read_only() as session:
            populations = list(session.scalars(select(Budget.population_id)))
        broken = []
        for population_id in populations:
            try:
                self._require(population_id, noted.get(population_id, Noted()))
            except PopulationFrozen:
                broken.append(population_id)
        return broken

    def note_spend(self, population_id: UUID, job_id: UUID) -> None:
        """Note the entry that spent a job's charge. The job's rows may be opened only after this has returned.

        The ledger is compared before, so that a restored one notes nothing, and again after: if two services note different
        histories at once, at least one of them sees the other's.

        Raises:
            PopulationFrozen: The ledger lacks something that was noted, and is frozen now.
            ReservationNotFound: The job's charge was not spent.
            StoreError, OSError: A store does not answer.
        """
        self.require(population_id)
        with self._database.read_only() as session:
            spent = payment_of(session, job_id, population_id)[EntryKind.SPENT]
        signed = signed_ledger_head(self._signer(), population_id, spent, at=self._clock.now())
        if self._witnesses.add(head_key(population_id, spent), signed):
            self.require(population_id)

    def note_publication(
        self, session: Session, population_id: UUID, job_id: UUID, *, content_sha256: str | None = None
    ) -> None:
        """Note that a job publishes, inside the transaction that publishes, so that nothing is published unnoted.

        A job runs again if the service stopped before the commit, or if the database was restored. On another machine, or by other software, it may
        make something else of the same noise. That is not published beside the first.

        Args:
            content_sha256: of what was made of rows and noise; None where that is not known any more.

        Raises:
            PublishedOtherwise: Something else of this job is noted.
            StoreError, OSError: A store does not answer, so the transaction must not be committed.
        """
        key = publication_key(population_id, job_id)
        if content_sha256 is not None:
            self._require_the_same(session, key, content_sha256)
        signer = keyring.signer(session, master_keys=self._master_keys, clock=self._clock)
        spent = payment_of(session, job_id, population_id)[EntryKind.SPENT]
        signed = signed_publication(
            signer, population_id, job_id, spent, at=self._clock.now(), content_sha256=content_sha256
        )
        self._witnesses.add(key, signed)

    def _require_the_same(self, session: Session, key: str, content_sha256: str) -> None:
        """Compare what is about to be published with every note of it; one from before contents were noted says nothing.

        Raises:
            PublishedOtherwise: It differs, or the note is not signed by this service.
        """
        try:
            earlier = self._witnesses.read(key, context=PUBLICATION, public_keys=keyring.public_keys(session))
        except WitnessInvalid:
            raise PublishedOtherwise from None
        if any(one.get("content_sha256", content_sha256) != content_sha256 for one in earlier):
            raise PublishedOtherwise

    def note_decisions(self) -> int:
        """Note the heads of ledgers in which people have decided something since the last note. Returns how many.

        A ledger whose head this process has seen before is skipped.

        Raises:
            StoreError, OSError: A store does not answer.
        """
        if not self._heads:
            self.require_all()
        with self._database.read_only() as session:
            heads = {
                row.population_id: ledger_repository.head_of(row) for row in session.scalars(select(Budget))
            }
        done = 0
        for population_id, head in heads.items():
            if self._heads.get(population_id, EMPTY) != head:
                done += self._note_decision(population_id, head)
                self._heads[population_id] = head
        return done

    def _note_decision(self, population_id: UUID, head: Head) -> bool:
        try:
            self.require(population_id)
            newest = self._witnesses.noted(population_id, public_keys=self._public_keys()).newest or EMPTY
        except (PopulationFrozen, WitnessInvalid):
            return False
        with self._database.read_only() as session:
            if not ledger_repository.has_decided_since(session, population_id, sequence=newest.sequence):
                return False
        signed = signed_ledger_head(self._signer(), population_id, head, at=self._clock.now())
        return self._witnesses.add(head_key(population_id, head), signed)

    def _require(self, population_id: UUID, noted: Noted | None) -> None:
        problem: str | None = NOT_OURS
        if noted is not None:
            with self._database.read_only() as session:
                problem = forgotten(session, population_id, noted)
        with self._lock:
            self._agreed.pop(population_id, None)
            if problem is None:
                self._agreed[population_id] = None
                if len(self._agreed) > POPULATIONS_KEPT:
                    self._agreed.popitem(last=False)
        if problem is not None:
            if freeze_broken(self._database, population_id, problem, clock=self._clock):
                report_broken(self._database, population_id, problem, clock=self._clock)
            raise PopulationFrozen

    def _signer(self) -> Signer:
        with self._database.transaction() as session:
            return keyring.signer(session, master_keys=self._master_keys, clock=self._clock)

    def _public_keys(self) -> Mapping[str, bytes]:
        with self._database.read_only() as session:
            return keyring.public_keys(session)


def freeze_broken(database: Database, population_id: UUID, problem: str, *, clock: Clock) -> bool:
    """Freeze a population whose ledger does not verify. Returns whether it was not frozen before."""
    with database.transaction() as session:
        return governance.freeze(
            session, population_id, by=ACTOR, reason=f"{FROZEN_BECAUSE}: {problem}", clock=clock
        )


def report_broken(database: Database, population_id: UUID, problem: str, *, clock: Clock) -> None:
    """Log and record that a ledger does not verify."""
    get_logger().error("ledger-chain-broken", population_id=str(population_id), problem=problem)
    with database.transaction() as session:
        append(
            session,
            actor=ACTOR,
            action="ledger.verify",
            object=str(population_id),
            outcome="broken",
            at=clock.now(),
        )


def compare_at_start(witness: LedgerWitness) -> None:
    """Compare every ledger when a process starts. A store that does not answer is asked again before anything is admitted."""
    try:
        witness.require_all()
    except (StoreError, OSError, Unavailable):
        get_logger().warning("witness-not-compared", exc_info=True)
