"""What must hold after every round, however the stack was disturbed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from core.artifacts.bundle import Bundle, is_model, unpack
from core.artifacts.private_models.bundle import unpack_model
from core.artifacts.reports.owner_files import read_report
from core.artifacts.reports.owner_page import FAILED
from core.clock import SystemClock
from core.data.errors import ObjectMissing, SealBroken
from core.data.master_keys import MasterKeys
from core.data.private_rows import open_private_rows
from core.db.tables import Dataset, Job, LedgerEntry, NotificationDelivery, OwnerReport, Release, Upload
from core.jobs.states import ENDED, OWNER_WITHDREW, TRAINING_FAILED, JobState
from core.ledger import ledger_queries
from core.plan.domain.table import TableDomain
from core.platform.stored_objects import sweep_recent
from tests.faults.errand import ROWS
from tests.faults.processes import RUNNER, wait_until, words_of
from tests.faults.stack import Stack

SEAL = b"USEAL"
QUIET_SECONDS = 30.0
SPENT = ["RESERVED", "SPENT"]
SETTLED = [*SPENT, "SETTLED"]
VOIDED = ["RESERVED", "VOIDED"]
LEGAL = {
    JobState.SUCCEEDED: [SPENT],
    JobState.CANCELLED: [SETTLED, VOIDED],
    # Settled only if no step began.
    TRAINING_FAILED: [SPENT, SETTLED],
    OWNER_WITHDREW: [VOIDED],
}
"""Entries that a ledger may have for a job, by its end. A job that failed with another code is settled."""
HISTORY = """
CREATE TABLE IF NOT EXISTS drill_history (
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    job_id uuid NOT NULL, old_state text NOT NULL, new_state text NOT NULL
);
CREATE OR REPLACE FUNCTION drill_note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO drill_history (job_id, old_state, new_state) VALUES (new.id, old.state, new.state);
    RETURN new;
END $$;
CREATE OR REPLACE TRIGGER drill_note AFTER UPDATE OF state ON jobs
    FOR EACH ROW WHEN (old.state IS DISTINCT FROM new.state) EXECUTE FUNCTION drill_note();
"""


@dataclass(frozen=True)
class Essence:
    """What of a release must not depend on what happened while it was made."""

    weights: bytes
    network: bytes
    manifest: object
    plan_digest: str

    @classmethod
    def of(cls, bundle: Bundle) -> "Essence":
        """Take it from an opened bundle."""
        return cls(bundle.weights, bundle.network, bundle.manifest, str(bundle.certificate["plan_digest"]))


def note_history(stack: Stack) -> None:
    """Have the database itself note every change of a job's state."""
    with stack.connected() as connection:
        connection.execute(HISTORY)


def essence_of(stack: Stack, job_id: str) -> Essence:
    """The essence of what a job published."""
    with stack.database() as database, database.read_only() as session:
        key = session.scalars(select(Release.bundle_key).where(Release.job_id == UUID(job_id))).one()
    return Essence.of(unpack(stack.store.get_bytes(key)))


def violations(
    stack: Stack,
    *,
    dataset_id: str | None,
    reference: Essence | None,
    ends: frozenset[str],
    quiet_seconds: float = QUIET_SECONDS,
) -> list[str]:
    """Everything that does not hold after a round.

    Args:
        stack: the stack, which is well again.
        dataset_id: what the round published from.
        reference: the essence of an undisturbed run.
        ends: of `end_of`, as which the job may have ended.
        quiet_seconds: how long a process may take to end.
    """
    with stack.database() as database:
        sweep_recent(database, stack.store, clock=SystemClock())
        with database.read_only() as session:
            found = (
                []
                if dataset_id is None
                else [*_of_dataset(stack, session, UUID(dataset_id), reference, ends)]
            )
            found += _of_objects(stack, session)
            found += services_left(stack, session)
    return found + _of_processes(stack, quiet_seconds)


def final_violations(stack: Stack) -> list[str]:
    """What must hold for everything that the drill ever did."""
    with stack.database() as database, database.read_only() as session:
        found = []
        for dataset in session.scalars(select(Dataset)):
            if dataset.state == "ready":
                found += _of_rows(stack, dataset)
            found += of_chain(session, dataset.population_id)
        for release in session.scalars(select(Release)):
            found += _of_release(stack, release, None)
        return [*found, *of_history(session, None)]


def _of_dataset(
    stack: Stack, session: Session, dataset_id: UUID, reference: Essence | None, ends: frozenset[str]
) -> Iterator[str]:
    dataset = session.get_one(Dataset, dataset_id)
    yield from _of_rows(stack, dataset)
    yield from of_chain(session, dataset.population_id)
    kinds = session.scalars(
        select(LedgerEntry.kind).where(
            LedgerEntry.population_id == dataset.population_id, LedgerEntry.job_id.is_(None)
        )
    ).all()
    if kinds.count("GRANTED") != 1:
        yield f"{kinds.count('GRANTED')} grants came of one request"
    jobs = session.scalars(select(Job).where(Job.dataset_id == dataset_id)).all()
    if len(jobs) != 1:
        yield f"{len(jobs)} jobs came of one order"
    for job in jobs:
        yield from of_job(stack, session, job, ends, reference=reference)


def end_of(job: Job) -> str:
    """How a job ended: the failure code of a failed one, or the state."""
    return job.failure_code or job.state


def of_job(
    stack: Stack,
    session: Session,
    job: Job,
    ends: frozenset[str],
    *,
    reference: Essence | None = None,
    ledgers: int = 1,
) -> Iterator[str]:
    """Violations of a job that should have ended.

    Args:
        stack: with the object store.
        session: of its database.
        job: the job.
        ends: of `end_of`, as which it may have ended.
        reference: the essence of an undisturbed run; None where runs differ.
        ledgers: how many it has to charge, all alike.
    """
    if end_of(job) not in ends:
        yield f"the job is {job.state} ({job.failure_code}) after {job.attempts} attempts"
    if job.state in ENDED and job.sealed_randomness_key is not None:
        yield "an ended job kept its randomness key"
    if job.state in ENDED and job.sealed_federation is not None:
        yield "an ended job kept its token"
    yield from of_history(session, job.id)
    yield from _of_ledgers(session, job, ledgers)
    releases = session.scalars(select(Release).where(Release.job_id == job.id)).all()
    if len(releases) != (job.state == JobState.SUCCEEDED):
        yield f"a {job.state} job has {len(releases)} releases"
    for release in releases:
        yield from _of_release(stack, release, reference)


def _of_ledgers(session: Session, job: Job, ledgers: int) -> Iterator[str]:
    entries = session.execute(
        select(LedgerEntry.population_id, LedgerEntry.kind, LedgerEntry.fence)
        .where(LedgerEntry.job_id == job.id)
        .order_by(LedgerEntry.sequence)
    ).all()
    payers = {entry.population_id for entry in entries}
    if len(payers) != ledgers:
        yield f"{len(payers)} ledgers paid for a job over {ledgers} datasets"
    moves = [[str(entry.kind) for entry in entries if entry.population_id == payer] for payer in payers]
    for kinds in moves:
        if kinds not in LEGAL.get(end_of(job), [SETTLED]):
            yield f"the ledger of a {job.state} job ({job.failure_code}) says {kinds}"
        if kinds != moves[0]:
            yield f"the ledgers of one job say {moves}"
    fences = [int(entry.fence) for entry in entries if entry.kind == "SPENT"]
    if any(not 1 <= fence <= job.fence for fence in fences):
        yield f"spent under fence {fences}, claimed up to {job.fence}"


def of_history(session: Session, job_id: UUID | None) -> Iterator[str]:
    ended = ", ".join(f"'{state}'" for state in sorted(ENDED))
    twice = session.execute(
        text(
            f"SELECT job_id, array_agg(old_state || '>' || new_state ORDER BY at) AS path FROM drill_history"
            f" WHERE CAST(:job AS uuid) IS NULL OR job_id = :job GROUP BY job_id"
            f" HAVING count(*) FILTER (WHERE new_state IN ({ended})) > 1"
            f" OR count(*) FILTER (WHERE old_state IN ({ended})) > 0"
        ),
        {"job": job_id},
    )
    for row in twice:
        yield f"a job did not end once: {row.path}"


def _of_release(stack: Stack, release: Release, reference: Essence | None) -> Iterator[str]:
    try:
        content = stack.store.get_bytes(release.bundle_key)
    except ObjectMissing:
        yield "a release has no bundle"
        return
    if is_model(content):
        if unpack_model(content).certificate != release.certificate:
            yield "the certificate of the bundle of a model is not the release's"
        return
    bundle = unpack(content)
    if bundle.certificate != release.certificate:
        yield "the certificate of the bundle is not the release's"
    if reference is not None and Essence.of(bundle) != reference:
        yield "the generator differs from the undisturbed one"


def _of_rows(stack: Stack, dataset: Dataset) -> Iterator[str]:
    if dataset.rows_key is None or dataset.wrapped_data_key is None:
        yield "the accepted rows are gone"
        return
    try:
        domain = TableDomain.from_json(dataset.domain)
        batches = open_private_rows(stack.store, dataset.rows_key, _data_key(stack, dataset), domain)
        rows = sum(batch.num_rows for batch in batches)
    except (ObjectMissing, SealBroken) as error:
        yield f"the accepted rows do not open: {type(error).__name__}"
        return
    if rows != ROWS:
        yield f"{rows} of {ROWS} accepted rows are there"


def _data_key(stack: Stack, dataset: Dataset) -> bytes:
    assert dataset.wrapped_data_key is not None, "a drill deletes no dataset"
    keys = MasterKeys(current=bytes.fromhex(stack.folder.master_key()))
    return keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}")


def of_chain(session: Session, population_id: UUID) -> Iterator[str]:
    found = ledger_queries.verify_chain(session, population_id)
    if not found.intact:
        yield f"the chain is broken: {found.problem}"


def services_left(stack: Stack, session: Session) -> Iterator[str]:
    """What is wrong with uploads, owner reports and deliveries; all of them should have ended well."""
    for upload, dataset in session.execute(select(Upload, Dataset).where(Upload.dataset_id == Dataset.id)):
        if upload.state != "completed":
            yield f"an upload is {upload.state}"
        yield from _of_rows(stack, dataset)
    for report, dataset in session.execute(
        select(OwnerReport, Dataset).where(OwnerReport.dataset_id == Dataset.id)
    ):
        yield from _of_report(stack, report, dataset)
    for delivery in session.scalars(select(NotificationDelivery)):
        if delivery.state != "delivered":
            yield f"a delivery is {delivery.state} ({delivery.outcome}) after {delivery.attempts} attempts"


def _of_report(stack: Stack, report: OwnerReport, dataset: Dataset) -> Iterator[str]:
    if report.state != "made":
        yield f"a report is {report.state} after {report.attempts} attempts"
        return
    files = [found.key for found in stack.store.list(f"datasets/{dataset.id}") if str(report.id) in found.key]
    if files != [report.object_key]:
        yield f"a report has {len(files)} files"
        return
    try:
        html = read_report(stack.store, files[0], data_key=_data_key(stack, dataset))
    except SealBroken:
        yield "a report does not open"
        return
    if FAILED.encode() in html:
        yield "a report tells of a failure"


def _of_objects(stack: Stack, session: Session) -> Iterator[str]:
    """Whatever no row names must be sealed, or gone."""
    named = _named(session)
    for path in _files(stack.objects):
        key = path.relative_to(stack.objects).as_posix()
        if key.startswith("releases/") and key not in named and "#" not in key:
            yield f"an unpublished bundle is left: {key}"
        if key.startswith("jobs/") and "#" not in key:
            yield f"an ended job left {path.name}"
        if key.startswith("datasets/") and key not in named and not _sealed(path):
            yield f"an unsealed piece of rows is left: {path.name}"
    for path in _files(stack.folder.path / "scratch"):
        if not _sealed(path):
            yield f"a plain scratch file is left: {path.name}"


def litter(stack: Stack) -> int:
    """How many files lie about that nobody names: harmless, sealed, and to be swept one day."""
    with stack.database() as database, database.read_only() as session:
        named = _named(session)
    keys = [path.relative_to(stack.objects).as_posix() for path in _files(stack.objects)]
    stray = [key for key in keys if key not in named]
    scratch = [path for path in _files(stack.folder.path / "scratch") if path.stat().st_size]
    return len(stray) + len(scratch)


def _named(session: Session) -> set[str | None]:
    """Keys of the objects that rows name."""
    columns = (Release.bundle_key, Dataset.rows_key, OwnerReport.object_key)
    return {key for column in columns for key in session.scalars(select(column))}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _sealed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(SEAL)) in {SEAL, b""}


def _of_processes(stack: Stack, quiet_seconds: float) -> list[str]:
    """Nobody works any more, nobody was left behind."""

    def left() -> list[str]:
        working = [process for process in stack.family() if RUNNER in words_of(process)]
        return [words_of(process)[:80] for process in [*working, *stack.orphans()] if process.lives()]

    wait_until(lambda: not left(), seconds=quiet_seconds)
    return [f"an orphan process is left: {name}" for name in left()]
