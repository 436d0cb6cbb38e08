"""Taking in the rows of an upload whose parts are all there.

It may take minutes, in which nothing would pass over the connection, so it is not done inside a request: a thread of
this process does it, under the lease and fence of a job (core.jobs.leases). Asking again tells how far it is. If the
process is killed, the lease runs out, and whoever asks next begins anew with the same parts. A thread that has lost its
lease attaches nothing.
"""

import contextvars
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.access.roles import Principal
from core.db.tables.upload import Upload
from core.errors import (
    Conflict,
    InternalError,
    InvalidInput,
    NotFound,
    TooLarge,
    UnderstudyError,
    Unsupported,
)
from core.jobs.errors import LeaseLost
from core.jobs.leases import has_live_worker
from core.logs import get_logger
from core.quotas.errors import QuotaExceeded
from core.storage.intake_report import MAX_REFUSED
from core.storage.upload_parts import read_parts
from core.uploads import repository
from core.uploads.ending import end, erase_parts
from core.uploads.errors import ChecksumDiffers, UploadIncomplete, UploadNotOpen
from core.uploads.repository import UPLOADS
from service.context import AppContext
from service.datasets.upload import RowsUpload
from service.uploads.failures import failure_of, raise_failure
from service.uploads.receiving import wrapping_context
from service.uploads.schemas import parts_total

# These say something about the file or the dataset, and would say it again.
_FINAL: Final = (InvalidInput, TooLarge, Unsupported, NotFound, Conflict)
_WORTH_ANOTHER_TRY: Final = (ChecksumDiffers, QuotaExceeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to take one upload in, for as long as the lease is renewed.

    Args:
        upload_id: Which upload.
        dataset_id: Where its rows belong.
        fence: Which attempt this is.
        content_type: As declared.
        sha256: Of the whole file, as announced.
        data_key: Opens the parts.
        keys: Where the parts lie, in order.
    """

    upload_id: UUID
    dataset_id: UUID
    fence: int
    content_type: str
    sha256: bytes
    data_key: bytes
    keys: tuple[str, ...]


class Completion:
    """One request to complete an upload.

    Args:
        parts: The parts of this process.
        principal: Who asks; must have started the upload.
        upload_id: Which upload.
        sha256: Of the whole file.
        max_refused: The largest share of refused rows that closes the dataset without the owner's decision.
    """

    def __init__(
        self,
        context: AppContext,
        principal: Principal,
        upload_id: UUID,
        *,
        sha256: bytes,
        max_refused: float = MAX_REFUSED,
    ) -> None:
        self._context = context
        self._principal = principal
        self._upload_id = upload_id
        self._sha256 = sha256
        self._max_refused = max_refused

    def pursue(self, *, patience_seconds: float) -> Upload:
        """Begin, if nobody else is at it, and wait a moment for the end.

        Returns:
            The upload as it is then: completing or completed.

        Raises:
            UploadNotFound: No such upload, or somebody else's.
            UploadNotOpen: It was aborted, or its time was over.
            UploadIncomplete: AppContext are missing.
            ChecksumDiffers: Another digest was announced before, or the parts together have another.
            ServiceBusy: As many uploads are being taken in as this process does at once.
            ShareUsedUp: One of the principal's is being taken in by this process.
            UnderstudyError: Why the rows were refused, or the last attempt failed.
        """
        upload = self._read()
        self._tell_failure(upload)
        if self._wants_work(upload):
            thread = self._begin()
            if thread is not None:
                thread.join(patience_seconds)
        upload = self._read()
        self._tell_failure(upload)
        if upload.state not in {"completing", "completed"}:
            raise UploadNotOpen(upload.state)
        return upload

    def _begin(self) -> threading.Thread | None:
        """Claim the upload and start on it, unless somebody else has."""
        limit, who = self._context.limits.intakes, self._principal.id
        limit.acquire(who)
        try:
            claim = self._claim()
            if claim is None:
                limit.release(who)
                return None
            # The request's context (its id, who asks) goes along, for logs and audit.
            work = partial(contextvars.copy_context().run, self._work, claim)
            thread = threading.Thread(target=work, name=f"intake-{self._upload_id}", daemon=True)
            thread.start()
        except BaseException:
            limit.release(who)
            raise
        return thread

    def _tell_failure(self, upload: Upload) -> None:
        """Say why the rows were refused, every time, or why the last attempt failed, once: the next tries again."""
        if upload.failure is None:
            return
        if upload.state == "open":
            with self._context.database.transaction() as session:
                row = repository.owned(session, upload.id, self._principal.id, lock=True)
                row.failure = None if row.fence == upload.fence else row.failure
        raise_failure(upload.failure)

    def _read(self) -> Upload:
        with self._context.database.read_only() as session:
            upload = repository.owned(session, self._upload_id, self._principal.id)
            session.expunge(upload)
            return upload

    def _wants_work(self, upload: Upload) -> bool:
        if upload.state == "completing":
            return not has_live_worker(upload, now=self._context.clock.now())
        return upload.state == "open"

    def _claim(self) -> Claim | None:
        """Take the lease, unless somebody else has."""
        settings, clock = self._context.settings, self._context.clock
        with self._context.database.transaction() as session:
            upload = repository.owned(session, self._upload_id, self._principal.id, lock=True)
            if not self._wants_work(upload):
                return None
            arrived = repository.parts_of(session, upload.id)
            missing = set(range(1, parts_total(upload) + 1)) - {part.number for part in arrived}
            if missing:
                raise UploadIncomplete(sorted(missing))
            if upload.sha256 not in {None, self._sha256}:
                raise ChecksumDiffers
            assert upload.wrapped_data_key is not None
            UPLOADS.take(upload, now=clock.now(), seconds=settings.lease_seconds)
            upload.failure = None
            return Claim(
                upload_id=upload.id,
                dataset_id=upload.dataset_id,
                fence=upload.fence,
                content_type=upload.content_type,
                sha256=self._sha256,
                data_key=settings.master_keys.unwrap(
                    upload.wrapped_data_key, context=wrapping_context(upload.id)
                ),
                keys=tuple(part.object_key for part in arrived),
            )

    def _work(self, claim: Claim) -> None:
        try:
            with _lease_kept(self._context, claim):
                self._take_in(claim)
        except UnderstudyError as error:
            self._note(claim, error)
        except Exception:  # noqa: BLE001 - whoever asks next is told that it failed, and may try again
            get_logger().error("upload-not-taken-in", upload_id=str(claim.upload_id), exc_info=True)
            self._note(claim, InternalError())
        finally:
            self._context.limits.intakes.release(self._principal.id)

    def _take_in(self, claim: Claim) -> None:
        rows = RowsUpload(
            self._context,
            self._principal,
            claim.dataset_id,
            max_refused=self._max_refused,
            upload_id=claim.upload_id,
        )
        domain, units = rows.require_open()
        content = _Whole(read_parts(self._context.store, claim.keys, claim.data_key), claim.sha256)
        try:
            rows.receive(
                content,
                domain=domain,
                units=units,
                content_type=claim.content_type,
                attached=partial(self._end, claim),
            )
        except _FINAL:
            # A file that is not the announced one is no reason to judge its rows.
            content.require_announced()
            raise
        erase_parts(self._context.store, claim.upload_id)

    def _end(self, claim: Claim, session: Session) -> None:
        """End the upload in the transaction that attaches the rows.

        Raises:
            LeaseLost: Somebody else has taken the upload over or ended it, so the rows are not attached.
        """
        upload = UPLOADS.locked(session, claim.upload_id, fence=claim.fence)
        end(session, upload, "completed", clock=self._context.clock)

    def _note(self, claim: Claim, error: UnderstudyError) -> None:
        """Leave word of a failure, if the lease still holds."""
        try:
            if self._noted(claim, error):
                erase_parts(self._context.store, claim.upload_id)
        except UnderstudyError as second:
            # The lease runs out, and whoever asks next begins anew.
            get_logger().error("upload-failure-not-noted", upload_id=str(claim.upload_id), code=second.code)

    def _noted(self, claim: Claim, error: UnderstudyError) -> bool:
        with self._context.database.transaction() as session:
            try:
                upload = UPLOADS.locked(session, claim.upload_id, fence=claim.fence)
            except LeaseLost:
                return False
            if isinstance(error, _FINAL) and not isinstance(error, _WORTH_ANOTHER_TRY):
                end(session, upload, "refused", clock=self._context.clock, failure=failure_of(error))
                return True
            UPLOADS.put_back(upload)
            upload.failure = failure_of(error)
            return False


class _Whole:
    """The content of a file, whose digest is compared once all of it has been seen."""

    def __init__(self, pieces: Iterator[bytes], sha256: bytes) -> None:
        self._pieces = pieces
        self._expected = sha256
        self._digest = hashlib.sha256()

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            self._digest.update(piece)
            yield piece
        self._compare()

    def require_announced(self) -> None:
        """Read the rest and compare.

        Raises:
            ChecksumDiffers: It is not the announced file.
        """
        for piece in self._pieces:
            self._digest.update(piece)
        self._compare()

    def _compare(self) -> None:
        if self._digest.digest() != self._expected:
            raise ChecksumDiffers


@contextmanager
def _lease_kept(context: AppContext, claim: Claim) -> Iterator[None]:
    """Renew the lease now and then while the block runs."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(context.settings.heartbeat_seconds):
            try:
                _renew(context, claim)
            except LeaseLost:
                return  # the fence keeps this attempt from attaching anything
            except UnderstudyError as error:
                get_logger().warning(
                    "upload-lease-not-renewed", upload_id=str(claim.upload_id), code=error.code
                )

    thread = threading.Thread(target=renew, name=f"lease-{claim.upload_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _renew(context: AppContext, claim: Claim) -> None:
    until = context.clock.now() + timedelta(seconds=context.settings.lease_seconds)
    with context.database.transaction() as session:
        values = {Upload.lease_expires_at: until}
        UPLOADS.write(session, claim.upload_id, values, fence=claim.fence, returning=Upload.id)
