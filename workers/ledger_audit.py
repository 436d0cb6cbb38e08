"""Verifying every population's ledger, and the audit log, against witnesses outside the database.

The hash chain shows a change inside a ledger. But a database restored from an old backup is consistent in itself and has
merely forgotten what was spent. So signed heads are noted in the object store and in the operator's second place, before
private rows are opened (core.platform.witness.ledger_witness) and here, and the chain must pass through all of them. Publications are noted
too, and every certified bundle in the object store quotes the link that paid for it: the database must know them all. A
ledger that does not verify is frozen, and every audit reports it until a person has dealt with it.

`python -m workers.ledger_audit` verifies now; its exit status is 1 if something is broken. After a restore that the
operator answers for, `--accept POPULATION` notes which heads, publications and bundles no longer count, and the present head.
The dataset stays frozen until an admin unfreezes it. The ledger no longer knows what the lost entries spent: lower the cap by
that first.
"""

import argparse
import json
import struct
import sys
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from itertools import islice
from typing import Any, Final
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.artifacts.bundle import CERTIFICATE
from core.artifacts.signing import keyring
from core.artifacts.signing.signed import Signer
from core.clock import Clock, SystemClock
from core.data.errors import ObjectMissing
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore, open_store
from core.db.session import UPKEEP_STATEMENT_SECONDS, Database
from core.db.tables.budget import Budget
from core.db.tables.dataset import Dataset
from core.db.tables.job import Job
from core.db.tables.release import Release
from core.jobs.repository import reads_one_of
from core.jobs.states import JobState
from core.ledger import audit_log
from core.ledger import repository as ledger_repository
from core.ledger.audit_log import AuditCheck, append
from core.ledger.hash_chain import ChainCheck, Head
from core.ledger.repository import unpaid
from core.logs import configure_logs, get_logger
from core.platform.settings import Settings, read_settings
from core.platform.stored_objects import BUNDLE
from core.platform.witness.ledger_witness import ACTOR, LedgerWitness, freeze_broken, report_broken
from core.platform.witness.signed_heads import (
    Acceptance,
    signed_acceptance,
    signed_audit_head,
    signed_ledger_head,
)
from core.platform.witness.verification import (
    POPULATION_MISSING,
    check_audit,
    check_ledger,
    strange_heads,
    strange_jobs,
)
from core.platform.witness.witness_store import AUDIT_KEY, Witnesses, acceptance_key, head_key, ledger_key
from workers.round_notes import mark_forgotten_rounds

_BUNDLE: Final = "a certified bundle is stored that the ledger has not paid for"
_UNPAID: Final = "something is published that the ledger has not paid for"


_BATCH: Final = 500
# What zipfile raises for damaged or exotic archives.
_DAMAGE: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, KeyError, ValueError, EOFError, RuntimeError, OverflowError,
)  # fmt: skip
_MAX_BYTES: Final = 2**26


class LedgerAudit:
    """One verification of everything; `master_keys` open the signing key."""

    def __init__(
        self,
        database: Database,
        store: ObjectStore,
        *,
        witnesses: Witnesses,
        master_keys: MasterKeys,
        clock: Clock,
    ) -> None:
        self._database = database
        self._store = store
        self._witnesses = witnesses
        self._master_keys = master_keys
        self._clock = clock
        self._keeper = LedgerWitness(database, witnesses=witnesses, master_keys=master_keys, clock=clock)

    @classmethod
    def of(cls, settings: Settings, *, database: Database, store: ObjectStore, clock: Clock) -> "LedgerAudit":
        """The audit that the settings describe."""
        witnesses = Witnesses.of(settings, store)
        return cls(database, store, witnesses=witnesses, master_keys=settings.master_keys, clock=clock)

    def ledgers(self) -> dict[UUID, ChainCheck]:
        """Verify all ledgers. Note the heads of intact ones; freeze, log and record the others. Returns what was found.

        Raises:
            DatabaseUnavailable: The database is away.
            SealBroken: The signing key is sealed under another master key.
        """
        signer, public_keys = self._keys()
        with self._database.read_only() as session:
            populations = set(session.scalars(select(Budget.population_id)))
        bundles = _forgotten_bundles(self._database, self._store)
        found = {
            each: self._ledger(each, signer, public_keys, bundles.get(each, set()))
            for each in sorted(populations)
        }
        witnessed = dict(self._witnesses.noted_by_population(public_keys=public_keys))
        for lost in sorted((witnessed.keys() | bundles.keys()) - populations):
            found[lost] = ChainCheck().broken(POPULATION_MISSING)
            report_broken(self._database, lost, POPULATION_MISSING, clock=self._clock)
        return found

    def audit_log(self) -> AuditCheck:
        """Link waiting events and verify the whole log. Note its head, or log and record that it is broken.

        Raises:
            DatabaseUnavailable: The database is away.
            SealBroken: The signing key is sealed under another master key.
        """
        audit_log.link_waiting(self._database)
        signer, public_keys = self._keys()
        with self._database.read_only() as session:
            found = check_audit(session, witnesses=self._witnesses, public_keys=public_keys)
        if found.intact:
            self._witnesses.write(AUDIT_KEY, signed_audit_head(signer, found.head, at=self._now()))
            return found
        get_logger().error("audit-chain-broken", broken_at=found.broken_at, problem=found.problem)
        self._record("audit.verify", "audit-log")
        return found

    def accept(self, population_id: UUID) -> Head:
        """Give up what the present ledger lacks, on an operator's word, and note its head. Returns the head.

        Raises:
            PopulationNotFound: No such population.
        """
        signer, public_keys = self._keys()
        with self._database.read_only() as session:
            head = ledger_repository.head_of(ledger_repository.budget_of(session, population_id))
        present = signed_ledger_head(signer, population_id, head, at=self._now())
        # The single head that earlier versions kept no longer counts: the operator answers for the present one.
        self._witnesses.write(ledger_key(population_id), present)
        noted = self._witnesses.noted(population_id, public_keys=public_keys)
        bundles = _forgotten_bundles(self._database, self._store).get(population_id, set())
        with self._database.read_only() as session:
            accepted = noted.accepted | Acceptance(
                heads=strange_heads(session, population_id, noted),
                jobs=strange_jobs(session, noted.published) | bundles,
            )
        if accepted != noted.accepted:
            self._witnesses.write(
                acceptance_key(population_id, head),
                signed_acceptance(signer, population_id, head, accepted, at=self._now()),
            )
        self._witnesses.write(head_key(population_id, head), present)
        self._record("ledger.accept", str(population_id), actor="operator", outcome="done")
        return head

    def accept_audit_log(self) -> Head:
        """Accept the present audit log, on an operator's word. Returns its head."""
        audit_log.link_waiting(self._database)
        signer, _ = self._keys()
        with self._database.read_only() as session:
            head = audit_log.head(session)
        self._witnesses.write(AUDIT_KEY, signed_audit_head(signer, head, at=self._now()))
        self._record("ledger.accept", "audit-log", actor="operator", outcome="done")
        return head

    def _ledger(
        self, population_id: UUID, signer: Signer, public_keys: Mapping[str, bytes], bundles: set[UUID]
    ) -> ChainCheck:
        with self._database.read_only() as session:
            found = check_ledger(session, population_id, witnesses=self._witnesses, public_keys=public_keys)
            chain = found.chain
            if chain.intact and bundles - found.noted.accepted.jobs:
                chain = chain.broken(_BUNDLE)
            published = _published(session, population_id)
            if chain.intact and unpaid(session, published, population_id=population_id):
                chain = chain.broken(_UNPAID)
        if not chain.intact:
            problem = chain.problem or ""
            report_broken(self._database, population_id, problem, clock=self._clock)
            freeze_broken(self._database, population_id, problem, clock=self._clock)
            return chain
        self._witnesses.add(
            head_key(population_id, found.head),
            signed_ledger_head(signer, population_id, found.head, at=self._now()),
        )
        for job_id in published - found.noted.published - found.noted.accepted.jobs:
            with self._database.transaction() as session:
                self._keeper.note_publication(session, population_id, job_id)
        return chain

    def _record(self, action: str, thing: str, *, actor: str = ACTOR, outcome: str = "broken") -> None:
        with self._database.transaction() as session:
            append(session, actor=actor, action=action, object=thing, outcome=outcome, at=self._now())

    def _keys(self) -> tuple[Signer, Mapping[str, bytes]]:
        with self._database.transaction() as session:
            signer = keyring.signer(session, master_keys=self._master_keys, clock=self._clock)
            return signer, keyring.public_keys(session)

    def _now(self) -> datetime:
        return self._clock.now()


def _forgotten_bundles(database: Database, store: ObjectStore) -> dict[UUID, set[UUID]]:
    """Jobs whose certified bundles quote a link that the ledger lacks, by population.

    A bundle is stored before its release is committed, so one without a release may be on its way, or left by an attempt
    that lost its lease. But a certified bundle quotes the link of the ledger that paid for it. If the ledger has no such
    link, the database was restored from a backup that knows nothing of it.

    Raises:
        DatabaseUnavailable: The database is away.
    """
    forgotten: defaultdict[UUID, set[UUID]] = defaultdict(set)
    keys = (found.key for found in store.list("releases") if BUNDLE.fullmatch(found.key))
    while batch := list(islice(keys, _BATCH)):
        with database.read_only() as session:
            named = set(session.scalars(select(Release.bundle_key).where(Release.bundle_key.in_(batch))))
        for population_id, job_id, spent in _quoted(store, [key for key in batch if key not in named]):
            with database.read_only() as session:
                known = ledger_repository.links_at(session, population_id, [spent.sequence])
            if spent not in known:
                forgotten[population_id].add(job_id)
    return dict(forgotten)


def _quoted(store: ObjectStore, keys: list[str]) -> Iterator[tuple[UUID, UUID, Head]]:
    """Population, job and paying link of every ledger that the certificates in bundles quote, of whatever form."""
    for key in keys:
        certificate = _certificate(store, key)
        if "ledger" not in certificate:
            continue  # what a training has staged, not yet certified
        try:
            # Of several owners each ledger paid; the first of them stands in the certificate itself, too.
            for paid in certificate.get("ledgers", [certificate]):
                spent = paid["ledger"]["spent"]
                yield (
                    UUID(paid["population_id"]),
                    UUID(certificate["job_id"]),
                    Head(sequence=int(spent["sequence"]), hash=bytes.fromhex(spent["hash"])),
                )
        except (KeyError, TypeError, ValueError, AttributeError):
            get_logger().warning("bundle-unreadable", key=key)


def _certificate(store: ObjectStore, key: str) -> Mapping[str, Any]:
    """The certificate in a bundle; empty if there is none that can be read."""
    try:
        with store.open(key) as raw, zipfile.ZipFile(raw) as archive, archive.open(CERTIFICATE) as member:
            certificate = json.loads(member.read(_MAX_BYTES))
    except ObjectMissing:
        return {}
    except _DAMAGE:
        get_logger().warning("bundle-unreadable", key=key)
        return {}
    return certificate if isinstance(certificate, Mapping) else {}


def _published(session: Session, population_id: UUID) -> set[UUID]:
    """The jobs of a population that published a release or a report."""
    of_population = select(Dataset.id).where(Dataset.population_id == population_id)
    found = session.scalars(
        select(Job.id).where(reads_one_of(of_population), Job.state == JobState.SUCCEEDED.value)
    )
    return set(found)


def main(words: Sequence[str]) -> int:
    """Verify everything and print the result, or accept one population's present head. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="workers.ledger_audit", description="Verifies the ledgers and the audit log."
    )
    parser.add_argument(
        "--accept",
        type=UUID,
        metavar="POPULATION",
        help="accept this population's present ledger, after a restore that you answer for",
    )
    parser.add_argument(
        "--accept-audit-log",
        action="store_true",
        help="accept the present audit log, which loses what is not in the backup",
    )
    arguments = parser.parse_args(words)
    configure_logs(role="ledger-audit")
    settings = read_settings()
    store = open_store(settings.storage_url)
    with closing(
        Database(
            settings.database_url, pool_size=1, max_overflow=1, statement_seconds=UPKEEP_STATEMENT_SECONDS
        )
    ) as database:
        audit = LedgerAudit.of(settings, database=database, store=store, clock=SystemClock())
        if arguments.accept is not None:
            head = audit.accept(arguments.accept)
            sys.stdout.write(f"{arguments.accept}: noted the head of sequence {head.sequence}\n")
            return 0
        if arguments.accept_audit_log:
            sys.stdout.write(f"audit log: noted the head of position {audit.accept_audit_log().sequence}\n")
            return 0
        rounds = mark_forgotten_rounds(settings, database=database, store=store)
        if rounds:
            sys.stdout.write(
                f"federations: {rounds} live jobs have handed in rounds that the database forgot\n"
            )
        broken = 0
        for population_id, chain in audit.ledgers().items():
            verdict = f"whole, {chain.checked} entries" if chain.intact else f"BROKEN: {chain.problem}"
            sys.stdout.write(f"ledger {population_id}: {verdict}\n")
            broken += not chain.intact
        log = audit.audit_log()
        verdict = f"whole, {log.checked} events" if log.intact else f"BROKEN: {log.problem}"
        sys.stdout.write(f"audit log: {verdict}\n")
        return 1 if broken or not log.intact else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
