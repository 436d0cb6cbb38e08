"""The training child: train a generator or a classifier, or measure a utility report, and stage the result for its parent.

The parent claimed the job and made the spend durable before it started the child. Until the rows are opened, no failure
can depend on them: it is the machinery's. From then on every failure that is not clearly the database's or the object
store's counts as one that could. What went wrong among the rows is sealed for their owner; that something did is logged
by the parent, at the next edge (core.jobs.visible_progress).
"""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any, Final
from uuid import UUID

import structlog
import torch

from core.artifacts.bundle import unpack_counts
from core.artifacts.counts import ReleasedCounts
from core.artifacts.errors import BundleInvalid
from core.artifacts.execution import SCHEMA
from core.artifacts.private_models.bundle import packed_model
from core.artifacts.private_models.constancy_check import MEMBER as MODEL_CHECK
from core.artifacts.sampling.generator_check import MEMBER, GeneratorCheck
from core.data.errors import ObjectMissing
from core.data.failure_notes import write_failure_note
from core.data.objects import ObjectStore
from core.data.private_rows import PrivateShards, open_private_rows
from core.db.session import Database
from core.db.tables.release import Release
from core.logs import get_logger
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.errors import InvalidSpec, SynthesizerNotInstalled
from core.plan.installed import require_installed
from core.plan.ordered_plan import OrderedPlan
from core.plan.plan import Plan
from core.plan.private_models.plan import ModelPlan
from core.plan.reused_counts import ReusedCounts
from core.plan.selections.plan import SelectionPlan
from core.plan.several_owners.member_plan import MemberPlan
from core.plan.utility_reports.plan import ReportPlan
from core.platform.settings import Settings
from core.platform.stored_objects import bundle_key, measurement_key
from models.bundle import write_bundle
from models.classifier.averaging import train_averaged
from models.classifier.model_writing import model_bundle
from models.classifier.private_training import train_classifier
from models.classifier.recorder import ModelRecorder, model_grids
from models.classifier.registered import require_registered
from models.coding import coded_images, coded_table, joined
from models.counting.units import UNIT_KEY_BYTES
from models.devices.errors import DeviceDiffers, OtherDevice
from models.devices.placement import HOST, Placement, placed, settle
from models.dp.errors import ModuleUnsuitable, RecordsMixed, UnevenRounding
from models.encoding import PrivateImages, PrivateTable
from models.exchange import CountExchange
from models.generator_check import check_generator
from models.grids import noise_grid
from models.learnt_domains.checked_bounds import check_bounds
from models.learnt_domains.learning import learnt_records
from models.learnt_domains.records import pair_of
from models.model_check import check_model
from models.randomness import KeyedStreams, Purpose
from models.registry import make_synthesizer
from models.release_recorder import CertificateRecorder, SelectionRecord, record_of
from models.selection.selecting import Selection
from models.software import software_of
from models.synthesizer import TrainedGenerator, TrainedImageGenerator, TrainingHost
from models.tables.measurement.count_rounds import CountRounds
from models.tables.measurement.reuse import require_usable
from workers import measuring
from workers.assignment import Assignment, Checkpoints, JobHost, mark_opening, read_assignment
from workers.child import AttemptEnded, ExitCode, limit_memory, machinery, storage
from workers.federation_board import board_of, exchanging
from workers.round_notes import noted
from workers.shared_counting import Helpers, StoredShards

IMPORTED_LATE: Final = ("jinja2", "onnx")
"""Libraries that are imported where they are used, mostly when the training has ended: many attempts end earlier."""


def run(settings: Settings, *, database: Database, store: ObjectStore, claimed: UUID, fence: int) -> None:
    """Make this process ready for the claim's training or measuring, and attempt it (workers.runner.Work).

    Raises:
        AttemptEnded: Why it went no further.
        ModuleNotFoundError: A library is missing. No row was opened.
    """
    for name in IMPORTED_LATE:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"{name} is not installed", name=name)
    placement = placed(settings.training_device, settings.training_precision)
    if not placement.data_parallel:
        # CUDA maps far more memory than it uses; there the parent's limit on resident memory has to do.
        limit_memory(settings.training_memory_bytes)
    repeatable(settings.training_threads)
    settle(placement)
    attempt(settings, database=database, store=store, job_id=claimed, fence=fence, placement=placement)


def attempt(
    settings: Settings,
    *,
    database: Database,
    store: ObjectStore,
    job_id: UUID,
    fence: int,
    placement: Placement = HOST,
) -> None:
    """Train or measure under a claim, and stage the result where the parent finds it.

    Raises:
        AttemptEnded: Why it went no further.
    """
    with machinery():
        work = read_assignment(database, job_id=job_id, fence=fence, master_keys=settings.master_keys)
    if work.claim.request_id is not None:
        structlog.contextvars.bind_contextvars(request_id=work.claim.request_id)
    if isinstance(work.claim.plan, ReportPlan):
        public, references = measuring.released_side(work, database=database, store=store)
        mark_opening(work, database=database, store=store)
        make = partial(
            measuring.measure,
            work,
            public,
            references,
            partial(_opened, work, store, public.domain or work.domain),
        )
        key = measurement_key(job_id, fence)
    elif isinstance(work.claim.plan, ModelPlan):
        make = partial(_model, settings, work, database=database, store=store)
        key = bundle_key(job_id, fence)
    else:
        make = partial(_bundle, settings, work, database=database, store=store, placement=placement)
        key = bundle_key(job_id, fence)
    _stage(make, key, work, store)


def _stage(make: Callable[[], bytes], key: str, work: Assignment, store: ObjectStore) -> None:
    """Make the result from the rows and store it. Only the owner of the rows learns of a failure that may depend on them.

    A failure to store the result is one too: how much memory is left then may depend on rows.

    Raises:
        AttemptEnded: Why it went no further.
    """
    try:
        content = make()
        with machinery():
            store.put_bytes(key, content)
    except AttemptEnded:
        raise
    except (OtherDevice, DeviceDiffers, UnevenRounding) as error:
        # Public numbers reveal all three before a step; a worker on another machine may succeed.
        raise AttemptEnded(ExitCode.MACHINERY) from error
    except (RecordsMixed, ModuleUnsuitable) as error:
        # Public records reveal it before a step, on every machine.
        get_logger().error("module-refused", reason=error.detail)
        raise AttemptEnded(ExitCode.MODULE_REFUSED) from error
    except Exception as error:  # noqa: BLE001 - its text is sealed for the owner; everybody else learns a code
        # Not even that it happened is logged here: its time and the class of the error could reveal something about rows.
        with suppress(Exception):
            claim = work.claim
            # The text may quote rows of any owner, and no owner may read those of another.
            if len(work.rows) == 1:
                write_failure_note(
                    store, job_id=claim.job_id, fence=claim.fence, data_key=work.data_key, error=error
                )
        raise AttemptEnded(ExitCode.DATA) from None


def _bundle(
    settings: Settings, work: Assignment, *, database: Database, store: ObjectStore, placement: Placement
) -> bytes:
    """Train, and pack the generator with the record of its training."""
    plan = _trained_plan(work)
    _require_installed(plan)
    placement = precise_enough(placement, plan)
    settle(placement)
    record = record_of(plan)
    host = _host(settings, work, record, database=database, store=store)
    rounds = _rounds(settings, work, plan, host, database=database, store=store)
    earlier = _earlier_counts(work, plan, database=database, store=store) if isinstance(plan, Plan) else ()
    mark_opening(work, database=database, store=store)
    with exchanging():
        domain, generator = _trained(
            settings, work, store, rounds or host, record, placement, earlier, rounds
        )
    report = _report_of(work, record, check_generator(generator, domain))
    return write_bundle(generator=generator, domain=domain.to_json(), certificate=report)


def _rounds(
    settings: Settings,
    work: Assignment,
    plan: Plan | SelectionPlan,
    host: JobHost,
    *,
    database: Database,
    store: ObjectStore,
) -> CountRounds | None:
    """The rounds in which a member of a federation exchanges its counts; None without one. The board must have the plan.

    Raises:
        AttemptEnded: The board has another plan, is over, or does not answer; or the database was restored. No row was opened.
    """
    if not isinstance(plan, MemberPlan):
        return None
    board = board_of(settings, work, plan)
    assert board is not None, "a plan of a federation"
    with machinery():
        board.require_same()
    claim, kept = work.claim, noted(board, settings, work.claim, database=database, store=store)
    return CountRounds(host, kept, plan.federation, rounds=plan.rounds, stage=claim.stage, step=claim.step)


def precise_enough(placement: Placement, plan: Plan | SelectionPlan) -> Placement:
    """The placement, with products in float32 instead of TF32 if a generator is trained against a critic alone.

    Its convolutions are so small that TF32 makes no step faster, and it cost one of three seeds four points (docs/gpu.md).
    """
    plans = (*plan.candidates, *plan.finals) if isinstance(plan, SelectionPlan) else (plan,)
    alone = any(one.steps and one.anchor is None for one in plans)
    return replace(placement, precision="float32") if alone and placement.precision == "tf32" else placement


def _model(settings: Settings, work: Assignment, *, database: Database, store: ObjectStore) -> bytes:
    """Train a classifier, and pack it with the record of its training: the same bytes for every attempt of a job.

    Raises:
        AttemptEnded: The federation does not go on.
        ExecutionDiffers: what was released is not the plan.
    """
    record = record_of_model(work.claim.plan)
    host = _host(settings, work, record, database=database, store=store)
    board = board_of(settings, work, record.plan)
    streams, kept = KeyedStreams(work.randomness_key, releases=record), None
    if board is not None:
        with machinery():
            board.require_same()
        kept = noted(board, settings, work.claim, database=database, store=store)
    mark_opening(work, database=database, store=store)
    if record.plan.options.averaging_rounds is None:
        trained = train_classifier(joined(_parts(work, store)), record.plan, streams, host)
    else:
        with exchanging():
            trained = train_averaged(
                _parts(work, store), record.plan, streams, host, kept, steps_begun=work.claim.steps_begun
            )
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": record.plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": record.executed().to_json(),
        "noisy_wrong": trained.wrong,
        "noise_grid": model_grids(record.plan),
        "software": software_of("core", "models", "workers"),
    }
    staged = model_bundle(trained, record.plan, work.domain, certificate=report)
    checked = replace(staged, certificate=report | {MODEL_CHECK: check_model(staged).to_json()})
    return packed_model(checked, readme="")


def record_of_model(plan: OrderedPlan) -> ModelRecorder:
    """An empty record of what a classifier's training will release.

    Raises:
        AttemptEnded: this worker has not the module that the plan names; another one may have it.
    """
    assert isinstance(plan, ModelPlan), "a plan of a classifier"
    try:
        require_registered(plan.options.module)
    except InvalidSpec as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error
    return ModelRecorder(plan)


def _host(
    settings: Settings,
    work: Assignment,
    record: CertificateRecorder | SelectionRecord | ModelRecorder,
    *,
    database: Database,
    store: ObjectStore,
) -> JobHost:
    claim = work.claim
    checkpoints = Checkpoints(
        store,
        job_id=claim.job_id,
        fence=claim.fence,
        randomness_key=work.randomness_key,
        federated=work.board is not None,
    )
    return JobHost(
        claim,
        database=database,
        checkpoints=checkpoints,
        record=record,
        checkpoint_seconds=settings.checkpoint_seconds,
    )


def _report_of(
    work: Assignment, record: CertificateRecorder | SelectionRecord, generator_check: GeneratorCheck
) -> dict[str, Any]:
    """Report what ran to its end; in the staged bundle it stands where the signed certificate will, with the order's date.

    Raises:
        ExecutionDiffers: the execution is not the plan's.
    """
    grids, synthesizers, executed = _executed(work, record)
    return {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": work.claim.plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": executed,
        "noise_grid": grids,
        "software": software_of("core", "models", "workers", synthesizers=synthesizers),
        MEMBER: generator_check.to_json(),
    }


def _executed(
    work: Assignment, record: CertificateRecorder | SelectionRecord
) -> tuple[dict[str, Any], tuple[str, ...], dict[str, Any]]:
    """Noise grids, synthesizers and execution of a training, or of all trainings of a selection."""
    if isinstance(record, CertificateRecorder):
        plan = work.claim.plan
        assert isinstance(plan, Plan), "a selection has a record of its own"
        return noise_grid(plan), (plan.synthesizer,), record.executed().to_json()
    executed, selection = record.executed(), record.plan
    grids = {
        "candidates": [noise_grid(one) for one in selection.candidates],
        "final": noise_grid(selection.finals[executed.winner]),
    }
    return grids, tuple(one.synthesizer for one in selection.candidates), executed.to_json()


def _trained(
    settings: Settings,
    work: Assignment,
    store: ObjectStore,
    host: TrainingHost,
    record: CertificateRecorder | SelectionRecord,
    placement: Placement,
    earlier: Sequence[ReleasedCounts],
    exchange: CountExchange | None,
) -> tuple[Domain, TrainedGenerator | TrainedImageGenerator]:
    """Open the private records and run the plan, recording what is released. The returned domain is the learnt one."""
    plan, domain = _trained_plan(work), work.domain
    make = partial(make_synthesizer, placement=placement, earlier=earlier, exchange=exchange)
    # In a selection every training has its own record.
    releases = None if isinstance(record, SelectionRecord) else record
    streams = KeyedStreams(work.randomness_key, releases=releases)
    if isinstance(plan, Plan) and isinstance(domain, TableDomain) and plan.checks_then_counts:
        assert plan.learning is not None, "bounds are checked"
        with storage():
            (rows,) = [PrivateShards(store, one.object_key, one.data_key, domain) for one in work.rows]
        key = streams.bytes(Purpose.UNIT_KEY, 0, UNIT_KEY_BYTES)
        checked = check_bounds(
            StoredShards(rows),
            domain,
            plan.learning,
            streams,
            host,
            declared_size=plan.declared_size,
            key=key,
        )
        with closing(Helpers(settings, work, store)) as helpers:
            counter = helpers.counter(
                [rows], checked, keys=[key], bound=plan.privacy_unit.records, alone=checked != domain
            )
            return checked, make(plan.synthesizer).fit(counter, plan, streams, host)
    if isinstance(plan, Plan) and plan.learning is not None:
        assert isinstance(domain, TableDomain), "only a table's domain is learnt"
        with storage():
            batches = list(open_private_rows(store, *work.only_rows, domain))
        key = streams.bytes(Purpose.UNIT_KEY, 0, UNIT_KEY_BYTES)
        domain, table = learnt_records(
            batches,
            domain,
            plan.learning,
            streams,
            host,
            bound=plan.privacy_unit.records,
            key=key,
            pair=pair_of(plan, domain),
        )
        plan = plan.with_learnt_records(domain.records_per_unit)
        return domain, make(plan.synthesizer).fit(table, plan, streams, host)
    if isinstance(plan, Plan) and isinstance(domain, TableDomain) and plan.only_counts:
        with storage():
            stored = [PrivateShards(store, one.object_key, one.data_key, domain) for one in work.rows]
        # The same value of the unit column at two owners is two units.
        keys = [streams.bytes(Purpose.UNIT_KEY, place, UNIT_KEY_BYTES) for place in range(len(stored))]
        with closing(Helpers(settings, work, store)) as helpers:
            counter = helpers.counter(stored, domain, keys=keys, bound=plan.privacy_unit.records)
            return domain, make(plan.synthesizer).fit(counter, plan, streams, host)
    records = _opened(work, store, domain)
    if isinstance(plan, SelectionPlan):
        assert isinstance(record, SelectionRecord), "the plan's record"
        return domain, Selection(records, plan, streams, host, listening=record, make=make).run().generator
    return domain, make(plan.synthesizer).fit(records, plan, streams, host)


def _trained_plan(work: Assignment) -> Plan | SelectionPlan:
    plan = work.claim.plan
    assert not isinstance(plan, ReportPlan | ModelPlan), "a plan of a generator"
    return plan


def _require_installed(plan: Plan | SelectionPlan) -> None:
    """End the attempt before a row is opened if a library is missing: another worker may have it.

    Raises:
        AttemptEnded: It is missing.
    """
    plans = plan.finals if isinstance(plan, SelectionPlan) else (plan,)
    try:
        for one in plans:
            require_installed(one.synthesizer)
    except SynthesizerNotInstalled as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error


def _earlier_counts(
    work: Assignment, plan: Plan, *, database: Database, store: ObjectStore
) -> tuple[ReleasedCounts, ...]:
    """Read the counts of earlier releases that the plan reuses, before a row is opened; each must have its digest.

    Raises:
        AttemptEnded: A bundle is gone or holds other counts than the order names; or database or object store failed.
    """
    if not plan.reused:
        return ()
    assert isinstance(work.domain, TableDomain), "only counts of tables are reused"
    found = tuple(_counts_of(one, work, database, store) for one in plan.reused)
    try:
        require_usable(
            plan, found, cardinalities=work.domain.cardinalities, target_index=work.domain.target_index
        )
    except ValueError:
        raise AttemptEnded(ExitCode.REUSED_MISSING) from None
    return found


def _counts_of(one: ReusedCounts, work: Assignment, database: Database, store: ObjectStore) -> ReleasedCounts:
    with machinery():
        with database.read_only() as session:
            release = session.get(Release, UUID(one.release_id))
            key = (
                None if release is None or release.dataset_id != work.claim.dataset_id else release.bundle_key
            )
        try:
            bundle = None if key is None else store.get_bytes(key)
        except ObjectMissing:
            bundle = None
    content = None
    try:
        content = None if bundle is None else unpack_counts(bundle)[1]
        if content is not None and hashlib.sha256(content).hexdigest() == one.counts_sha256:
            return ReleasedCounts.from_bytes(content)
    except BundleInvalid:
        pass
    get_logger().error("reused-counts-missing", release_id=one.release_id)
    raise AttemptEnded(ExitCode.REUSED_MISSING)


def _opened(work: Assignment, store: ObjectStore, domain: Domain) -> PrivateTable | PrivateImages:
    """Open the rows by the declared domain, and code them by `domain`: a release's, or the declared one."""
    with storage():
        batches = open_private_rows(store, *work.only_rows, work.domain)
        if isinstance(domain, ImageDomain):
            return coded_images(batches, domain)
        return coded_table(batches, domain)


def _parts(work: Assignment, store: ObjectStore) -> list[PrivateTable | PrivateImages]:
    """Open and code the rows of every owner; all ledgers are spent. Units of different owners are different units."""
    return [_opened(replace(work, rows=(rows,)), store, work.domain) for rows in work.rows]


def repeatable(threads: int) -> None:
    """Make torch's sums independent of the machine's load, and refuse operations that are not repeatable."""
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    # use_deterministic_algorithms does the same but imports torch's compiler to notify it too; nothing here is compiled.
    torch.set_deterministic_debug_mode("error")
    # Filling fresh memory hides reads of it but changes no result.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
