"""The released figures as one HTML file to pass on. Post-processing of the release; costs nothing.

The file holds the certificate in words, the expected error, the noisy counts and pictures of synthetic rows or images. It
names no dataset, runs no script and loads nothing.
"""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.codes import counted_by
from core.artifacts.asking.errors import NoCounts
from core.artifacts.bundle import unpack
from core.artifacts.errors import NothingToDraw
from core.artifacts.reports.columns import ReportColumn, columns_of
from core.artifacts.reports.page import environment
from core.artifacts.reports.shares import Shares, shares
from core.artifacts.sampling.samples import ImageSamples, TableSamples, open_samples
from core.plan.domain.table import TableDomain

ROWS: Final = 20_000
SEED: Final = 20_261_125
"""Seed of the drawn rows. Public and fixed: the page of a release is always the same."""
IMAGES: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleasedColumn:
    """One column of a release.

    Attributes:
        synthetic: (codes,) shares among synthetic rows.
        counted: (codes,) shares by the noisy counts, none below zero; None if the column was not counted.
        standard_error: of the count of one code, in records; None if it was not counted.
    """

    column: ReportColumn
    synthetic: Shares = field(repr=False)
    counted: Shares | None = field(repr=False)
    standard_error: float | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReleaseFigures:
    """Figures of the page; all are part of the release or follow from it.

    Attributes:
        facts: names and values that identify the release, in display order.
        warning: why the generator is degenerate; None if it is not.
        sentences: the certificate in plain language.
        not_covered: the limits that it states.
        expected_error: as in a quote; None if it is not known.
        columns: the columns of synthetic rows; empty for images and models.
        counted: the unit of a count; None if the release has no counts.
        sheet: PNG of synthetic images, base64; None for rows and models.
    """

    id: str
    facts: tuple[tuple[str, str], ...]
    warning: str | None
    sentences: Sequence[str]
    not_covered: Sequence[str]
    expected_error: Mapping[str, Any] | None
    columns: tuple[ReleasedColumn, ...] = ()
    counted: str | None = None
    sheet: str | None = None


def released_figures(bundle: bytes) -> dict[str, Any]:
    """The members of `ReleaseFigures` that are drawn from a generator and read from its counts; none of a private model.

    Raises:
        BundleInvalid: The bundle is damaged or of an unknown version.
    """
    try:
        samples = open_samples(bundle)
    except NothingToDraw:
        return {}
    if isinstance(samples, ImageSamples):
        content = b"".join(samples.write(IMAGES, "png"))
        return {"sheet": base64.b64encode(content).decode()}
    assert isinstance(samples, TableSamples), "a bundle holds a model, rows or images"
    try:
        counts: OpenedCounts | None = OpenedCounts.open(bundle)
    except NoCounts:
        counts = None
    known = {} if counts is None else _counted(counts)
    columns = columns_of(TableDomain.from_json(unpack(bundle).domain))
    drawn = samples.sampler.codes(ROWS, np.random.default_rng(SEED))
    return {
        "counted": None if counts is None else counted_by(counts.domain),
        "columns": tuple(
            ReleasedColumn(
                column=column,
                synthetic=shares(drawn[:, index], column.codes),
                counted=known[column.name][0] if column.name in known else None,
                standard_error=known[column.name][1] if column.name in known else None,
            )
            for index, column in enumerate(columns)
        ),
    }


def _counted(counts: OpenedCounts) -> dict[str, tuple[Shares, float]]:
    """Shares of each column's codes by the noisy counts, and the standard error of one count."""
    found = {}
    for place, precision in enumerate(counts.precision):
        if precision.standard_error is not None:
            estimated = np.maximum(counts.estimates.table((place,)), 0.0)
            found[precision.name] = (estimated / max(1.0, float(estimated.sum())), precision.standard_error)
    return found


def render_release(figures: ReleaseFigures) -> str:
    """The whole file."""
    return environment().get_template("release_page.html").render(release=figures, rows=ROWS) + "\n"
