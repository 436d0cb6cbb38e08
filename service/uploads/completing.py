"""Ingesting the rows of an upload whose parts have all arrived.

Ingestion can take minutes without traffic on the connection, so it does not run inside a request. A thread of this
process does it, under the lease and fence of a job (core.jobs.leases). Repeating the request reports the state. If the
process is killed, upkeep ends its lease, or the lease runs out; the next request restarts with the same parts. A thread
that has lost its lease attaches nothing.
"""

import contextvars
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final
from uuid import UUID

from sqlalchemy.orm import Session

from core.data.upload_parts import read_parts
from core.data.uploads import repository
from core.data.uploads.ending import end, erase_parts
from core.data.uploads.errors import ChecksumDiffers, UploadIncomplete, UploadNotOpen
from core.data.uploads.repository import UPLOADS
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
from core.jobs.leases import this_process
from core.logs import get_logger
from core.platform.access.roles import Principal
from core.platform.quotas.errors import QuotaExceeded
from service.context import AppContext
from service.datasets.upload import RowsUpload
from service.uploads.failures import failure_of, raise_failure
from service.uploads.receiving import wrapping_context
from service.uploads.schemas import parts_total

# Errors of the file or the dataset, which a retry would reproduce.
_FINAL: Final = (InvalidInput, TooLarge, Unsupported, NotFound, Conflict)
_WORTH_ANOTHER_TRY: Final = (ChecksumDiffers, QuotaExceeded)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The right to ingest one upload, valid while its lease is renewed.

    Args:
        sha256: Announced digest of the whole file.
        keys: Object keys of the parts, in order.
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
        principal: The caller, who must have started the upload.
        max_refused: The largest share of refused rows that is accepted without the owner's decision.
    """

    def __init__(
        self,
        context: AppContext,
        principal: Principal,
        upload_id: UUID,
        *,
        sha256: bytes,
        max_refused: float,
    ) -> None:
        self._context = context
        self._principal = principal
        self._upload_id = upload_id
        self._sha256 = sha256
        self._max_refused = max_refused

    def pursue(self, *, patience_seconds: float) -> Upload:
        """Start ingestion unless it is already running, and wait briefly for its end. The upload is completing or completed then.

        Raises:
            UploadNotFound: No such upload, or someone else's.
            UploadNotOpen: It was aborted or has expired.
            UploadIncomplete: Parts are missing.
            ChecksumDiffers: Another digest was announced before, or the parts together have another digest.
            ServiceBusy: The process has reached its limit of concurrent intakes.
            ShareUsedUp: The process is already ingesting an upload of the principal.
            UnderstudyError: The reason why the rows were refused or the last attempt failed.
        """
        upload = self._read()
        self._raise_failure(upload)
        if UPLOADS.is_claimable(upload, now=self._context.clock.now()):
            thread = self._begin()
            if thread is not None:
                thread.join(patience_seconds)
        upload = self._read()
        self._raise_failure(upload)
        if upload.state not in {"completing", "completed"}:
            raise UploadNotOpen(upload.state)
        return upload

    def _begin(self) -> threading.Thread | None:
        """Claim the upload and start ingesting it, unless it is already claimed."""
        limit, who = self._context.limits.intakes, self._principal.id
        limit.acquire(who)
        try:
            claim = self._claim()
            if claim is None:
                limit.release(who)
                return None
            # Pass the request's context (request id, caller) on, for logs and audit.
            work = partial(contextvars.copy_context().run, self._work, claim)
            thread = threading.Thread(target=work, name=f"intake-{self._upload_id}", daemon=True)
            thread.start()
        except BaseException:
            limit.release(who)
            raise
        return thread

    def _raise_failure(self, upload: Upload) -> None:
        """Raise the reason for refused rows on every request; raise that of a failed attempt once, as the next request retries."""
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

    def _claim(self) -> Claim | None:
        """Take the lease, unless another process has it."""
        settings, clock = self._context.settings, self._context.clock
        with self._context.database.transaction() as session:
            upload = repository.owned(session, self._upload_id, self._principal.id, lock=True)
            now = clock.now()
            if not UPLOADS.is_claimable(upload, now=now):
                return None
            arrived = repository.parts_of(session, upload.id)
            missing = set(range(1, parts_total(upload) + 1)) - {part.number for part in arrived}
            if missing:
                raise UploadIncomplete(sorted(missing))
            if upload.sha256 not in {None, self._sha256}:
                raise ChecksumDiffers
            assert upload.wrapped_data_key is not None
            UPLOADS.take(upload, now=now, seconds=settings.lease_seconds, owner=this_process())
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
        except Exception:  # noqa: BLE001 - the next request reports the failure, and another one can retry
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
            # Report a wrong checksum rather than the row errors of a file that is not the announced one.
            content.require_announced()
            raise
        erase_parts(self._context.store, claim.upload_id)

    def _end(self, claim: Claim, session: Session) -> None:
        """End the upload in the transaction that attaches the rows.

        Raises:
            LeaseLost: Another attempt has taken over or ended the upload, so the rows are not attached.
        """
        upload = UPLOADS.locked(session, claim.upload_id, fence=claim.fence)
        end(session, upload, "completed", clock=self._context.clock)

    def _note(self, claim: Claim, error: UnderstudyError) -> None:
        """Record a failure, if the lease is still valid."""
        try:
            if self._noted(claim, error):
                erase_parts(self._context.store, claim.upload_id)
        except UnderstudyError as second:
            # The lease expires, and the next request restarts.
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
    """The content of a file, whose digest is checked after all of it has been read."""

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
        """Read the rest and check the digest.

        Raises:
            ChecksumDiffers: Not the announced file.
        """
        for piece in self._pieces:
            self._digest.update(piece)
        self._compare()

    def _compare(self) -> None:
        if self._digest.digest() != self._expected:
            raise ChecksumDiffers


@contextmanager
def _lease_kept(context: AppContext, claim: Claim) -> Iterator[None]:
    """Renew the lease periodically while the block runs."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(context.settings.heartbeat_seconds):
            try:
                with context.database.transaction() as session:
                    now, seconds = context.clock.now(), context.settings.lease_seconds
                    UPLOADS.renew(session, claim.upload_id, fence=claim.fence, now=now, seconds=seconds)
            except LeaseLost:
                return  # the fence keeps this attempt from attaching rows
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
