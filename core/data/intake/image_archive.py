"""Rows from a ZIP of PNG and JPEG files, with a label file or folders if labels are declared.

With a label file its lines are the rows, in order, and each names its image. Without one every file is a row, and its label, if any are
declared, is the name of the folder that holds it.
A flaw of one row refuses that row; a conflict of two rows (a repeated name) refuses the upload. Otherwise
whether a person's image is stored would depend on another person's.
"""

from collections.abc import Generator, Iterator
from typing import BinaryIO, Final

import numpy as np
from numpy.typing import NDArray

from core.data.errors import DamagedUpload, WrongArchive
from core.data.intake.clean_rows import CleanBlock
from core.data.intake.image_decoder import Decoded, Decoder
from core.data.intake.image_labels import LABEL_FILE, LabelRow, columns_of, label_rows
from core.data.intake.image_rows import ImageRows
from core.data.intake.unpacking import IntakeLimits
from core.data.intake.zip_directory import Directory, key_of
from core.data.intake.zip_entry import entry_pieces
from core.plan.domain.images import FILE, ImageDomain

_BATCH_FILES: Final = 64
_BATCH_BYTES: Final = 1 << 20


class ImageArchive:
    """An opened archive of image files.

    Args:
        source: The archive, seekable.

    Raises:
        WrongArchive: A label file is missing and no folder is named like a label, or it is repeated, or present although
            neither labels nor units are declared.
    """

    def __init__(
        self, source: BinaryIO, directory: Directory, domain: ImageDomain, limits: IntakeLimits
    ) -> None:
        self._source = source
        self._domain = domain
        self._limits = limits
        self._entries = directory.entries
        self._label_file = _label_file(directory, domain)
        self._folder = b""
        if self._label_file is not None:
            place, self._folder = directory.labels[0]
            self._entries = np.delete(self._entries, place)

    @property
    def position(self) -> str:
        """The unit of row numbers: lines of the label file, or entries of the archive."""
        return "entry" if self._label_file is None else "line"

    def blocks(self) -> Generator[CleanBlock]:
        """The rows, checked and decoded.

        Raises:
            UnderstudyError: An error of the upload as a whole, from the label file, conflicting entries or
                the decoder.
        """
        rows = ImageRows(self._domain)
        seen: NDArray[np.bool_] = np.zeros(len(self._entries), bool)
        shape = self._domain
        with Decoder(height=shape.height, width=shape.width, channels=shape.channels) as decoder:
            batch = _Batch(decoder, rows)
            for row, place in self._rows(seen):
                flaws = self._flaws(rows, row, place)
                content = b"" if flaws or place is None else self._content(place, flaws)
                batch.add(row, content, flaws)
                if rows.is_full:
                    yield rows.take()
            batch.flush()
        if self._label_file is not None:
            rows.refuse_unlisted(int((~seen).sum()), "not-listed")
        yield rows.take()

    def _rows(self, seen: NDArray[np.bool_]) -> Iterator[tuple[LabelRow, int | None]]:
        """Each row with the index of its entry; None without an entry."""
        if self._label_file is None:
            labels = {key_of(label.encode()): label for label in self._domain.labels}
            for index, entry in enumerate(self._entries):
                label = labels.get(int(entry["folder"]))
                yield LabelRow(line=int(entry["number"]), file="", label=label, unit=None), index
            return
        order = np.argsort(self._entries["name"])
        names = self._entries["name"][order]
        for row in label_rows(entry_pieces(self._source, self._label_file), self._domain):
            place: int | None = None
            if row.file is not None:
                key = key_of(self._folder + row.file.encode())
                found = int(np.searchsorted(names, key))
                if found < len(names) and names[found] == key:
                    place = int(order[found])
                    if seen[place]:
                        raise WrongArchive(
                            "The label file names a file twice.", remedy="Name each file once.", line=row.line
                        )
                    seen[place] = True
            yield row, place

    def _flaws(self, rows: ImageRows, row: LabelRow, place: int | None) -> list[tuple[str, str]]:
        if row.file is None:
            return [("", "wrong-number-of-fields")]
        flaws = rows.flaws(row.label, row.unit)
        if place is None:
            return [*flaws, (FILE, "file-missing")]
        entry = self._entries[place]
        if not entry["plain"]:
            return [*flaws, ("", "not-a-plain-file")]
        if max(entry["packed"], entry["unpacked"]) > self._limits.max_image_bytes:
            return [*flaws, ("", "image-too-large")]
        return flaws

    def _content(self, place: int, flaws: list[tuple[str, str]]) -> bytes:
        try:
            return b"".join(entry_pieces(self._source, self._entries[place]))
        except DamagedUpload:
            flaws.append(("", "damaged-image"))
            return b""


class _Batch:
    """Rows whose images are decoded together; refused rows wait with them to keep the order."""

    def __init__(self, decoder: Decoder, rows: ImageRows) -> None:
        self._decoder = decoder
        self._rows = rows
        self._waiting: list[tuple[LabelRow, bytes, list[tuple[str, str]]]] = []
        self._bytes = 0

    def add(self, row: LabelRow, content: bytes, flaws: list[tuple[str, str]]) -> None:
        self._waiting.append((row, content, flaws))
        self._bytes += len(content)
        if len(self._waiting) >= _BATCH_FILES or self._bytes >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Decode the waiting images and emit every row."""
        images = iter(self._decoder.decode([content for _, content, flaws in self._waiting if not flaws]))
        for row, _, flaws in self._waiting:
            if not flaws:
                self._settle(row, next(images))
            else:
                self._rows.refuse(row.line, flaws)
        self._waiting, self._bytes = [], 0

    def _settle(self, row: LabelRow, image: Decoded) -> None:
        if image.pixels is None:
            self._rows.refuse(row.line, [("", image.word)])
        else:
            change = "rotated" if image.word == "rotated" else ""
            self._rows.accept(image.pixels, row.label, row.unit, change=change)


def _label_file(directory: Directory, domain: ImageDomain) -> np.void | None:
    wanted = len(columns_of(domain)) > 1
    if len(directory.labels) > 1:
        raise WrongArchive(
            f"The archive has more than one {LABEL_FILE}.",
            remedy=f"Keep one {LABEL_FILE}, with a line for each image.",
        )
    if wanted and not directory.labels and not _has_folders_of_labels(directory, domain):
        folders = (
            "" if domain.privacy_unit else ", or put every image into a folder with the name of its label"
        )
        raise WrongArchive(
            f"The archive has no {LABEL_FILE}.",
            remedy=f"Add {LABEL_FILE} with a header line and these columns: {', '.join(columns_of(domain))}{folders}.",
        )
    if not wanted and directory.labels:
        raise WrongArchive(
            f"The archive has a {LABEL_FILE}, but the domain declares neither labels nor a privacy unit.",
            remedy="Declare what it says, or leave it out.",
        )
    if not directory.labels:
        return None
    found: np.void = directory.entries[directory.labels[0][0]]
    return found


def _has_folders_of_labels(directory: Directory, domain: ImageDomain) -> bool:
    """Whether labels alone are declared, and some file lies in a folder with the name of one."""
    keys = [key_of(label.encode()) for label in domain.labels]
    return domain.privacy_unit is None and bool(np.isin(directory.entries["folder"], keys).any())
