"""The child process that makes an owner report.

It opens private rows, compares them with rows drawn from the release, and stores one file, sealed for the owner of the
rows. What goes wrong among the rows is written into the file in the report's place, so that to everybody but its owner it
looks like any report. No ledger entry precedes it, because nothing leaves it that anybody but the owner can open. It
imports no torch.
"""

import traceback
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from core.artifacts.bundle import unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.reports.columns import coded_rows, columns_of, made_columns_of, target_note
from core.artifacts.reports.image_contents import measure_images, real_images
from core.artifacts.reports.image_page import most_image_bytes, render_images
from core.artifacts.reports.owner_contents import measure
from core.artifacts.reports.owner_files import report_key, write_report
from core.artifacts.reports.owner_orders import REPORTS
from core.artifacts.reports.owner_page import Subject, most_bytes, render, render_failure
from core.artifacts.sampling.image_sampler import ImageSampler
from core.artifacts.sampling.sampler import Sampler
from core.data.errors import ObjectMissing
from core.data.master_keys import MasterKeys
from core.data.objects import ObjectStore
from core.data.private_rows import open_private_rows
from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.release import Release
from core.plan.crowding import checked_columns
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.images import PIXELS, ImageDomain
from core.plan.domain.table import TableDomain
from core.platform.settings import Settings
from workers.child import AttemptEnded, ExitCode, limit_memory, machinery, storage


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWork:
    """One attempt's work: `data_key`, of 32 bytes, opens the rows and seals the report; `target` is the column to predict."""

    report_id: UUID
    fence: int
    dataset_id: UUID
    domain: Domain
    rows_key: str
    data_key: bytes = field(repr=False)
    bundle_key: str
    target: str
    subject: Subject


def read_report_work(
    database: Database, *, report_id: UUID, fence: int, master_keys: MasterKeys
) -> ReportWork:
    """Read the work of a claim, if it still holds the report.

    Raises:
        LeaseLost: Another worker took over, or the report has ended or is gone.
        ObjectMissing: The dataset's rows were deleted.
        SealBroken: A key does not open; the master key may be another one.
        DatabaseUnavailable: The database is away.
    """
    with database.read_only() as session:
        report = REPORTS.held(session, report_id, fence=fence)
        dataset = session.get_one(Dataset, report.dataset_id)
        release = session.get_one(Release, report.release_id)
        if dataset.rows_key is None or dataset.wrapped_data_key is None:
            raise ObjectMissing
        return ReportWork(
            report_id=report_id,
            fence=fence,
            dataset_id=dataset.id,
            domain=domain_from_json(dataset.domain),
            rows_key=dataset.rows_key,
            data_key=master_keys.unwrap(dataset.wrapped_data_key, context=f"dataset:{dataset.id}"),
            bundle_key=release.bundle_key,
            target=report.target,
            subject=Subject(
                title=dataset.name, facts=tuple(_facts(release, report.target, dataset.privacy_unit))
            ),
        )


def _facts(release: Release, target: str, unit: str | None) -> Iterator[tuple[str, str]]:
    yield "Release", str(release.id)
    yield "Released", f"{release.created_at:%Y-%m-%d %H:%M} UTC"
    promised: dict[str, Any] = release.certificate.get("privacy_parameters", {})
    if {"epsilon", "delta"} <= promised.keys():
        yield "Guarantee of the release", f"ε {promised['epsilon']}, δ {promised['delta']}"
    yield "Protected unit", "one record" if unit is None else f"all records of one “{unit}”"
    if target != PIXELS:
        yield "Predicted column", target


def run(settings: Settings, *, database: Database, store: ObjectStore, claimed: UUID, fence: int) -> None:
    """Make this process ready for the claim's report, and make it (workers.runner.Work)."""
    limit_memory(settings.training_memory_bytes)
    make(settings, database=database, store=store, report_id=claimed, fence=fence)


def make(settings: Settings, *, database: Database, store: ObjectStore, report_id: UUID, fence: int) -> None:
    """Make the report of a claim and store it, sealed, under the key that its parent will name.

    Raises:
        AttemptEnded: Why there is none.
    """
    with machinery():
        work = read_report_work(database, report_id=report_id, fence=fence, master_keys=settings.master_keys)
        bundle = store.get_bytes(work.bundle_key)
    try:
        html = _written(work, store, bundle)
    except AttemptEnded:
        raise
    except Exception as error:  # noqa: BLE001 - its text is sealed for the owner; no other principal learns of the error
        html = render_failure(work.subject, "".join(traceback.format_exception(error)))
    key = report_key(work.dataset_id, report_id, fence)
    room = _room(work.domain, bundle)
    try:
        with machinery():
            write_report(store, key, html, data_key=work.data_key, room=room)
    except AttemptEnded:
        raise
    except Exception:  # noqa: BLE001 - how much memory is left may depend on rows: no log says when, or of which class
        raise AttemptEnded(ExitCode.DATA) from None


def _room(declared: Domain, bundle: bytes) -> int:
    """Bytes that any report takes, by the declared domain and, if part of it is learnt, the release's, whose words may be longer; both are public."""
    if isinstance(declared, ImageDomain):
        return most_image_bytes(declared)
    domains = [declared]
    if declared.learnt or checked_columns(declared):
        with suppress(BundleInvalid):
            domains.append(TableDomain.from_json(unpack(bundle).domain))
    return max(most_bytes((*columns_of(domain), *made_columns_of(domain))) for domain in domains)


def _written(work: ReportWork, store: ObjectStore, bundle: bytes) -> str:
    if isinstance(work.domain, ImageDomain):
        with storage():
            images = real_images(
                open_private_rows(store, work.rows_key, work.data_key, work.domain), work.domain
            )
        return render_images(work.subject, measure_images(images, ImageSampler(unpack(bundle))), work.domain)
    with storage():
        rows = open_private_rows(store, work.rows_key, work.data_key, work.domain)
        opened = unpack(bundle)
        # The release's own domain: what is learnt of a declared domain differs between releases.
        domain = TableDomain.from_json(opened.domain)
        codes, units, made = coded_rows(rows, domain)
    sampler = Sampler(opened)
    contents = measure(
        codes,
        units,
        sampler.codes,
        columns_of(domain),
        target=work.target,
        target_note=target_note(work.domain, work.target),
        made=made,
    )
    return render(work.subject, contents)
