"""Errors of stored things and of uploads.

UnderstudyError
  * InternalError
    x SealBroken                500  stored bytes were changed, cut, swapped, or the key is another one
  * NotFound
    x ObjectMissing             404  the object store has no such object
  * InvalidInput                422  the upload as a whole cannot be read; ``line`` says where, never what
    x EmptyUpload · WrongHeader · NotUtf8 · NulByte · StrayQuote · BareCarriageReturn · RecordTooLong
    x DamagedUpload             422  truncated or corrupted gzip or Parquet
    x NoAcceptableRows          422  every row was refused; ``report`` says why
    x TooManyUnits              422  far more privacy units than declared
    x WrongArchive              422  an archive of images does not hold what the domain declares
    x PartSizeDiffers           422  a part of an upload has not the size that its place asks for
    x DigestDiffers             422  a part of an upload has not the announced digest
  * Unavailable
    x StorageUnavailable        503  the object store does not answer
    x DecoderUnavailable        503  no process can be had that decodes images
  * TooLarge
    x UploadTooLarge            413  more bytes than allowed, as sent or unpacked
    x DecompressionBomb         413  unpacks to far more bytes than any table would
    x TooManyImages             413  more images than are taken at once
  * Unsupported
    x UnsupportedUpload         415  not CSV, gzip of CSV, Parquet, ZIP or NPZ, or not what such a domain takes
    x ContentDisagrees          415  the bytes are something else than the content type says

An upload error is told to the owner who uploads and to nobody else; even so it holds no value of a row and no text
of a library.
"""

from core.errors import InternalError, InvalidInput, NotFound, TooLarge, Unavailable, Unsupported


class SealBroken(InternalError):
    """Sealed bytes do not open: changed, cut, reordered, moved from another place, or sealed under another key."""

    code = "seal-broken"
    title = "Stored data is damaged"


class StorageUnavailable(Unavailable):
    """The object store does not answer, or refuses this service."""

    code = "storage-unavailable"

    def __init__(self) -> None:
        super().__init__("The object store does not answer.", remedy="Try again in a moment.")


class DecoderUnavailable(Unavailable):
    """No confined process can be started to decode images, or it does not answer."""

    code = "image-decoder-unavailable"
    title = "Images cannot be decoded now"

    def __init__(self) -> None:
        super().__init__(
            "The service cannot decode images at the moment.",
            remedy="Try again later, or send the pixels as NPZ, which needs no decoding.",
        )


class ObjectMissing(NotFound):
    """The object store has no object under this key."""

    code = "object-missing"
    title = "Stored object missing"

    def __init__(self) -> None:
        super().__init__("The stored object does not exist (any more).")


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


class NulByte(InvalidInput):
    """The text holds a NUL byte."""

    code = "nul-byte"
    title = "The text holds a NUL byte"


class StrayQuote(InvalidInput):
    """A quotation mark stands inside a field that is not quoted, or a quoted field is never closed."""

    code = "stray-quote"
    title = "A quotation mark is out of place"


class BareCarriageReturn(InvalidInput):
    """A carriage return that no line feed follows."""

    code = "bare-carriage-return"
    title = "Unusual line ends"


class RecordTooLong(InvalidInput):
    """One record is longer than any row may be; usually a quotation mark was never closed."""

    code = "record-too-long"
    title = "A record is too long"


class DamagedUpload(InvalidInput):
    """A compressed or columnar file that is cut off or corrupted."""

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
    """The archive does not hold the images and labels as the domain declares them."""

    code = "wrong-archive"
    title = "The archive does not hold what is declared"


class PartSizeDiffers(InvalidInput):
    """A part of an upload does not have the size that its place in the file asks for; nothing of it was kept."""

    code = "part-size-differs"
    title = "The part has another size"

    def __init__(self, expected_bytes: int) -> None:
        super().__init__(
            f"This part must have exactly {expected_bytes} bytes; nothing of it was kept.",
            remedy="Cut the file at multiples of part_bytes; only the last part is shorter.",
            expected_bytes=expected_bytes,
        )


class DigestDiffers(InvalidInput):
    """What arrived is not what Content-Digest announced; nothing of it was kept."""

    code = "digest-differs"
    title = "The content was changed on its way"

    def __init__(self) -> None:
        super().__init__(
            "The content does not have the digest that was announced; nothing of it was kept.",
            remedy="Send the part again.",
        )


class UploadTooLarge(TooLarge):
    """More bytes than allowed."""

    code = "upload-too-large"
    title = "The upload is too large"


class DecompressionBomb(TooLarge):
    """The file unpacks to far more than it should."""

    code = "decompression-bomb"
    title = "The file unpacks to too many bytes"


class TooManyImages(TooLarge):
    """More images than one upload may hold."""

    code = "too-many-images"
    title = "The upload holds too many images"

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"The upload holds more than {limit} images.",
            remedy="Send fewer images, or ask the operator to raise the limit.",
            limit_images=limit,
        )


class UnsupportedUpload(Unsupported):
    """Not one of the formats that are read."""

    code = "unsupported-upload"
    title = "This format is not read"


class ContentDisagrees(Unsupported):
    """The first bytes show another format than the content type names; neither is believed."""

    code = "content-disagrees"
    title = "The content is not what its type says"
