"""Preview of a release: bar charts of synthetic columns, or a contact sheet of synthetic images.

Sampled from the generator by the sampler that serves downloads. This is post-processing of a release: it costs no budget
and reveals nothing that a download would not.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.artifacts.sampling.samples import ImageSamples, Samples, TableSamples
from core.plan.domain.codec import encode
from core.plan.domain.columns.calendar import day_text, second_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, OrderedColumn, TimeColumn
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from service.wording.amounts import count

ROWS: Final = 2000
OF_A_LABEL: Final = 8
"""Images per label on a sheet; without labels the sheet is a square with this side."""
MOST_IMAGES: Final = 256
MOST_PIXELS: Final = 2**22
COLUMNS: Final = 48
LABELS: Final = 8
_MISSING: Final = "(missing)"
_FEW_BINS: Final = 2
_WHOLE_FROM: Final = 100_000
# Offset in the first chunk (IHDR) of every PNG.
_SIZE: Final = struct.Struct(">II")
_SIZE_AT: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar.

    Args:
        label: The category, or the words of a special or missing value; empty for a bin of an ordered column.
        share: Share of the sampled rows, from 0 to 1.
        height: Length from 0 to 100: relative to the tallest bar among those of its list, of values apart their share in per cent.
    """

    label: str
    share: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """One column of synthetic rows.

    Args:
        bars: Bars in the order of their codes. Of a column with a scale, only the codes on it.
        ends: The bounds of an ordered column, as text; None for categories.
        apart: Values without a place on the scale: special values, levels that are not listed, missing values. Empty for categories,
            which all have a bar with a label.
        middle: What lies in the middle of the scale, as text; empty if there is no room for it.
    """

    name: str
    bars: Sequence[Bar]
    ends: tuple[str, str] | None
    further: int
    apart: Sequence[Bar] = ()
    middle: str = ""

    @property
    def axis(self) -> Sequence[str]:
        """The labels of the scale from left to right; empty for categories."""
        if self.ends is None:
            return ()
        low, high = self.ends
        return (low, self.middle, high) if self.middle else (low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pictures:
    """The preview of a release.

    Args:
        plots: The first ``COLUMNS`` columns of rows; empty for images.
        sheet: PNG of images; None for rows.
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
    """Draw the preview of an opened generator, whose own domain names bins and words: of a learnt column the declared one has none."""
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
    titles = titles_of(table)
    codes = encode(table, next(iter(samples.sampler.batches(ROWS))))
    shown = list(zip(table.coded, codes.T, strict=True))[:COLUMNS]
    return Pictures(
        plots=[plot(column, drawn, title=titles.get(column.name)) for column, drawn in shown],
        columns=len(table.modelled),
        sheet=None,
        images=0,
        labels=(),
    )


def sheet_images(domain: ImageDomain) -> int:
    """The number of images on a sheet: rows of eight, with equally many per label unless that is too many."""
    fitting = MOST_PIXELS // (domain.height * domain.width)
    return min(OF_A_LABEL * (len(domain.labels) or OF_A_LABEL), MOST_IMAGES, fitting)


def titles_of(table: TableDomain) -> Mapping[str, str]:
    """What is coded in the place of a column's own values, in words, by the name of its codes: a distance, with its unit."""
    titles = {}
    for column in table.modelled:
        if isinstance(column, TimeColumn) and column.difference is not None:
            unit = "day" if column.kind == "date" else column.resolution
            titles[column.difference.coded.name] = f"{column.name}, {unit}s after {column.difference.start}"
        elif isinstance(column, NumericColumn) and column.difference is not None:
            titles[column.difference.coded.name] = f"{column.name} less {column.difference.start}"
    return titles


def plot(column: Modelled, codes: NDArray[np.integer], *, title: str | None = None) -> Plot:
    """Count the codes of one column.

    Args:
        codes: (rows,), each below the column's cardinality.
        title: What the column holds, where its name does not say it.
    """
    name = title or column.name
    counts = np.bincount(codes, minlength=column.cardinality)
    shares = counts / max(1, counts.sum())
    if isinstance(column, LabelColumn):
        labels = _labels(column)
        if column.kind == "ordinal" and len(labels) > LABELS:
            levels = len(column.labels)
            return Plot(
                name=name,
                bars=_bars(shares[:levels]),
                ends=(labels[0], column.labels[-1]),
                further=0,
                apart=_apart(labels[levels:], shares[levels:]),
            )
        order = (
            np.arange(len(labels))
            if column.kind == "ordinal"
            else np.argsort(-counts, kind="stable")[:LABELS]
        )
        return Plot(
            name=name,
            bars=_bars(shares[order], [labels[code] for code in order]),
            ends=None,
            further=len(labels) - len(order),
        )
    assert isinstance(column, OrderedColumn)
    # Codes of an ordered column: special values, bins, missing. Only bins have a place between the bounds.
    first, last = len(column.specials), column.ordinary_codes
    words = [f"exactly {_number(special)}" for special in column.specials]
    if column.null_code is not None:
        words.append(_MISSING)
    return Plot(
        name=name,
        bars=_bars(shares[first:last]),
        ends=_ends(column),
        further=0,
        apart=_apart(words, np.delete(shares, np.s_[first:last])),
        middle=_middle(column),
    )


def _bars(shares: NDArray[np.float64], labels: Sequence[str] | None = None) -> list[Bar]:
    """Bars relative to the tallest of them; without labels, those between the ends of a scale."""
    tallest = shares.max(initial=0.0) or 1.0
    return [
        Bar(label=label, share=float(share), height=round(float(100 * share / tallest), 1))
        for label, share in zip(labels or [""] * len(shares), shares, strict=True)
    ]


def _apart(words: Sequence[str], shares: NDArray[np.float64]) -> list[Bar]:
    """Bars beside a scale, as long as their shares of all rows: one large share must not flatten the bars on the scale."""
    return [
        Bar(label=word, share=float(share), height=round(float(100 * share), 1))
        for word, share in zip(words, shares, strict=True)
    ]


def _labels(column: LabelColumn) -> list[str]:
    """The label of each code."""
    words = list(column.labels)
    if column.other_code is not None:
        words.append("(other)")
    if column.null_code is not None:
        words.append(_MISSING)
    return words


def _ends(column: OrderedColumn) -> tuple[str, str]:
    if isinstance(column, TimeColumn):
        text = day_text if column.kind == "date" else second_text
        low, high = text(int(column.lower)), text(int(column.upper))
        # A page can break a line at a space.
        return low.replace("T", " "), high.replace("T", " ")
    return _number(column.bins.lows[0]), _number(column.bins.highs[-1])


def _middle(column: OrderedColumn) -> str:
    """The value at the middle of the drawing, whose bins are equally wide even where those of the column are not.

    Empty for times, whose ends take all the room, and where there are two bins at most.
    """
    bins = column.bins
    if isinstance(column, TimeColumn) or bins.count <= _FEW_BINS:
        return ""
    half, is_inside_a_bin = divmod(bins.count, 2)
    value = bins.lows[half]
    if is_inside_a_bin and not (bins.grid is not None and (bins.tick_counts == 1).all()):
        value = (value + bins.highs[half]) / 2
    return _number(value)


def _number(value: float) -> str:
    """At most six digits; large numbers whole, with their digits in threes."""
    return count(round(value)) if abs(value) >= _WHOLE_FROM else f"{value:.6g}"
