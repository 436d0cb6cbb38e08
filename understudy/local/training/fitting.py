"""Train a generator on this machine, in this process, without a service or a worker.

The order is plan, pay, train, certify. The charge is on disk before a row reaches the synthesizer, and neither a crash nor a failure
undoes it. Only cleaning and coding come before; their results are for the owner alone. All ledger entries of a training have the time of the
call, because durations may depend on the rows.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from core.artifacts.asking.release_notes import release_notes
from core.artifacts.bundle import artefacts_of, unpack
from core.artifacts.certificate import make_certificate
from core.artifacts.execution import Executed
from core.artifacts.packing import files_of, pack
from core.artifacts.readme import render_readme
from core.artifacts.sampling.generator_check import REMEDY, GeneratorCheck
from core.clock import FixedClock, SystemClock
from core.data.intake.clean_rows import CleanBlock
from core.data.intake.intake_report import MAX_REFUSED
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.expected_error import ExpectedError
from core.plan.plan import Plan
from core.plan.training_quote import expected_error_in
from models.bundle import write_bundle
from models.counting.units import UNIT_KEY_BYTES
from models.generator_check import check_generator
from models.grids import noise_grid
from models.learnt_domains.learning import learnt_records
from models.learnt_domains.records import pair_of
from models.randomness import KEY_BYTES, KeyedStreams
from models.registry import make_synthesizer
from models.release_recorder import CertificateRecorder
from models.software import software_of
from understudy.documents import Json
from understudy.errors import DegenerateGenerator, HiddenByNoise, InputUnusable
from understudy.local.fitted import Fitted
from understudy.local.ledger.accounts import Payment, answered, folder_of, pay, set_first_cap, settle
from understudy.local.ledger.file import ledger_path
from understudy.local.paths import AnyPath
from understudy.local.rows.frames import clean_frame
from understudy.local.rows.images import clean_images
from understudy.local.rows.intake import taken_in
from understudy.local.training.arithmetic import repeatable_torch, require_plain_torch
from understudy.local.training.planning import Order, guarantee_of
from understudy.local.warned import warn
from understudy.verifying.local_form import localised

Watch = Callable[[str, int, int], None]


@contextmanager
def progress_bar(*, wanted: bool) -> Iterator[Watch | None]:
    """Show stage and steps in a terminal or a notebook; nothing in a pipe.

    Yields:
        The `watch` callback of `understudy.local.fit`, with stage, step and number of steps; None if nothing is shown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from understudy.training_bar import shows_bars

    console = Console(stderr=True)
    if not (wanted and shows_bars(console)):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("preparing", total=None)

        def watch(stage: str, step: int, total: int) -> None:
            progress.update(task, description=stage, completed=step, total=total)

        yield watch


def fit(
    frame: object,
    domain: Json | AnyPath,
    guarantee: PrivacyGuarantee | tuple[float, float],
    *,
    dataset: str,
    labels: object = None,
    units: object = None,
    declared_size: int | None = None,
    synthesizer: str = "idpgan",
    options: Json | None = None,
    max_refused: float = MAX_REFUSED,
    cap: tuple[float, float] | None = None,
    ledgers: AnyPath | None = None,
    watch: Watch | None = None,
) -> Fitted:
    """Train a generator on private rows or images, and charge the dataset's ledger.

    Args:
        frame: rows as a DataFrame of pandas or polars or an Arrow table, with the declared columns; or images as a numpy array of uint8,
            (images, height, width, channels), or (images, height, width) if one channel is declared.
        domain: the declared domain of a table or of images: its document, or its file.
        guarantee: epsilon and delta of this training.
        dataset: name of the dataset. The name is trusted: the same people under two names have two budgets, which cannot be
            detected.
        labels: one label for each image, if the domain declares labels. A label is a declared word or a number: the word itself if all
            declared words are numbers, else its index in the declared list, from 0.
        units: the privacy unit of each image, if declared: text or whole numbers.
        declared_size: the public number of privacy units; default: `declared_size` of the document. It is never counted.
        synthesizer: "idpgan"; or "aim" or "mst", which need the extra `graphical`.
        options: options that replace the public rules.
        max_refused: the largest share of records that the domain's rules may refuse, from 0 to 1. Above it nothing is charged or trained;
            below it `RowsRefused` warns, and the result holds the counts.
        cap: epsilon and delta of the cap to set if there is none; without it, `understudy.local.set_cap` sets the cap. It is set immediately
            before the payment, if it admits the training.
        ledgers: folder of the ledgers, text or a path; default: one folder for all programs of this user.
        watch: called with stage, step and number of steps.

    Warns:
        RowsRefused: the domain's rules refused some records.
        ValuesClamped: many values of a column lie outside its declared bounds. The warning precedes any charge.
        BoundsTooWide: nearly all values of a column lie in one or two bins of its declared bounds, and the training does not check
            them. The warning precedes any charge.
        HiddenByNoise: the noise hides the smallest class of the target, or most values of a column whose words were learnt.
        DegenerateGenerator: the draws vary too little; `generator_check` of the certificate names the columns.

    Raises:
        BudgetRefused: the ledger does not admit the training; nothing was spent.
        Conflict: no cap is set, or a cap other than `cap`; or earlier trainings protect another privacy unit.
        InvalidInput: the domain, the guarantee or an option breaks a rule, or a requirement of the synthesizer is not installed.
        InputUnusable: the rows or images are unusable, too many are refused, or torch settings do not allow a training.
        VerificationFailed: the ledger file was altered.
    """
    require_plain_torch()
    require_share(max_refused)
    order = Order.read(domain, declared_size=declared_size, synthesizer=synthesizer, options=options)
    path = ledger_path(folder_of(ledgers), dataset)
    clock, job_id = FixedClock(SystemClock().now()), uuid4()
    declared = order.domain
    with answered():
        plan = order.plan(guarantee_of(guarantee))
        expected = expected_error_in(plan, declared)
        blocks = cleaned(frame, labels, units, declared)
        intake = taken_in(blocks, declared, declared_size=order.declared_size)
    intake.require_few_refused(max_refused)
    intake.warn(checked=() if plan.learning is None else plan.learning.checks)
    # Rows are checked before they are charged, unless something is learnt from them.
    declared_records = None if plan.learning else intake.records
    if cap is not None:
        set_first_cap(path, dataset, cap, plan, charge_at=order.charge_at)
    payment = pay(path, dataset, plan, job_id=job_id, clock=clock, charge_at=order.charge_at)
    record = CertificateRecorder(plan)
    streams = KeyedStreams(secrets.token_bytes(KEY_BYTES), releases=record)
    with repeatable_torch():
        records, host = declared_records, LocalHost(watch)
        if records is None:
            assert isinstance(declared, TableDomain), "only a table's domain is learnt"
            declared, records = learnt_records(
                intake.batches,
                declared,
                plan.learning,
                streams,
                host,
                declared_size=plan.declared_size,
                bound=plan.privacy_unit.records,
                key=secrets.token_bytes(UNIT_KEY_BYTES),
                pair=pair_of(plan, declared),
            )
        running = plan.with_learnt_records(declared.records_per_unit)
        generator = make_synthesizer(plan.synthesizer).fit(records, running, streams, host)
        found = check_generator(generator, declared)
    with answered():
        staged = write_bundle(generator=generator, domain=declared.to_json(), certificate={})
        bundle, certificate = _certified(
            staged, plan, record.executed(), found, payment, declared, job_id=job_id, ordered_at=clock.now()
        )
    settle(path, dataset, plan, payment, job_id=job_id, clock=clock)
    if found.degenerate:
        warn(f"{found.detail} {REMEDY}", DegenerateGenerator)
    fitted = Fitted(
        bundle=bundle,
        certificate=certificate,
        expected_error=expected.to_json() if isinstance(expected, ExpectedError) else None,
        rows_refused=intake.rows_refused,
        refusals=intake.refusals,
    )
    if fitted.noise_notes:
        warn(" ".join(fitted.noise_notes), HiddenByNoise)
    return fitted


class LocalHost:
    """A `models.synthesizer.TrainingHost` in one process: without checkpoints, so an interrupted training is lost."""

    def __init__(self, watch: Watch | None) -> None:
        self._watch = watch

    def advance(self, *, stage: str, step: int, total: int) -> None:
        """Report progress; the whole training is already paid for."""
        if self._watch is not None:
            self._watch(stage, step, total)

    def load_checkpoint(self) -> bytes | None:
        """Return None: there is never a checkpoint."""
        return None

    def checkpoint_due(self) -> bool:
        """Never."""
        return False

    def save_checkpoint(self, state: bytes) -> None:
        """Keep nothing."""


def cleaned(frame: object, labels: object, units: object, domain: Domain) -> Iterable[CleanBlock]:
    """Clean a frame's rows, or images with their labels and units, by the domain's rules.

    Raises:
        InputUnusable: the input is unusable.
    """
    if isinstance(domain, ImageDomain):
        return clean_images(frame, labels, units, domain)
    if labels is not None or units is not None:
        raise InputUnusable("labels and units are arguments for images only; a table has them in its columns")
    return [clean_frame(frame, domain)]


def require_share(max_refused: float) -> None:
    """Refuse a value that is no share of the records.

    Raises:
        InputUnusable: the value is no share.
    """
    if isinstance(max_refused, bool) or not 0 <= max_refused <= 1:
        raise InputUnusable("max_refused is a share of the records, from 0 to 1, such as 0.02")


def _certified(
    staged: bytes,
    plan: Plan,
    executed: Executed,
    found: GeneratorCheck,
    payment: Payment,
    domain: Domain,
    *,
    job_id: UUID,
    ordered_at: datetime,
) -> tuple[bytes, dict[str, Any]]:
    """The bundle with its certificate, as in `workers.publishing`, with the statements for a single person."""
    opened = unpack(staged)
    stated = localised(
        make_certificate(
            plan=plan,
            executed=executed,
            release_id=uuid4(),
            job_id=job_id,
            dataset_id=payment.population_id,
            population_id=payment.population_id,
            issued_at=ordered_at,
            reserved=payment.reserved,
            spent=payment.spent,
            domain_digest=domain.digest(),
            cardinalities=opened.manifest.cardinalities,
            noise_grid=noise_grid(plan),
            software=software_of("core", "models", "understudy", synthesizers=(plan.synthesizer,)),
            generator_check=found,
        )
    )
    # The columns whose words the training learns.
    learnt = () if plan.learning is None else plan.learning.words_of
    notes = release_notes(opened, learnt=learnt)
    readme = render_readme(opened.manifest, certificate=stated, counts=opened.counts, notes=notes)
    certificate = stated | {"artefacts": artefacts_of(files_of(opened, readme=readme))}
    return pack(replace(opened, certificate=certificate), readme=readme), certificate
