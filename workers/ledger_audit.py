"""Verifying every population's ledger, and the audit log, against witnesses that lie outside the database.

The hash chain shows a change inside the ledger; a database restored from an old backup is consistent in itself and
has merely forgotten what was spent. So the signed head of every verified chain is noted in the object store and in
the operator's second place, and the next verification demands that the chain passes through it. A ledger that does
not verify is frozen, its last good witness stays, and so it stays found until a person has looked.

`python -m workers.ledger_audit` verifies now; its exit status is 1 where something is broken. After a restore that
the operator answers for, `--accept POPULATION` notes the present head in the witness's place; the dataset stays frozen
until an admin unfreezes it. What the lost entries had spent is lost to the ledger: lower the cap by it first.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import select

from core.audit import linking
from core.audit.chain import AuditCheck
from core.audit.log import append
from core.clock import Clock, SystemClock
from core.db.session import Database
from core.db.tables.budget import Budget
from core.ledger import governing
from core.ledger.chain import Head
from core.ledger.verification import ChainCheck
from core.logs import configure_logs, get_logger
from core.settings import Settings, read_settings
from core.signing import keyring
from core.signing.signed import Signer
from core.storage.errors import ObjectMissing
from core.storage.master_keys import MasterKeys
from core.storage.objects import ObjectStore, open_store
from core.witness.checking import check_audit, check_ledger
from core.witness.heads import signed_audit_head, signed_ledger_head
from core.witness.places import AUDIT_KEY, Witnesses, ledger_key

ACTOR: Final = "upkeep"
FROZEN_BECAUSE: Final = "the ledger does not verify"
_MISSING: Final = "a witnessed population is not in the database"


class LedgerAudit:
    """One verification of everything.

    Args:
        database: Where ledgers and audit log are.
        store: The object store, which also holds the first release's unsigned witnesses.
        witnesses: Where signed heads are noted.
        master_keys: Open the signing key.
        clock: Stamps heads and events.
    """

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

    @classmethod
    def of(cls, settings: Settings, *, database: Database, store: ObjectStore, clock: Clock) -> "LedgerAudit":
        """The audit that an operator's settings describe."""
        witnesses = Witnesses.of(settings, store)
        return cls(database, store, witnesses=witnesses, master_keys=settings.master_keys, clock=clock)

    def ledgers(self) -> dict[UUID, ChainCheck]:
        """Verify all ledgers, note the heads of whole ones, freeze, log and record the others.

        Returns:
            What was found, by population.

        Raises:
            DatabaseUnavailable: The database is away.
            SealBroken: The signing key is sealed under another master key.
        """
        signer, public_keys = self._keys()
        with self._database.read_only() as session:
            populations = set(session.scalars(select(Budget.population_id)))
        found = {each: self._ledger(each, signer, public_keys) for each in sorted(populations)}
        for lost in sorted(self._witnesses.populations() - populations):
            found[lost] = ChainCheck(checked=0, broken_at=1, problem=_MISSING)
            self._report(lost, found[lost])
        return found

    def audit_log(self) -> AuditCheck:
        """Link what waits, verify the whole log, and note its head or log and record that it is broken.

        Raises:
            DatabaseUnavailable: The database is away.
            SealBroken: The signing key is sealed under another master key.
        """
        linking.link_waiting(self._database)
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
        """Put the present head in the place of the witness, on the word of an operator. Returns the head.

        Raises:
            PopulationNotFound: No such population.
        """
        signer, _ = self._keys()
        # No witness counts here, not even one of ours: this is what the operator answers for.
        with self._database.read_only() as session:
            found = check_ledger(session, population_id, witnesses=Witnesses(), public_keys={})
        self._note(signer, population_id, found.head)
        with self._database.transaction() as session:
            append(
                session,
                actor="operator",
                action="ledger.accept",
                object=str(population_id),
                outcome="done",
                at=self._now(),
            )
        return found.head

    def _ledger(self, population_id: UUID, signer: Signer, public_keys: Mapping[str, bytes]) -> ChainCheck:
        unsigned = self._unsigned(population_id)
        with self._database.read_only() as session:
            found = check_ledger(
                session,
                population_id,
                witnesses=self._witnesses,
                public_keys=public_keys,
                further=[] if unsigned is None else [unsigned],
            )
        if found.chain.intact:
            if set(found.witnessed) != {found.head} or unsigned is not None:
                self._note(signer, population_id, found.head)
            return found.chain
        self._report(population_id, found.chain)
        with self._database.transaction() as session:
            governing.freeze(session, population_id, by=ACTOR, reason=FROZEN_BECAUSE, clock=self._clock)
        return found.chain

    def _note(self, signer: Signer, population_id: UUID, head: Head) -> None:
        self._witnesses.write(
            ledger_key(population_id), signed_ledger_head(signer, population_id, head, at=self._now())
        )
        self._store.delete(_unsigned_key(population_id))

    def _report(self, population_id: UUID, found: ChainCheck) -> None:
        get_logger().error(
            "ledger-chain-broken",
            population_id=str(population_id),
            broken_at=found.broken_at,
            problem=found.problem,
        )
        self._record("ledger.verify", str(population_id))

    def _record(self, action: str, thing: str) -> None:
        with self._database.transaction() as session:
            append(session, actor=ACTOR, action=action, object=thing, outcome="broken", at=self._now())

    def _unsigned(self, population_id: UUID) -> Head | None:
        """The first release's note. Believing it is safe: a forged one can only make a whole ledger look broken."""
        try:
            noted = json.loads(self._store.get_bytes(_unsigned_key(population_id)))
        except ObjectMissing:
            return None
        return Head(sequence=int(noted["sequence"]), hash=bytes.fromhex(noted["hash"]))

    def _keys(self) -> tuple[Signer, Mapping[str, bytes]]:
        with self._database.transaction() as session:
            signer = keyring.signer(session, master_keys=self._master_keys, clock=self._clock)
            return signer, keyring.public_keys(session)

    def _now(self) -> datetime:
        return self._clock.now()


def _unsigned_key(population_id: UUID) -> str:
    return f"ledger/{population_id}.json"


def main(words: Sequence[str]) -> int:
    """Verify everything, or accept one population's present head; say what was found.

    Args:
        words: The command line without the program.
    """
    parser = argparse.ArgumentParser(
        prog="workers.ledger_audit", description="Verifies the ledgers and the audit log."
    )
    parser.add_argument(
        "--accept",
        type=UUID,
        metavar="POPULATION",
        help="take this population's present ledger for the true one, after a restore that you answer for",
    )
    told = parser.parse_args(words)
    configure_logs(role="ledger-audit")
    settings = read_settings()
    store = open_store(settings.storage_url)
    with closing(Database(settings.database_url, pool_size=1, max_overflow=1)) as database:
        audit = LedgerAudit.of(settings, database=database, store=store, clock=SystemClock())
        if told.accept is not None:
            head = audit.accept(told.accept)
            sys.stdout.write(f"{told.accept}: noted the head of sequence {head.sequence}\n")
            return 0
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
