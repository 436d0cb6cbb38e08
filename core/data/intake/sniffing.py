"""Detect a file's format by its first bytes: neither its name nor its declared type is trusted."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from core.data.errors import ContentDisagrees, UnsupportedUpload
from core.plan.domain.declared import Domain
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import ENCODINGS, UTF8, TableDomain

CSV: Final = "text/csv"
GZIP: Final = "application/gzip"
PARQUET: Final = "application/vnd.apache.parquet"
ZIP: Final = "application/zip"
NPZ: Final = "application/x-npz"

_OF_TABLES: Final = (CSV, GZIP, PARQUET)
_OF_IMAGES: Final = (ZIP, NPZ)
_HEAD_BYTES: Final = 512
_TAR: Final = (257, b"ustar", "a tar archive")
_SIGNATURES: Final = (
    (0, b"\x1f\x8b", GZIP),
    (0, b"PAR1", PARQUET),
    (0, b"PARE", "encrypted Parquet"),
    (0, b"PK\x03\x04", "a ZIP or spreadsheet"),
    (0, b"PK\x05\x06", "an empty ZIP"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
    (0, b"\x28\xb5\x2f\xfd", "zstd"),
    (0, b"BZh", "bzip2"),
    (0, b"\xfd7zXZ\x00", "xz"),
    (0, b"7z\xbc\xaf\x27\x1c", "7z"),
    (0, b"ARROW1", "an Arrow file"),
    (0, b"Obj\x01", "Avro"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (0, b"%PDF-", "a PDF"),
    (0, b"\x89HDF\r\n\x1a\n", "HDF5"),
    _TAR,
)
# A line of text may begin with these letters; the bytes after them decide.
_PERHAPS_TEXT: Final = frozenset({"bzip2", "encrypted Parquet", "an Arrow file", PARQUET})


def kind_of(content_type: str) -> str:
    """The format that a content type names.

    Raises:
        UnsupportedUpload: An unsupported format, or text in an encoding that no domain declares.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind not in _OF_TABLES + _OF_IMAGES:
        raise UnsupportedUpload("This content type is not supported.", remedy=_remedy())
    for charset in _charsets(content_type):
        if charset not in {*_UTF8, *ENCODINGS}:
            raise UnsupportedUpload(
                "The content type names an encoding that no domain declares.", remedy=_remedy()
            )
    return kind


def _charsets(content_type: str) -> Iterator[str]:
    for parameter in content_type.split(";")[1:]:
        name, _, text = parameter.partition("=")
        if name.strip().lower() == "charset":
            yield text.strip().strip('"').lower()


def require_fitting(content_type: str, domain: Domain) -> None:
    """Check that a format fits the kind of domain, and its encoding the declared one.

    Raises:
        UnsupportedUpload: Images are sent as a table, a table as images, or text in another encoding than the declared one.
    """
    kind = kind_of(content_type)
    fitting, what = (_OF_IMAGES, "images") if isinstance(domain, ImageDomain) else (_OF_TABLES, "a table")
    if kind not in fitting:
        raise UnsupportedUpload(
            f"The dataset is declared to contain {what}, which cannot be sent as {kind}.",
            remedy=f"Send one of: {', '.join(fitting)}.",
            content_types=list(fitting),
        )
    declared = domain.csv.encoding if isinstance(domain, TableDomain) and kind in {CSV, GZIP} else UTF8
    for charset in _charsets(content_type):
        if charset not in (_UTF8 if declared == UTF8 else {declared}):
            raise UnsupportedUpload(
                f"The content type says that the text is in another encoding than {'UTF-8' if declared == UTF8 else declared}.",
                remedy="Leave the charset out of the content type, or name the encoding that the domain declares.",
            )


_UTF8: Final = frozenset({"utf-8", "utf8", "us-ascii", "ascii"})


def sniffed(pieces: Iterable[bytes], kind: str, *, unpacked: bool = False) -> Iterator[bytes]:
    """The chunks, unchanged, if they begin like their declared format; `unpacked` only affects the error message.

    Raises:
        ContentDisagrees: They begin like another format.
    """
    pieces = iter(pieces)
    head: list[bytes] = []
    for piece in pieces:
        head.append(piece)
        if sum(map(len, head)) >= _HEAD_BYTES:
            break
    _check(b"".join(head)[:_HEAD_BYTES], kind, unpacked=unpacked)
    yield from chain(head, pieces)


def _check(head: bytes, kind: str, *, unpacked: bool) -> None:
    if not head or (kind == PARQUET and head.startswith(b"PAR1")):
        return
    if kind in _OF_IMAGES and head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return
    found = _found(head)
    if found == kind or (kind == CSV and found is None):
        return
    begins = found or ("text" if _is_text(head) else "something else")
    what = "The packed file must be CSV" if unpacked else f"The content type is {kind}"
    raise ContentDisagrees(f"{what}, but its bytes begin like {begins}.", remedy=_remedy(), declared=kind)


def _found(head: bytes) -> str | None:
    for offset, signature, name in _SIGNATURES:
        if head[offset:].startswith(signature) and not (name in _PERHAPS_TEXT and _is_text(head)):
            return name
    return None


def _is_text(head: bytes) -> bool:
    """Whether there are no control characters foreign to text. A character split at the end does no harm."""
    return not any(byte < 32 and byte not in b"\t\n\r\f\v\x1b" for byte in head)  # noqa: PLR2004 - ASCII's controls


def _remedy() -> str:
    return f"Send {CSV} (UTF-8, or as the domain declares), {GZIP} (of CSV) or {PARQUET} of a table, {ZIP} or {NPZ} of images, and name it so."
