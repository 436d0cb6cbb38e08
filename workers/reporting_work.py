"""What the child that makes a sealed report works on, and how it ends without a word about rows."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from core.db.session import Database
from core.db.tables.dataset import Dataset
from core.db.tables.release import Release
from core.domain.table import TableDomain
from core.reports.sealed_orders import REPORTS
from core.reports.sealed_page import Subject
from core.storage.errors import ObjectMissing
from core.storage.master_keys import MasterKeys


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportWork:
    """One attempt's work.

    Args:
        report_id: The report.
        fence: Of the claim.
        dataset_id: Whose rows.
        domain: The declared domain.
        rows_key: Where the sealed rows lie.
        data_key: Opens them, and seals the report; 32 bytes.
        bundle_key: Where the release's generator lies.
        target: The column to predict.
        subject: What the report says it is about.
    """

    report_id: UUID
    fence: int
    dataset_id: UUID
    domain: TableDomain
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
        ObjectMissing: The dataset has no rows any more.
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
            domain=TableDomain.from_json(dataset.domain),
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
    yield "Predicted column", target
