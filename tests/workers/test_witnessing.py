"""What a ledger came to is noted outside the database before rows are opened or anything is published."""

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from obstore.exceptions import GenericError
from psycopg import sql
from sqlalchemy import make_url, text

from core.artifacts.signing.signed import SignedDocument
from core.clock import FixedClock
from core.data.objects import ObjectStore, open_store
from core.db.session import Database
from core.jobs import claims, endings
from core.jobs.states import JobState
from core.ledger import governance
from core.ledger.errors import PopulationFrozen
from core.ledger.hash_chain import HISTORY_DIFFERS
from core.ledger.reservation import EntryKind
from core.platform.settings import Settings
from core.platform.stored_objects import bundle_key, sweep
from core.platform.witness.ledger_witness import LedgerWitness
from core.platform.witness.verification import HEAD_MISSING, RELEASE_MISSING
from core.platform.witness.witness_store import Witnesses
from tests.conftest import execute
from tests.memory_queue import MemoryQueue
from tests.workers.support import Workshop, environment_of
from understudy.embedded.postgres import PostgresServer
from workers.child import ExitCode
from workers.ledger_audit import LedgerAudit
from workers.training import Trainer
from workers.upkeep import Upkeep

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    return settings.model_copy(update={"witness_url": (tmp_path / "outside").as_uri(), "job_attempts": 2})


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOON)


@pytest.fixture
def workshop(settings: Settings, clock: FixedClock) -> Iterator[Workshop]:
    workshop = Workshop(settings, clock=clock)
    yield workshop
    workshop.close()


@pytest.fixture
def stores(workshop: Workshop) -> list[ObjectStore]:
    assert workshop.settings.witness_url is not None
    return [workshop.store, open_store(workshop.settings.witness_url)]


def noted(store: ObjectStore, kind: str = "head") -> list[str]:
    names = (found.key.rpartition("/")[2] for found in store.list("witness/populations"))
    return sorted(name for name in names if name.startswith(kind))


def trainer(
    workshop: Workshop,
    child: Callable[[], ExitCode],
    *,
    database: Database | None = None,
    store: ObjectStore | None = None,
) -> Trainer:
    """A trainer whose child opens no rows; `child` is called where it would begin."""

    def command(_job_id: UUID, _fence: int) -> list[str]:
        return [sys.executable, "-c", f"raise SystemExit({int(child())})"]

    return Trainer(
        workshop.settings,
        database=database or workshop.database,
        store=store or workshop.store,
        queue=MemoryQueue(),
        clock=workshop.clock,
        environment=environment_of(workshop.settings),
        command=command,
        sleep=lambda seconds: workshop.clock.advance(seconds=seconds + 0.01),
    )


def no_child() -> ExitCode:
    pytest.fail("rows would have been opened")


def expire(workshop: Workshop) -> None:
    workshop.clock.advance(seconds=workshop.settings.lease_seconds + 1)


@contextmanager
def restored(
    workshop: Workshop, server: PostgresServer, *between: Callable[[], object]
) -> Iterator[Workshop]:
    """Copy the database, go on, and give a workshop over the copy: what a restored backup is."""
    source = make_url(workshop.settings.database_url).database
    copy = f"{source}_backup"
    workshop.database.close()  # a copy needs the source to itself
    execute(
        server, sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(copy), sql.Identifier(source))
    )
    for go_on in between:
        go_on()
    original, workshop.database = workshop.database, Database(server.url(copy))
    try:
        yield workshop
    finally:
        workshop.database.close()
        workshop.database = original
        execute(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(copy)))


def witness_of(workshop: Workshop) -> LedgerWitness:
    return LedgerWitness.of(
        workshop.settings, database=workshop.database, store=workshop.store, clock=workshop.clock
    )


def audit_of(workshop: Workshop) -> LedgerAudit:
    return LedgerAudit.of(
        workshop.settings, database=workshop.database, store=workshop.store, clock=workshop.clock
    )


def frozen_because(workshop: Workshop) -> list[str]:
    with workshop.database.read_only() as session:
        return list(
            session.scalars(text("SELECT terms ->> 'reason' FROM ledger_entries WHERE kind = 'FROZEN'"))
        )


def test_the_spend_is_noted_in_every_store_before_the_child_begins(
    workshop: Workshop, stores: list[ObjectStore]
) -> None:
    job_id = workshop.order()
    seen = []

    def child() -> ExitCode:
        seen.extend(noted(store) for store in stores)
        return ExitCode.MACHINERY

    trainer(workshop, child).train(job_id)
    with workshop.database.read_only() as session:
        spent = session.execute(text("SELECT sequence, hash FROM ledger_entries WHERE kind = 'SPENT'")).one()
    assert seen == [[f"head-{spent.sequence:012d}-{spent.hash.hex()}.json"]] * 2
    # The next attempt has nothing to add.
    expire(workshop)
    trainer(workshop, child).train(job_id)
    assert seen[2:] == seen[:2]


@pytest.mark.parametrize("which", [0, 1], ids=["object store", "outside"])
def test_rows_stay_shut_where_a_spend_cannot_be_noted_and_that_costs_nothing(
    workshop: Workshop, stores: list[ObjectStore], which: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = workshop.order()
    put = ObjectStore.put_bytes
    folder = ["objects", "outside"][which]

    def refusing(self: ObjectStore, key: str, data: bytes) -> None:
        if key.startswith("witness/") and folder in repr(self._backend):
            raise GenericError("read-only")
        put(self, key, data)

    monkeypatch.setattr(ObjectStore, "put_bytes", refusing)
    for _ in range(workshop.settings.job_attempts):
        assert workshop.job(job_id).state in {JobState.QUEUED, JobState.RUNNING}
        trainer(workshop, no_child).train(job_id)
        expire(workshop)
    job = workshop.job(job_id)
    assert (job.state, job.failure_code) == (JobState.FAILED, "infrastructure-failed")
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    assert workshop.reservation(job_id).in_force.epsilon_micros == 0


def test_a_crash_between_claim_and_note_is_made_good_by_the_next_claim(
    workshop: Workshop, stores: list[ObjectStore]
) -> None:
    job_id = workshop.order()
    workshop.claim(job_id)
    assert [noted(store) for store in stores] == [[], []]
    expire(workshop)
    seen = []

    def child() -> ExitCode:
        seen.extend(noted(store) for store in stores)
        return ExitCode.MACHINERY

    trainer(workshop, child).train(job_id)
    assert seen[0] == seen[1]
    assert len(seen[0]) == 1


def test_a_restored_ledger_opens_no_rows_and_is_frozen(
    workshop: Workshop, postgres_server: PostgresServer
) -> None:
    """The order had been placed before the backup, so that only the attempt can find it."""
    first, second = workshop.order(), workshop.order()
    with restored(
        workshop, postgres_server, lambda: trainer(workshop, lambda: ExitCode.MACHINERY).train(first)
    ):
        trainer(workshop, no_child).train(second)
        assert frozen_because(workshop) == [f"the ledger does not verify: {HISTORY_DIFFERS}"]
        assert workshop.job(second).state == JobState.RUNNING
        with pytest.raises(PopulationFrozen):
            workshop.order()


def test_a_forgetful_ledger_gives_nothing_back_and_ends_no_job(
    workshop: Workshop, postgres_server: PostgresServer
) -> None:
    """The operator decides first: what the ledger has forgotten may be what the same job has released."""
    first, second = workshop.order(), workshop.order()
    with restored(
        workshop, postgres_server, lambda: trainer(workshop, lambda: ExitCode.MACHINERY).train(first)
    ):
        for _ in range(workshop.settings.job_attempts + 1):
            trainer(workshop, no_child).train(second)
            expire(workshop)
        assert workshop.job(second).state == JobState.RUNNING
        assert workshop.movements(second) == [EntryKind.RESERVED, EntryKind.SPENT]
        audit_of(workshop).accept(workshop.population_id)
        begun = []

        def child() -> ExitCode:
            begun.append(second)
            return ExitCode.MACHINERY

        trainer(workshop, child).train(second)
        assert begun == [second]


def test_of_two_services_on_copies_of_one_database_the_later_one_opens_nothing(
    workshop: Workshop, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both compare before either has noted anything; each compares again once it has noted its own head."""
    job_id = workshop.order()
    add = Witnesses.add

    with restored(workshop, postgres_server):
        copy = witness_of(workshop)
        workshop.order()
        workshop.claim(job_id)

        def adding(self: Witnesses, key: str, signed: SignedDocument) -> bool:
            monkeypatch.setattr(Witnesses, "add", add)
            original.note_spend(workshop.population_id, job_id)
            return add(self, key, signed)

        other = Database(workshop.settings.database_url)
        original = LedgerWitness.of(
            workshop.settings, database=other, store=workshop.store, clock=workshop.clock
        )
        with other.transaction() as session:
            claims.claim(session, job_id, clock=workshop.clock, lease_seconds=60, max_attempts=2)
        monkeypatch.setattr(Witnesses, "add", adding)
        with pytest.raises(PopulationFrozen):
            copy.note_spend(workshop.population_id, job_id)
        other.close()


def test_every_way_in_finds_a_restored_ledger(workshop: Workshop, postgres_server: PostgresServer) -> None:
    spent = workshop.order()
    later: list[UUID] = []

    def go_on() -> None:
        later.append(workshop.order())
        trainer(workshop, lambda: ExitCode.MACHINERY).train(later[0])

    workshop.cancel(spent)
    with restored(workshop, postgres_server, go_on):
        with pytest.raises(PopulationFrozen):
            witness_of(workshop).require_once(workshop.population_id)
        assert witness_of(workshop).require_all() == [workshop.population_id]
        found = audit_of(workshop).ledgers()[workshop.population_id]
        assert not found.intact
        assert frozen_because(workshop) == [f"the ledger does not verify: {HEAD_MISSING}"]
        with workshop.database.read_only() as session:
            told = session.scalars(
                text("SELECT outcome FROM audit_events WHERE action = 'ledger.verify'")
            ).all()
        assert told == ["broken", "broken"], "once by who froze it, and by each audit"


def test_upkeep_finds_it_when_it_starts(
    workshop: Workshop, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen_by_then: list[list[str]] = []
    for chore in ("resend", "resend_reports", "expire"):
        monkeypatch.setattr(Upkeep, chore, lambda _: frozen_by_then.append(frozen_because(workshop)))
    broken = f"the ledger does not verify: {HEAD_MISSING}"
    job_id = workshop.order()
    with restored(
        workshop, postgres_server, lambda: trainer(workshop, lambda: ExitCode.MACHINERY).train(job_id)
    ):
        upkeep = Upkeep(
            workshop.settings, database=workshop.database, store=workshop.store, queue=MemoryQueue(), clock=workshop.clock
        )  # fmt: skip
        upkeep.round()
        assert frozen_by_then == [[broken]] * 3, "before anything of the database is gone on with"
        assert frozen_because(workshop) == [broken]


def test_what_people_decide_is_noted_by_the_next_round_of_upkeep(
    workshop: Workshop, stores: list[ObjectStore], postgres_server: PostgresServer
) -> None:
    witness = witness_of(workshop)
    assert witness.note_decisions() == 1
    assert witness.note_decisions() == 0
    workshop.order()
    assert witness.note_decisions() == 0, "an order is no decision, and a spend is noted by who opens rows"

    def lower() -> None:
        with workshop.database.transaction() as session:
            governance.set_cap(
                session, workshop.population_id, epsilon=5.0, delta=1e-5, by="admin", reason=None, clock=workshop.clock
            )  # fmt: skip
        assert witness.note_decisions() == 1
        assert [len(noted(store)) for store in stores] == [2, 2]

    with restored(workshop, postgres_server, lower):
        assert witness_of(workshop).require_all() == [workshop.population_id]


def published(workshop: Workshop, job_id: UUID) -> None:
    """Finish a claimed job as its worker does, but for the training."""
    claim = workshop.claim(job_id)
    witness = witness_of(workshop)
    witness.note_spend(claim.population_id, job_id)
    with workshop.database.transaction() as session:
        endings.finish(
            session, claim, release_id=uuid4(), bundle_key=bundle_key(job_id, claim.fence), certificate={}, clock=workshop.clock
        )  # fmt: skip
        witness.note_publication(session, claim.population_id, job_id)
    workshop.store.put_bytes(bundle_key(job_id, claim.fence), b"published")


def test_a_release_that_a_backup_of_a_running_job_has_forgotten_is_found_once_the_job_is_cancelled(
    workshop: Workshop, postgres_server: PostgresServer
) -> None:
    """The spend is in the backup; a settlement would give part of it back for a training that went on to its end."""
    job_id = workshop.order()
    witness_of(workshop).note_spend(workshop.population_id, workshop.claim(job_id).job_id)
    expire(workshop)
    with restored(workshop, postgres_server, lambda: published(workshop, job_id)):
        assert witness_of(workshop).require_all() == [], "it would publish the same again"
        workshop.cancel(job_id)
        sweep(workshop.store, workshop.population_id, job_id, 2, published=None)
        assert workshop.store.get_bytes(bundle_key(job_id, 2)) == b"published"
        with pytest.raises(PopulationFrozen):
            witness_of(workshop).require_once(workshop.population_id)
        assert frozen_because(workshop) == [f"the ledger does not verify: {RELEASE_MISSING}"]
        audit_of(workshop).accept(workshop.population_id)
        assert audit_of(workshop).ledgers()[workshop.population_id].intact


def test_nothing_is_published_that_could_not_be_noted(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = workshop.order()
    claim = workshop.claim(job_id)
    witness = witness_of(workshop)

    def refusing(_self: ObjectStore, _key: str, _data: bytes) -> None:
        raise GenericError("away")

    def publish() -> None:
        with workshop.database.transaction() as session:
            endings.finish(
                session, claim, release_id=uuid4(), bundle_key="k", certificate={}, clock=workshop.clock
            )
            witness.note_publication(session, claim.population_id, job_id)

    monkeypatch.setattr(ObjectStore, "put_bytes", refusing)
    with pytest.raises(GenericError):
        publish()
    assert workshop.release(job_id) is None
    assert workshop.job(job_id).state == JobState.RUNNING


def test_the_audit_notes_what_earlier_versions_have_published(
    workshop: Workshop, stores: list[ObjectStore]
) -> None:
    job_id = workshop.order()
    published(workshop, job_id)
    for store in stores:
        for found in list(store.list("witness")):
            store.delete(found.key)
    assert audit_of(workshop).ledgers()[workshop.population_id].intact
    assert [noted(store, "release") for store in stores] == [[f"release-{job_id}.json"]] * 2


@pytest.mark.parametrize(
    "schema",
    ["certificate/2", "model-certificate/1", "selection-certificate/1", "member-certificate/1", "member-model-certificate/1"],
)  # fmt: skip
def test_a_certified_bundle_that_the_ledger_does_not_know_freezes_its_population(
    workshop: Workshop, schema: str
) -> None:
    """No witness has noted it: it was published before there were notes, or they are lost."""
    certificate = {
        "schema": f"understudy.{schema}",
        "population_id": str(workshop.population_id),
        "job_id": str(uuid4()),
        "ledger": {"spent": {"sequence": 1, "hash": "ab" * 32}},
    }
    staged = {"schema": "understudy.execution/1", "job_id": str(uuid4())}
    workshop.store.put_bytes(bundle_key(uuid4(), 1), zipped(staged))
    workshop.store.put_bytes(bundle_key(uuid4(), 1), b"no ZIP")
    assert audit_of(workshop).ledgers()[workshop.population_id].intact, "neither was ever published"
    workshop.store.put_bytes(bundle_key(uuid4(), 1), zipped(certificate))
    found = audit_of(workshop).ledgers()[workshop.population_id]
    assert found.problem == "a certified bundle is stored that the ledger has not paid for"
    assert frozen_because(workshop) == [f"the ledger does not verify: {found.problem}"]
    workshop.store.put_bytes(
        bundle_key(uuid4(), 1), zipped(certificate | {"population_id": str(UUID(int=9))})
    )
    assert (
        audit_of(workshop).ledgers()[UUID(int=9)].problem == "a witnessed population is not in the database"
    )
    audit_of(workshop).accept(workshop.population_id)
    assert audit_of(workshop).ledgers()[workshop.population_id].intact


@pytest.mark.parametrize(
    "schema", ["federated-certificate/1", "federated-model-certificate/1", "averaged-model-certificate/1"]
)
def test_a_bundle_of_several_owners_that_a_ledger_does_not_know_freezes_that_owner_too(
    workshop: Workshop, schema: str
) -> None:
    populations = [workshop.population_id, UUID(int=9)]
    ledger = {"spent": {"sequence": 1, "hash": "ab" * 32}}
    certificate = {
        "schema": f"understudy.{schema}",
        "population_id": str(populations[0]),
        "job_id": str(uuid4()),
        "ledger": ledger,
        "ledgers": [{"population_id": str(one), "ledger": ledger} for one in populations],
    }
    workshop.store.put_bytes(bundle_key(uuid4(), 1), zipped(certificate))
    found = audit_of(workshop).ledgers()
    assert [found[one].problem for one in populations] == [
        "a certified bundle is stored that the ledger has not paid for",
        "a witnessed population is not in the database",
    ]


def zipped(certificate: dict[str, object]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("certificate.json", json.dumps(certificate))
    return target.getvalue()
