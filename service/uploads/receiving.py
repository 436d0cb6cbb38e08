"""Receives parts: they are checked, sealed and stored in the object store before the row references them."""

from collections.abc import Iterable
from datetime import timedelta
from uuid import UUID

from core.data.intake import sniffing
from core.data.upload_parts import checked, new_part_key, seal_part
from core.data.uploads import repository
from core.data.uploads.errors import PartDiffers, PartOutOfRange, UploadNotOpen
from core.db.tables.upload import Upload
from core.db.tables.upload_part import UploadPart
from core.platform.access.roles import Principal
from service.context import AppContext
from service.uploads.schemas import PartView, part_size, parts_total


def wrapping_context(upload_id: UUID) -> str:
    """The associated data of an upload's wrapped data key."""
    return f"upload:{upload_id}"


class PartReceiver:
    """Receives one part of an upload.

    Args:
        principal: The sender, who must have started the upload.
        number: Number of the part, from 1.

    Raises:
        UploadNotFound: No such upload, or someone else's.
        UploadNotOpen: It accepts no (more) parts.
        PartOutOfRange: The file has no such part.
        PartDiffers: The part exists with another content.
    """

    def __init__(
        self, context: AppContext, principal: Principal, upload_id: UUID, number: int, *, sha256: bytes
    ) -> None:
        self._context = context
        self._principal = principal
        self._number = number
        self._sha256 = sha256
        with context.database.read_only() as session:
            self._upload = repository.owned(session, upload_id, principal.id)
            if number > parts_total(self._upload):
                raise PartOutOfRange(parts_total(self._upload))
            _require_open(self._upload)
            earlier = repository.part_of(session, upload_id, number)
            self._earlier = None if earlier is None else self._same(earlier)
            session.expunge(self._upload)

    @property
    def size_bytes(self) -> int:
        """The required size of the part."""
        return part_size(self._upload, self._number)

    def receive(self, body: Iterable[bytes]) -> PartView:
        """Store the part; an existing part is only compared.

        Raises:
            PartSizeDiffers, DigestDiffers: Not the announced part; nothing is kept.
            ContentDisagrees: The start of the file does not match its content type.
            UploadNotOpen: The upload ended meanwhile.
            PartDiffers: A concurrent request stored another content.
        """
        if self._earlier is not None:
            for _ in checked(body, size_bytes=self.size_bytes, sha256=self._sha256):
                pass
            return self._earlier
        if self._number == 1:
            body = sniffing.sniffed(body, sniffing.kind_of(self._upload.content_type))
        assert self._upload.wrapped_data_key is not None
        key = new_part_key(self._upload.id, self._number)
        settings, store = self._context.settings, self._context.store
        seal_part(
            body,
            store=store,
            key=key,
            data_key=settings.master_keys.unwrap(
                self._upload.wrapped_data_key, context=wrapping_context(self._upload.id)
            ),
            scratch_folder=settings.scratch_folder,
            size_bytes=self.size_bytes,
            sha256=self._sha256,
        )
        # A process killed from here on leaves an unreferenced object, which upkeep removes.
        view = self._note(key)
        if view is None:
            store.delete(key)
            return self._noted_by_another()
        return view

    def _note(self, key: str) -> PartView | None:
        """Reference the object from the row, unless a copy of this request was faster."""
        with self._context.database.transaction() as session:
            upload = repository.owned(session, self._upload.id, self._principal.id, lock=True)
            if upload.state != "open" or repository.part_of(session, upload.id, self._number) is not None:
                return None
            now = self._context.clock.now()
            row = UploadPart(
                upload_id=upload.id,
                number=self._number,
                size_bytes=self.size_bytes,
                sha256=self._sha256,
                object_key=key,
                stored_at=now,
            )
            repository.add(session, row)
            upload.expires_at = now + timedelta(hours=self._context.settings.upload_hours)
            return PartView.of(row)

    def _noted_by_another(self) -> PartView:
        with self._context.database.read_only() as session:
            _require_open(repository.owned(session, self._upload.id, self._principal.id))
            earlier = repository.part_of(session, self._upload.id, self._number)
            assert earlier is not None, "an open upload loses no parts"
            return self._same(earlier)

    def _same(self, earlier: UploadPart) -> PartView:
        if earlier.sha256 != self._sha256:
            raise PartDiffers
        return PartView.of(earlier)


def _require_open(upload: Upload) -> None:
    if upload.state != "open":
        raise UploadNotOpen(upload.state)
