"""A first draft of an image domain, made on the owner's machine from the owner's file.

Everything taken from the data is listed under ``_from_data``, as in `understudy.drafts.tables`, and the service refuses a domain that still
carries the mark. Sizes come from the headers of PNG and JPEG files, parsed here without an image library. Only the labels of an NPZ are read
in full, with numpy (the extra ``offline``).
"""

import csv
import gzip
import io
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from understudy.drafts.categories import NOTE
from understudy.drafts.chosen_unit import UNITS, facts_of_image_units, nice_size
from understudy.drafts.tables import DRAFT
from understudy.errors import InputUnusable, library_missing
from understudy.http.uploads import require_file
from understudy.plain_text import one_line
from understudy.table_files import MARK

SCHEMA = "understudy.images/1"
SUFFIXES = (".zip", ".npz")
_LABEL_FILE = "labels.csv"
_HEAD_BYTES = 1 << 18
_NAMED = 5
_PNG = b"\x89PNG\r\n\x1a\n"
_PNG_HEAD = 26
_PNG_CHANNELS = {0: 1, 2: 3}
_JPEG = b"\xff\xd8"
_IDX = b"\x00\x00\x08"
_GREY_DIMENSIONS = 3

Shape = tuple[int, int, int]


@dataclass(slots=True, kw_only=True)
class _Facts:
    """The facts behind a draft; nothing else of the images is kept."""

    shapes: Counter[Shape | None] = field(default_factory=Counter)
    labels: set[str] = field(default_factory=set)
    folders: set[str] = field(default_factory=set)
    other_columns: list[str] = field(default_factory=list)
    units: set[str] = field(default_factory=set)


def is_of_images(path: Path) -> bool:
    """Return whether the file name is that of images."""
    return path.suffix.lower() in SUFFIXES


def draft_images(path: Path) -> dict[str, Any]:
    """Draft the domain document of a ZIP of pictures or of idx files, or of an NPZ. The service refuses it while marks remain.

    Raises:
        InputUnusable: The file is missing, is no such archive, or holds no image that the service accepts.
        NotInstalled: The file is an NPZ, and numpy is missing.
    """
    require_file(path)
    try:
        with zipfile.ZipFile(path) as archive:
            facts = _npz(archive) if path.suffix.lower() == ".npz" else _zip(archive)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError, RuntimeError, OSError):
        message = f"{path.name} cannot be read as an archive of images"
        raise InputUnusable(message) from None
    known = {shape: count for shape, count in facts.shapes.items() if shape is not None}
    if not known:
        message = f"{path.name} holds no grey or colour image of 8 bits that the service takes"
        raise InputUnusable(message)
    return _document(facts, max(known, key=lambda shape: (known[shape], shape)))


def choices_of_images(draft: Mapping[str, Any]) -> list[str]:
    """Shape, labels and unit of a draft, as lines for a terminal."""
    labels = draft["labels"]
    named = ", ".join(labels[:_NAMED]) + (f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else "")
    colour = "grey" if draft["channels"] == 1 else "colour"
    unit = draft["privacy_unit"]
    return [
        f"Images of {draft['height']} by {draft['width']} pixels, {colour}. Labels: {one_line(named) if labels else 'none'}.",
        *(one_line(note) for note in [str(draft[NOTE]).removeprefix(DRAFT).strip()] if note),
        f"Each image is a privacy unit: no column of {_LABEL_FILE} names its person."
        if unit is None
        else f"The privacy unit is a value of '{one_line(str(unit))}'.",
        f"Declared size: {draft['declared_size']:,}.",
    ]


def _document(facts: _Facts, shape: Shape) -> dict[str, Any]:
    height, width, channels = shape
    notes = [DRAFT]
    total, others = facts.shapes.total(), facts.shapes.total() - facts.shapes[shape]
    if others:
        notes.append(
            f"{others} of {total} files have another size or colour mode and would be refused: convert them all alike."
        )
    if len(facts.other_columns) > 1:
        notes.append(
            f"{_LABEL_FILE} may have at most one more column, which names the privacy unit of the image."
        )
    in_folders = len(facts.folders) > 1 and not facts.labels and not facts.other_columns
    if in_folders:
        notes.append(
            "The labels are the names of the folders in which the pictures lie: leave the list empty if these say something else."
        )
    unit = facts.other_columns[0] if len(facts.other_columns) == 1 and facts.units else None
    draft: dict[str, Any] = {
        "schema": SCHEMA,
        NOTE: " ".join(notes),
        "height": height,
        "width": width,
        "channels": channels,
        "labels": sorted(
            facts.folders if in_folders else facts.labels,
            key=lambda word: (not word.isdecimal(), int(word) if word.isdecimal() else 0, word),
        ),
        "privacy_unit": unit,
        "declared_size": nice_size(total if unit is None else len(facts.units)),
    }
    known = {UNITS: facts_of_image_units(total, {} if unit is None else {unit: len(facts.units)})}
    return draft | known | {MARK: [key for key in draft if key not in {"schema", NOTE}]}


def _zip(archive: zipfile.ZipFile) -> _Facts:
    names = [
        name
        for name in archive.namelist()
        if not name.rpartition("/")[2].startswith(".") and name[-1:] != "/"
    ]
    names = [name for name in names if "__MACOSX/" not in name]
    facts = _Facts()
    for name in names:
        with archive.open(name) as file:
            if name.rpartition("/")[2] == _LABEL_FILE:
                _read_labels(file, facts)
                continue
            head = file.read(_HEAD_BYTES)
        if len(names) <= 2 and (head[:2] == b"\x1f\x8b" or head.startswith(_IDX)):  # noqa: PLR2004 - images and labels
            with archive.open(name) as file:
                _read_idx(file, facts)
        else:
            facts.shapes[_shape(head)] += 1
            facts.folders |= {name.rpartition("/")[0].rpartition("/")[2]} - {""}
    return facts


def _read_labels(file: IO[bytes], facts: _Facts) -> None:
    rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8-sig", newline=""))
    facts.other_columns += [name for name in rows.fieldnames or () if name not in {"file", "label"}]
    for row in rows:
        facts.labels |= {row["label"]} if row.get("label") else set()
        facts.units |= {unit for name in facts.other_columns[:1] if (unit := row.get(name))}


def _read_idx(file: IO[bytes], facts: _Facts) -> None:
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    stream: Any = gzip.GzipFile(fileobj=file) if packed else file
    head = stream.read(4)
    if not head.startswith(_IDX):
        return
    lengths = [int.from_bytes(stream.read(4), "big") for _ in range(head[3])]
    if len(lengths) == 1:
        while piece := stream.read(1 << 16):
            facts.labels |= {str(value) for value in set(piece)}
    else:
        facts.shapes[_shape_of_array(lengths)] += lengths[0]


def _npz(archive: zipfile.ZipFile) -> _Facts:
    try:
        import numpy as np
    except ImportError as error:
        raise library_missing("drafting a domain from an NPZ", error.name) from None
    facts = _Facts()
    members = set(archive.namelist())
    if "images.npy" in members:
        with archive.open("images.npy") as file:
            version = np.lib.format.read_magic(file)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[
                version
            ]
            lengths, _, kind = read(file)
        facts.shapes[_shape_of_array(lengths) if kind == np.uint8 else None] += lengths[0] if lengths else 0
    if "labels.npy" in members:
        with archive.open("labels.npy") as file:
            labels = np.lib.format.read_array(file, allow_pickle=False)
        facts.labels |= {str(label) for label in np.unique(labels).tolist()}
    if "units.npy" in members:
        facts.other_columns.append("unit")
        with archive.open("units.npy") as file:
            units = np.lib.format.read_array(file, allow_pickle=False)
        facts.units |= {str(unit) for unit in np.unique(units).tolist()}
    return facts


def _shape_of_array(lengths: Iterable[int]) -> Shape | None:
    lengths = list(lengths)
    if len(lengths) == _GREY_DIMENSIONS:
        lengths.append(1)
    if len(lengths) != _GREY_DIMENSIONS + 1 or lengths[3] not in {1, 3}:
        return None
    return lengths[1], lengths[2], lengths[3]


def _shape(head: bytes) -> Shape | None:
    """Height, width and channels of a picture; None if the service would refuse it."""
    if head.startswith(_PNG) and len(head) >= _PNG_HEAD:
        width, height = int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
        channels = _PNG_CHANNELS.get(head[25])
        return (height, width, channels) if channels is not None and head[24] <= 8 else None  # noqa: PLR2004 - bits
    if head.startswith(_JPEG):
        return next(_frames(head), None)
    return None


def _frames(head: bytes) -> Iterator[Shape]:
    """The frame headers of a JPEG file (ITU-T T.81, section B.2.2)."""
    place = 2
    while place + 10 <= len(head) and head[place] == 0xFF:  # noqa: PLR2004 - begins every marker
        marker = head[place + 1]
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:  # noqa: PLR2004 - frames, not tables
            height, width = (
                int.from_bytes(head[place + 5 : place + 7], "big"),
                int.from_bytes(head[place + 7 : place + 9], "big"),
            )
            if head[place + 9] in {1, 3}:
                yield height, width, head[place + 9]
            return
        place += 2 + int.from_bytes(head[place + 2 : place + 4], "big")
