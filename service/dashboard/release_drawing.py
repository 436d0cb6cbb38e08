"""Preview of a release: bar charts of synthetic columns, or a contact sheet of synthetic images.

Sampled from the generator by the sampler that serves downloads. This is post-processing of a release: it costs no budget
and reveals nothing that a download would not.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.sampling.samples import ImageSamples, Samples, TableSamples
from core.plan.domain.calendar import day_text, second_text
from core.plan.domain.codec import encode
from core.plan.domain.columns import LabelColumn, Modelled, OrderedColumn, TimeColumn
from core.plan.domain.images import ImageDomain

ROWS: Final = 2000
OF_A_LABEL: Final = 8
"""Images per label on a sheet; without labels the sheet is a square with this side."""
MOST_IMAGES: Final = 256
MOST_PIXELS: Final = 2**22
COLUMNS: Final = 48
LABELS: Final = 8
# Offset in the first chunk (IHDR) of every PNG.
_SIZE: Final = struct.Struct(">II")
_SIZE_AT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Args:
        label: The category; empty for a bin of an ordered column.
        share: Share of the sampled rows, from 0 to 1.
        height: Height relative to the column's tallest bar, from 0 to 100.
    """

    label: str
    share: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One column of synthetic rows.

    Args:
        name: Name of the column.
        bars: Bars in the order of their codes.
        ends: The bounds of an ordered column, as text; None for categories.
        further: Number of categories not shown.
    """

    name: str
    bars: Sequence[Bar]
    ends: tuple[str, str] | None
    further: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The preview of a release.

    Args:
        plots: The first ``COLUMNS`` columns of rows; empty for images.
        columns: Number of columns of the rows.
        sheet: PNG of images; None for rows.
        images: Number of images on the sheet.
        labels: Labels of the sheet's rows from the top; empty if images have no labels.
    """

    plots: Sequence[Plot]
    columns: int
    sheet: bytes | None
    images: int
    labels: Sequence[str]

    @property
    def sheet_size(self) -> tuple[int, int]:
        """Width and height of the sheet from its PNG header. They keep the page from shifting when the image loads."""
        assert self.sheet is not None
        return _SIZE.unpack_from(self.sheet, _SIZE_AT)


def draw(samples: Samples) -> Pictures:
    """Draw the preview of an opened generator.

    Args:
        samples: The generator. Its own domain names bins and words: of a learnt column the declared one has none.
    """
    if isinstance(samples, ImageSamples):
        declared = samples.sampler.domain
        images = sheet_images(declared)
        return Pictures(
            plots=(),
            columns=0,
            sheet=b"".join(samples.write(images, "png")),
            images=images,
            labels=declared.labels[:images],
        )
    assert isinstance(samples, TableSamples)
    table = samples.sampler.domain
    codes = encode(table, next(iter(samples.sampler.batches(ROWS))))
    shown = list(zip(table.coded, codes.T, strict=True))[:COLUMNS]
    return Pictures(
        plots=[plot(column, drawn) for column, drawn in shown],
        columns=len(table.modelled),
        sheet=None,
        images=0,
        labels=(),
    )


def sheet_images(domain: ImageDomain) -> int:
    """The number of images on a sheet: rows of eight, with equally many per label unless that is too many."""
    fitting = MOST_PIXELS // (domain.height * domain.width)
    return min(OF_A_LABEL * (len(domain.labels) or OF_A_LABEL), MOST_IMAGES, fitting)


def plot(column: Modelled, codes: NDArray[np.integer]) -> Plot:
    """Count the codes of one column.

    Args:
        column: The declared column.
        codes: (rows,), each below the column's cardinality.
    """
    counts = np.bincount(codes, minlength=column.cardinality)
    shares, tallest = counts / max(1, counts.sum()), max(1, counts.max())
    if isinstance(column, LabelColumn):
        labels = _labels(column)
        if column.kind == "ordinal" and len(labels) > LABELS:
            return Plot(
                name=column.name, bars=_unlabelled(counts), ends=(labels[0], column.labels[-1]), further=0
            )
        order = (
            range(len(labels)) if column.kind == "ordinal" else np.argsort(-counts, kind="stable")[:LABELS]
        )
        bars = [
            Bar(
                label=labels[code],
                share=float(shares[code]),
                height=round(float(100 * counts[code] / tallest), 1),
            )
            for code in order
        ]
        return Plot(name=column.name, bars=bars, ends=None, further=len(labels) - len(order))
    assert isinstance(column, OrderedColumn)
    return Plot(name=column.name, bars=_unlabelled(counts), ends=_ends(column), further=0)


def _unlabelled(counts: NDArray[np.integer]) -> list[Bar]:
    """Bars of codes in their order, between the ends of a scale."""
    shares, tallest = counts / max(1, counts.sum()), max(1, counts.max())
    return [
        Bar(label="", share=float(share), height=round(float(100 * count / tallest), 1))
        for share, count in zip(shares, counts, strict=True)
    ]


def _labels(column: LabelColumn) -> list[str]:
    """The label of each code."""
    words = list(column.labels)
    if column.other_code is not None:
        words.append("(other)")
    if column.null_code is not None:
        words.append("(missing)")
    return words


def _ends(column: OrderedColumn) -> tuple[str, str]:
    low, high = column.bins.lows[0], column.bins.highs[-1]
    if isinstance(column, TimeColumn):
        text = day_text if column.kind == "date" else second_text
        return text(int(column.lower)), text(int(column.upper))
    return f"{low:.6g}", f"{high:.6g}"
