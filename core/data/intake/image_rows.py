"""Accepted images and refusals, in blocks of a few megabytes."""

from collections import Counter
from typing import Final

import pyarrow as pa

from core.data.intake.clean_rows import LISTED_PER_BLOCK, CleanBlock
from core.plan.domain.cleaning.column import LONGEST_UNIT_BYTES
from core.plan.domain.images import LABEL, ImageDomain
from core.plan.domain.schema import storage_schema

_BLOCK_BYTES: Final = 4 << 20
_BLOCK_IMAGES: Final = 1 << 15


class Labels:
    """Codes of labels, as the domain declares them.

    A number is a label itself if all declared labels are numbers, otherwise its index in the declared list,
    from 0.
    """

    def __init__(self, domain: ImageDomain) -> None:
        self._codes = {word: code for code, word in enumerate(domain.labels)}
        self._are_numbers = all(word.isascii() and word.isdigit() for word in domain.labels)

    def code_of(self, label: str | int) -> int | None:
        """The code; None for an undeclared label."""
        if isinstance(label, str):
            return self._codes.get(label)
        if self._are_numbers:
            return self._codes.get(str(label))
        return label if 0 <= label < len(self._codes) else None


class ImageRows:
    """Collects one block after the other. A row is judged only by its own label, unit and image."""

    def __init__(self, domain: ImageDomain) -> None:
        self._domain = domain
        self._labels = Labels(domain)
        self._limit = max(1, min(_BLOCK_IMAGES, _BLOCK_BYTES // domain.values))
        self._clear()

    def _clear(self) -> None:
        self._pixels: list[bytes] = []
        self._codes: list[int] = []
        self._units: list[str] = []
        self._refused = 0
        self._changes: Counter[tuple[str, str]] = Counter()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._problems: list[tuple[int, str, str]] = []

    @property
    def is_full(self) -> bool:
        """Whether the block is large enough to emit."""
        return len(self._pixels) >= self._limit or self._refused >= _BLOCK_IMAGES

    def flaws(self, label: str | int | None, unit: str | None) -> list[tuple[str, str]]:
        """Flaws of a row apart from its image, as pairs of column and kind.

        Args:
            label: As sent; None if unreadable. Ignored if no labels are declared.
            unit: As sent; None if unreadable. Ignored if no unit is declared.
        """
        found = []
        if self._domain.labels and (label is None or self._labels.code_of(label) is None):
            found.append((LABEL, "missing-value" if label == "" else "unknown-label"))
        name = self._domain.privacy_unit
        if name is not None:
            if unit is None:
                found.append((name, "not-text"))
            elif not unit:
                found.append((name, "missing-value"))
            elif len(unit.encode()) > LONGEST_UNIT_BYTES:
                found.append((name, "unit-too-long"))
        return found

    def accept(self, pixels: bytes, label: str | int | None, unit: str | None, *, change: str = "") -> None:
        """Add an image whose row has no flaws, with the change made by a rule, if any."""
        self._pixels.append(pixels)
        code = self._labels.code_of(label) if self._domain.labels and label is not None else 0
        assert code is not None, "a row without flaws"
        self._codes.append(code)
        if self._domain.privacy_unit is not None:
            assert unit is not None, "a row without flaws"
            self._units.append(unit)
        if change:
            self._changes["", change] += 1

    def refuse(self, line: int, flaws: list[tuple[str, str]]) -> None:
        """Refuse a row for at least one flaw, a pair of column and kind."""
        self._refused += 1
        for column, kind in flaws:
            self._refusals[column, kind] += 1
            if len(self._problems) < LISTED_PER_BLOCK:
                self._problems.append((line, column, kind))

    def refuse_unlisted(self, count: int, kind: str) -> None:
        """Refuse images that are not in the label file."""
        if count:
            self._refused += count
            self._refusals["", kind] += count

    def take(self) -> CleanBlock:
        """Return the block and begin the next one."""
        columns = [pa.array(self._pixels, pa.binary(self._domain.values)), pa.array(self._codes, pa.int16())]
        if self._domain.privacy_unit is not None:
            columns.append(pa.array(self._units, pa.string()))
        block = CleanBlock(
            batch=pa.RecordBatch.from_arrays(columns, schema=storage_schema(self._domain)),
            rows_refused=self._refused,
            changes=self._changes,
            refusals=self._refusals,
            problems=self._problems,
        )
        self._clear()
        return block
