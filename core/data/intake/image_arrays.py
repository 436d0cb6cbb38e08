"""Images sent as arrays: NPZ, and the files of MNIST (idx). Nothing needs decoding, so no child process is used.

Images, labels and units are read in parallel, one image at a time.
"""

import struct
from collections.abc import Generator, Iterator
from typing import BinaryIO, Final

from core.data.errors import DamagedUpload, EmptyUpload, TooManyImages, WrongArchive
from core.data.intake.clean_rows import CleanBlock
from core.data.intake.image_rows import ImageRows
from core.data.intake.npy_header import NpyArray, damaged, read_npy, wrong_kind
from core.data.intake.records import Records
from core.data.intake.unpacking import IntakeLimits, gunzip
from core.data.intake.zip_directory import Directory
from core.data.intake.zip_entry import entry_pieces
from core.plan.domain.images import ImageDomain

_Values = Iterator[str | int | None]
_GZIP: Final = b"\x1f\x8b"
_IDX: Final = b"\x00\x00\x08"
_IDX_OF_ANY_KIND: Final = b"\x00\x00"
_IDX_FILES: Final = 2


def npz_blocks(
    source: BinaryIO, directory: Directory, domain: ImageDomain, limits: IntakeLimits
) -> Generator[CleanBlock]:
    """The rows of an NPZ with the arrays ``images``, ``labels`` if declared, and ``units`` if declared.

    Raises:
        UnderstudyError: The file as a whole is invalid.
    """
    wanted = ["images", *(["labels"] if domain.labels else []), *(["units"] if domain.privacy_unit else [])]
    names = {f"{name}.npy".encode(): name for name in wanted}
    if len(directory.entries) != len(wanted) or set(directory.names) != set(names):
        raise WrongArchive(
            f"The file must contain exactly these arrays: {', '.join(wanted)}.",
            remedy="Write it with numpy.savez or numpy.savez_compressed, naming the arrays so.",
            arrays=wanted,
        )
    arrays = {
        names[name]: read_npy(entry_pieces(source, entry), names[name])
        for name, entry in zip(directory.names, directory.entries, strict=True)
    }
    images = arrays["images"]
    if (images.kind, images.item_bytes) != ("u", 1):
        raise wrong_kind("images")
    count = _count(images.shape, domain, limits)
    columns = {name: _column(array, name, count) for name, array in arrays.items() if name != "images"}
    return _blocks(domain, images.records, count, columns.get("labels"), columns.get("units"))


def is_idx(source: BinaryIO, directory: Directory) -> bool:
    """Whether an archive contains the files of MNIST: one or two, each idx or gzip.

    An idx file of other numbers than bytes counts too, to be refused with a fitting error; no image begins
    like one.
    """
    if not 1 <= len(directory.entries) <= _IDX_FILES or directory.labels:
        return False
    try:
        heads = [next(entry_pieces(source, entry), b"") for entry in directory.entries]
    except DamagedUpload:
        return False
    return all(head.startswith((_GZIP, _IDX_OF_ANY_KIND)) for head in heads)


def idx_blocks(
    source: BinaryIO, directory: Directory, domain: ImageDomain, limits: IntakeLimits
) -> Generator[CleanBlock]:
    """The rows of a pair of idx files, which are distinguished by their number of dimensions.

    Raises:
        UnderstudyError: The files as a whole are invalid.
    """
    files = [_idx(entry_pieces(source, entry), limits) for entry in directory.entries]
    images = [file for file in files if len(file[0]) > 1]
    labels = [file for file in files if len(file[0]) == 1]
    if domain.privacy_unit is not None or len(images) != 1 or len(labels) != bool(domain.labels):
        raise WrongArchive(
            "idx files contain images, and labels if declared; they cannot contain a privacy unit.",
            remedy="Send one file of images and one of labels, or an NPZ.",
        )
    shape, records = images[0]
    count = _count(shape, domain, limits)
    column = None
    if labels:
        _require_as_many(labels[0][0], count, "labels")
        column = (int(value[0]) for value in labels[0][1].each(1, count))
    return _blocks(domain, records, count, column, None)


def _idx(pieces: Iterator[bytes], limits: IntakeLimits) -> tuple[tuple[int, ...], Records]:
    """The shape and content of one idx file of bytes; MNIST's page defines the format."""
    first = next(pieces, b"")
    joined = _joined(first, pieces)
    short = DamagedUpload("An idx file is cut off or damaged.", remedy="Send the archive again.")
    records = Records(gunzip(joined, limits) if first.startswith(_GZIP) else joined, short)
    head = records.take(4)
    if not head.startswith(_IDX) or not 1 <= head[3] <= 4:  # noqa: PLR2004 - images of several channels have four
        raise WrongArchive(
            "An idx file does not contain bytes, or has too many dimensions.",
            remedy="Images and labels are unsigned bytes: a file begins with 00 00 08 and the number of dimensions.",
        )
    return struct.unpack(f">{head[3]}I", records.take(4 * head[3])), records


def _joined(first: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from pieces


def _count(shape: tuple[int, ...], domain: ImageDomain, limits: IntakeLimits) -> int:
    """The number of images in an array of the declared shape."""
    declared = (domain.height, domain.width, domain.channels)
    if shape[1:] != declared and not (domain.channels == 1 and shape[1:] == declared[:2]):
        raise WrongArchive(
            "The images do not have the declared height, width and channels.",
            remedy="The array of images is (images, height, width), with a last dimension for the channels of colour.",
            declared=list(declared),
        )
    if shape[0] == 0:
        raise EmptyUpload("The file contains no images.")
    if shape[0] > limits.max_images:
        raise TooManyImages(limits.max_images)
    return shape[0]


def _column(array: NpyArray, name: str, count: int) -> _Values:
    _require_as_many(array.shape, count, name)
    return array.values()


def _require_as_many(shape: tuple[int, ...], count: int, name: str) -> None:
    if shape != (count,):
        raise WrongArchive(
            f"There must be one entry of '{name}' for each image.", remedy="Write the file again.", array=name
        )


def _blocks(
    domain: ImageDomain, images: Records, count: int, labels: _Values | None, units: _Values | None
) -> Generator[CleanBlock]:
    rows = ImageRows(domain)
    for number, pixels in enumerate(images.each(domain.values, count), start=1):
        label = None if labels is None else next(labels)
        unit = None if units is None else next(units)
        word = None if unit is None else str(unit)
        if flaws := rows.flaws(label, word):
            rows.refuse(number, flaws)
        else:
            rows.accept(pixels, label, word)
        if rows.is_full:
            yield rows.take()
    for column, name in ((labels, "labels"), (units, "units")):
        if column is not None and any(True for _ in column):
            raise damaged(name)
    yield rows.take()
