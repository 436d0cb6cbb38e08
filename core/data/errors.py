"""Errors of stored objects and of uploads.

UnderstudyError
  * InternalError
    x SealBroken                500  stored bytes were changed, truncated or swapped, or the key is wrong
  * NotFound
    x ObjectMissing             404  the object store has no such object
  * InvalidInput                422  the upload as a whole cannot be read; ``line`` says where, never what
    x EmptyUpload · WrongHeader · NotUtf8 · WrongEncoding · NulByte · StrayQuote · BareCarriageReturn · RecordTooLong
    x DamagedUpload             422  truncated or corrupted gzip or Parquet
    x NoAcceptableRows          422  every row was refused; ``report`` says why
    x TooManyUnits              422  far more privacy units than declared
    x WrongArchive              422  an archive of images does not contain what the domain declares
    x PartSizeDiffers           422  a part of an upload does not have the size for its position
    x DigestDiffers             422  a part of an upload does not have the announced digest
  * Unavailable
    x StorageUnavailable        503  the object store does not answer
    x DecoderUnavailable        503  no process to decode images can be started
  * TooLarge
    x UploadTooLarge            413  more bytes than allowed, as sent or unpacked
    x DecompressionBomb         413  unpacks to far more bytes than any table would
    x TooManyImages             413  more images than one upload may contain
  * Unsupported
    x UnsupportedUpload         415  not CSV, gzip of CSV, Parquet, ZIP or NPZ, or not a format for this domain
    x ContentDisagrees          415  the bytes do not match the content type

An upload error is shown only to the uploading owner. Even so it contains no value of a row and no message of
a library.
"""

from core.errors import InternalError, InvalidInput, NotFound, TooLarge, Unavailable, Unsupported


class SealBroken(InternalError):
    """Sealed bytes do not open: changed, truncated, reordered, moved from another context, or sealed under another key."""

    code = "seal-broken"
    title = "Stored data is damaged"


class StorageUnavailable(Unavailable):
    """The object store does not answer, or refuses this service."""

    code = "storage-unavailable"
    default_detail = "The object store does not answer."
    default_remedy = "Try again in a moment."


class DecoderUnavailable(Unavailable):
    """No confined process can be started to decode images, or it does not answer."""

    code = "image-decoder-unavailable"
    title = "Images cannot be decoded now"
    default_detail = "The service cannot decode images at the moment."
    default_remedy = "Try again later, or send the pixels as NPZ, which needs no decoding."


class ObjectMissing(NotFound):
    """The object store has no object under this key."""

    code = "object-missing"
    title = "Stored object missing"
    default_detail = "The stored object does not exist (any more)."


class EmptyUpload(InvalidInput):
    """No bytes, or no row after the header."""

    code = "empty-upload"
    title = "The upload is empty"


class WrongHeader(InvalidInput):
    """The columns of the file are not the declared ones."""

    code = "wrong-header"
    title = "The columns are not the declared ones"


class NotUtf8(InvalidInput):
    """The text is not UTF-8."""

    code = "not-utf8"
    title = "The text is not UTF-8"


class WrongEncoding(InvalidInput):
    """The text is not in the encoding that the domain declares."""

    code = "wrong-encoding"
    title = "The text is not in the declared encoding"


class NulByte(InvalidInput):
    """The text contains a NUL byte."""

    code = "nul-byte"
    title = "The text contains a NUL byte"


class StrayQuote(InvalidInput):
    """A quotation mark stands inside a field that is not quoted, or a quoted field is never closed."""

    code = "stray-quote"
    title = "A quotation mark is out of place"


class BareCarriageReturn(InvalidInput):
    """A carriage return without a line feed."""

    code = "bare-carriage-return"
    title = "Unusual line ends"


class RecordTooLong(InvalidInput):
    """One record is longer than any row may be; usually a quotation mark was never closed."""

    code = "record-too-long"
    title = "A record is too long"


class DamagedUpload(InvalidInput):
    """A file is truncated or corrupted."""

    code = "damaged-upload"
    title = "The file is damaged"


class NoAcceptableRows(InvalidInput):
    """Every row was refused."""

    code = "no-acceptable-rows"
    title = "No row could be accepted"


class TooManyUnits(InvalidInput):
    """Far more privacy units than the dataset's declared size."""

    code = "too-many-units"
    title = "More privacy units than declared"


class WrongArchive(InvalidInput):
    """The archive does not contain the images and labels that the domain declares."""

    code = "wrong-archive"
    title = "The archive does not match the declaration"


class PartSizeDiffers(InvalidInput):
    """A part of an upload does not have the size for its position in the file; nothing of it was stored."""

    code = "part-size-differs"
    title = "The part has another size"

    def __init__(self, expected_bytes: int) -> None:
        super().__init__(
            f"This part must have exactly {expected_bytes} bytes; nothing of it was stored.",
            remedy="Cut the file at multiples of part_bytes; only the last part is shorter.",
            expected_bytes=expected_bytes,
        )


class DigestDiffers(InvalidInput):
    """The content does not match Content-Digest; nothing of it was stored."""

    code = "digest-differs"
    title = "The content does not match its digest"
    default_detail = "The content does not have the announced digest; nothing of it was stored."
    default_remedy = "Send the part again."


class UploadTooLarge(TooLarge):
    """More bytes than allowed."""

    code = "upload-too-large"
    title = "The upload is too large"


class DecompressionBomb(TooLarge):
    """The file unpacks to far more than plausible."""

    code = "decompression-bomb"
    title = "The file unpacks to too many bytes"


class TooManyImages(TooLarge):
    """More images than one upload may contain."""

    code = "too-many-images"
    title = "The upload contains too many images"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The upload contains more than {limit} images.",
            remedy="Send fewer images, or ask the operator to raise the limit.",
            limit_images=limit,
        )


class UnsupportedUpload(Unsupported):
    """Not a supported format."""

    code = "unsupported-upload"
    title = "This format is not supported"


class ContentDisagrees(Unsupported):
    """The first bytes indicate another format than the content type; neither is trusted."""

    code = "content-disagrees"
    title = "The content does not match its type"
