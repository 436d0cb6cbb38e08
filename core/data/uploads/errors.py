"""Errors of uploads in parts. Errors about the rows themselves are in core/data/errors.py.

NotFound
  * UploadNotFound        404  no such upload, or somebody else's
InvalidInput
  * PartOutOfRange        422  the file has no part with this number
  * DigestMissing         422  a part has no valid Content-Digest
  * ChecksumDiffers       422  the assembled file does not have the announced SHA-256
Conflict
  * UploadNotOpen         409  the upload accepts no parts (any more)
  * UploadIncomplete      409  parts are missing
  * PartDiffers           409  this part was sent before with different content
"""

from core.errors import Conflict, InvalidInput, NotFound

_LISTED = 100


class UploadNotFound(NotFound):
    """There is no such upload, or it belongs to somebody else."""

    code = "upload-not-found"
    default_detail = "There is no such upload (any more)."
    default_remedy = (
        "Start one with POST /v1/datasets/{id}/uploads; ended uploads are forgotten after a week."
    )


class PartOutOfRange(InvalidInput):
    """The file has no part with this number."""

    code = "part-out-of-range"

    def __init__(self, parts_total: int) -> None:
        super().__init__(
            f"The parts of this upload are numbered from 1 to {parts_total}.",
            remedy="Cut the file at multiples of part_bytes.",
            parts_total=parts_total,
        )


class DigestMissing(InvalidInput):
    """A part needs a Content-Digest header (RFC 9530) with a SHA-256."""

    code = "digest-missing"
    default_detail = "A part needs a Content-Digest header with its SHA-256."
    default_remedy = "Send Content-Digest: sha-256=:<base64 of the digest>: (RFC 9530)."


class ChecksumDiffers(InvalidInput):
    """The assembled file does not have the announced SHA-256; no rows were stored."""

    code = "checksum-differs"
    title = "The file is not the one announced"
    default_detail = "The assembled file does not have the announced SHA-256; no rows were stored."
    default_remedy = (
        "Complete the upload again with the SHA-256 of the whole file, or abort it and start a new one."
    )


class UploadNotOpen(Conflict):
    """The upload accepts no parts (any more): its rows are being read, or it has ended."""

    code = "upload-not-open"

    def __init__(self, state: str) -> None:
        super().__init__(
            f"The upload is {state}.",
            remedy="An upload that has ended cannot be continued; start a new one.",
            state=state,
        )


class UploadIncomplete(Conflict):
    """Parts are missing."""

    code = "upload-incomplete"

    def __init__(self, missing: list[int]) -> None:
        super().__init__(
            f"{len(missing)} parts have not arrived.",
            remedy="Send them, then complete the upload again; facts.missing begins with the first of them.",
            missing=missing[:_LISTED],
            missing_total=len(missing),
        )


class PartDiffers(Conflict):
    """This part was sent before with different content."""

    code = "part-differs"
    default_detail = "This part has already arrived with different content."
    default_remedy = "If the file has changed, abort this upload and start a new one."
