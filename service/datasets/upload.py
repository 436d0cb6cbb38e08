"""Uploading rows: streamed, sealed, and stored completely or not at all.

A stream can last for minutes, so no transaction is open meanwhile. The steps: check (short transaction), seal into a
scratch file, store the object under a fresh key, then one transaction that locks the dataset's row, checks again and
points the row at the object. Nothing references the object before that commit. If anything fails earlier, the object is
removed; a crash leaves at most an unreferenced object, sealed under a key that was never stored.

If more rows are refused than the owner allows, the remaining rows are stored separately and await the owner's decision
(`core.data.waiting_rows`). A later upload replaces waiting rows.
"""

from collections.abc import Callable, Iterable
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy.orm import Session

from core.data import waiting_rows
from core.data.intake.intake import store_rows
from core.data.intake.intake_report import MAX_REFUSED, IntakeReport, too_many_refused
from core.data.intake.unit_limit import UnitLimit
from core.data.intake.unpacking import IntakeLimits
from core.data.sealing import new_data_key
from core.db.session import on_commit
from core.db.tables.waiting_rows import WaitingRows
from core.plan.domain.declared import Domain, domain_from_json
from core.platform.access.roles import Principal
from core.platform.quotas import checks
from service.audit import record
from service.context import AppContext
from service.datasets import repository
from service.datasets.errors import RowsAlreadyStored


def _nothing_more(_session: Session) -> None:
    """Default for `attached`: nothing besides the rows."""


class RowsUpload:
    """One upload to one dataset.

    Args:
        principal: The sender; must own the dataset.
        max_refused: The largest share of refused rows that is accepted without the owner's decision.
        upload_id: The multipart upload that the rows come from, if any; its bytes do not count twice against the quota.
    """

    def __init__(
        self,
        context: AppContext,
        principal: Principal,
        dataset_id: UUID,
        *,
        max_refused: float = MAX_REFUSED,
        upload_id: UUID | None = None,
    ) -> None:
        self._context = context
        self._principal = principal
        self._dataset_id = dataset_id
        self._max_refused = max_refused
        self._upload_id = upload_id
        # A fresh object key for each upload, so that concurrent uploads never overwrite each other.
        self._rows_key = f"datasets/{dataset_id}/rows-{uuid4().hex}.sealed"

    def require_open(self) -> tuple[Domain, UnitLimit]:
        """The domain and unit limit to check rows against, if the dataset accepts rows.

        Raises:
            DatasetNotFound: No such dataset, or someone else's.
            RowsAlreadyStored: The dataset already has rows.
        """
        with self._context.database.read_only() as session:
            dataset = repository.owned(session, self._dataset_id, self._principal)
            if dataset.state != "declared":
                raise RowsAlreadyStored
            domain = domain_from_json(dataset.domain)
            limit = UnitLimit(declared_size=dataset.declared_size, unit_column=domain.privacy_unit)
            return domain, limit

    def receive(
        self,
        body: Iterable[bytes],
        *,
        domain: Domain,
        units: UnitLimit,
        content_type: str,
        attached: Callable[[Session], None] = _nothing_more,
    ) -> dict[str, Any]:
        """Ingest the rows of a file and store them; `attached` is called in the transaction that attaches them.

        Returns the intake report, for the owner; its `waiting` says whether the rows await the owner's decision.

        Raises:
            RowsAlreadyStored: Another upload was faster.
            QuotaExceeded: The principal's storage quota is exceeded.
            UnderstudyError: The intake rejects the body as a whole.
        """
        settings = self._context.settings
        data_key = new_data_key()
        report = store_rows(
            body,
            content_type=content_type,
            domain=domain,
            store=self._context.store,
            key=self._rows_key,
            data_key=data_key,
            scratch_folder=settings.scratch_folder,
            limits=IntakeLimits(
                max_bytes=settings.max_upload_bytes, max_unpacked_bytes=settings.max_decompressed_bytes
            ),
            units=units,
        )
        try:
            return self._attach(report, data_key, attached)
        except BaseException:
            self._remove_unless_attached()
            raise

    def _attach(
        self, report: IntakeReport, data_key: bytes, attached: Callable[[Session], None]
    ) -> dict[str, Any]:
        context = self._context
        stored_bytes = context.store.size_of(self._rows_key)
        with context.database.transaction() as session:
            checks.require_bytes(
                session,
                self._principal.id,
                limit=context.settings.quota_stored_bytes,
                requested=stored_bytes,
                instead_of=self._upload_id,
                dataset_id=self._dataset_id,
            )
            dataset = repository.owned_for_update(session, self._dataset_id, self._principal)
            if dataset.state != "declared":
                raise RowsAlreadyStored
            replaced = waiting_rows.take_away(session, dataset.id)
            if replaced is not None:
                on_commit(session, lambda: context.store.delete(replaced))
            rows = WaitingRows(
                dataset_id=dataset.id,
                rows_key=self._rows_key,
                wrapped_data_key=context.settings.master_keys.wrap(data_key, context=f"dataset:{dataset.id}"),
                stored_bytes=stored_bytes,
                intake_report=report.to_json(),
            )
            waits = too_many_refused(
                accepted=report.rows_accepted, refused=report.rows_refused, max_refused=self._max_refused
            )
            if waits:
                session.add(rows)
            else:
                waiting_rows.close(dataset, rows)
                record(
                    session, self._principal, action="dataset.rows", object_id=dataset.id, clock=context.clock
                )
            attached(session)
            return report.to_json() | {"waiting": waits}

    def _remove_unless_attached(self) -> None:
        # A commit whose answer was lost may have happened or may still be running, so wait for its lock on the row. If
        # the row then points at the object, the object must stay.
        with self._context.database.transaction() as session:
            attached = self._rows_key in repository.settled_rows_keys(session, self._dataset_id)
        if not attached:
            self._context.store.delete(self._rows_key)
