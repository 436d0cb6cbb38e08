"""An owner report on images as one HTML file; see `core.artifacts.reports.owner_page`, of which it has the frame.

Pictures are PNG files inside the page. Larger images are reduced first, so that the bytes of a page have a public bound.
"""

from base64 import b64encode
from collections.abc import Iterator
from typing import Final

import numpy as np

from core.artifacts.reports.image_contents import (
    LONGEST_SIDE,
    REAL_IMAGES,
    SHOWN_IMAGES,
    SHOWN_LABELS,
    STANDING_OUT,
    ImageReportContents,
    Neighbours,
    Pixels,
    at_most,
    reduced,
)
from core.artifacts.reports.learning_findings import best_scores, lost_sentence, score_sentence
from core.artifacts.reports.owner_findings import NO_LEAK, STANDS_OUT
from core.artifacts.reports.owner_page import Row, Subject, escaped_bytes, page, score_rows
from core.artifacts.reports.owner_summary import OwnerSummary
from core.artifacts.reports.page import percent
from core.artifacts.sampling.png import encode_png
from core.plan.domain.images import ImageDomain

MOST_ROWS: Final = 40
"""Labels of the table; beyond it those whose shares differ most."""
LONGEST_SHOWN: Final = 64
"""Longest side of a shown image, in pixels."""
_GAP: Final = 1
_GREY: Final = 128
_LEAST, _FAR = 0.01, 0.05
"""Distances of labels and of pixels below which the page suggests nothing."""
_LITTLE_SPREAD: Final = 0.75
"""Share of the real spread below which the page says that images vary too little."""
# Bytes, each above what the page writes (a test compares with hostile names and noise).
_PAGE_BYTES: Final = 48 * 1024
_ROW_BYTES, _STRIP_BYTES = 400, 1024
_STRIPS: Final = 6
"""Strips of means and of nearest images."""


def render_images(subject: Subject, contents: ImageReportContents, domain: ImageDomain) -> str:
    """The whole file."""
    near, pixels = contents.neighbours, contents.pixels
    difference = np.abs(pixels.real - pixels.synthetic)
    most = float(difference.max())
    means = (
        ("Real", pixels.real),
        ("Synthetic", pixels.synthetic),
        (f"Difference, white is {percent(most)}", difference / (most or 1.0)),
    )
    return page(
        "owner_report_of_images.html",
        subject,
        contents,
        summary=summarise_images(contents),
        examples=[(one.label, _strip(one.real), _strip(one.synthetic)) for one in contents.examples],
        means=[(caption, _strip(np.rint(255 * mean).astype(np.uint8)[None])) for caption, mean in means],
        nearest=[]
        if near is None
        else [
            ("synthetic", _strip(near.shown)),
            ("the nearest real image", _strip(near.first)),
            ("the second nearest real image", _strip(near.second)),
        ],
        best=None if contents.learning is None else best_scores(contents.learning),
        label_rows=list(_label_rows(contents)),
        score_rows=[] if contents.learning is None else list(score_rows(contents.learning, "images")),
        distance_rows=[] if near is None else list(_distance_rows(near)),
        all_labels=len(domain.labels),
        most_images=at_most(REAL_IMAGES, domain),
        longest=LONGEST_SIDE,
        standing_out=STANDING_OUT,
    )


def summarise_images(contents: ImageReportContents) -> OwnerSummary:
    """The figures in sentences, and what stands out among them."""
    return OwnerSummary(sentences=tuple(_sentences(contents)), look_at=tuple(_look_at(contents)))


def _sentences(contents: ImageReportContents) -> Iterator[str]:
    labels, pixels, learning, near = contents.labels, contents.pixels, contents.learning, contents.neighbours
    if labels is not None:
        farthest = int(np.abs(labels.real - labels.synthetic).argmax())
        yield (
            f"The labels’ shares are {percent(labels.variation)} away from the real ones; chance alone would make {percent(labels.by_chance)}. "
            f"Farthest is “{labels.column.words[farthest]}”: {percent(labels.real[farthest])} of real and {percent(labels.synthetic[farthest])} of synthetic images."
        )
    yield (
        f"The mean of a pixel is {percent(pixels.distance)} of the range from black to white away on average; chance alone would make "
        f"{percent(pixels.by_chance)}. A pixel spreads by {percent(pixels.synthetic_spread)} among synthetic and {percent(pixels.real_spread)} among real images."
    )
    if learning is not None:
        synthetic, real = learning.from_synthetic[0], learning.from_real[0]
        yield (
            f"A classifier that learnt from synthetic images is right about the label of {percent(synthetic.accuracy)} of real images; "
            f"from real images {percent(real.accuracy)}, and {percent(learning.majority)} by always giving the most frequent label."
        )
        yield score_sentence(learning, "images", "label")
    if near is not None:
        yield (
            f"{percent(near.synthetic.standing_out)} of synthetic images are much nearer to one real image than to any other, and {percent(near.synthetic.copies)} are "
            f"copies of one; of other people’s images {percent(near.others.standing_out)} and {percent(near.others.copies)}."
        )


def _look_at(contents: ImageReportContents) -> Iterator[str]:
    labels, pixels, learning, near = contents.labels, contents.pixels, contents.learning, contents.neighbours
    if labels is not None and labels.variation > max(STANDS_OUT * labels.by_chance, _LEAST):
        yield f"Look at the labels: over {STANDS_OUT:.0f} times as far from the real shares as by chance."
    if pixels.distance > max(STANDS_OUT * pixels.by_chance, _FAR):
        yield f"Look at the pixels: their means are over {STANDS_OUT:.0f} times as far from the real ones as by chance."
    if pixels.synthetic_spread < _LITTLE_SPREAD * pixels.real_spread:
        yield "Synthetic images vary less than real ones: look whether they are all alike."
    if learning is not None:
        lost = lost_sentence(learning, "images", "label", "what distinguishes the labels")
        if lost is not None:
            yield lost
    if near is not None and near.synthetic.standing_out > near.others.standing_out + NO_LEAK:
        yield "More synthetic images than images of other people are much nearer to one real image than to any other: check for memorised images."
    if near is not None and near.synthetic.copies > near.others.copies:
        yield "More synthetic images than images of other people equal a real one: check for memorised images."


def _distance_rows(near: Neighbours) -> Iterator[Row]:
    for name, one in (("synthetic images", near.synthetic), ("other people’s images", near.others)):
        cells = [f"{value:.3f}" for value in (*one.distances, one.ratio)]
        yield name, [*cells, percent(one.standing_out), percent(one.copies)]


def _label_rows(contents: ImageReportContents) -> Iterator[Row]:
    labels = contents.labels
    if labels is None:
        return
    worst = np.argsort(-np.abs(labels.real - labels.synthetic), kind="stable")[:MOST_ROWS]
    for code in sorted(int(one) for one in worst):
        cells = [percent(labels.real[code]), percent(labels.synthetic[code])]
        learnt = contents.learnt[code] if contents.learnt else None
        right = (None, None) if learnt is None else (learnt.from_synthetic, learnt.from_real)
        cells += ["–" if share is None else percent(share) for share in right]
        yield labels.column.words[code], cells


def _strip(images: Pixels) -> str:
    """Images in a row, as the text of a PNG file; nothing for none."""
    if not len(images):
        return ""
    shown = (reduced(images, LONGEST_SHOWN) // reduced(np.ones_like(images[:1]), LONGEST_SHOWN)).astype(
        np.uint8
    )
    count, height, width, channels = shown.shape
    row = np.full((height, count * (width + _GAP) - _GAP, channels), _GREY, np.uint8)
    for place, image in enumerate(shown):
        left = place * (width + _GAP)
        row[:, left : left + width] = image
    return b64encode(encode_png(row)).decode()


def most_image_bytes(domain: ImageDomain) -> int:
    """Return an upper bound on the bytes of a report on these images, from public facts; see `owner_page.most_bytes`."""
    whole = np.empty((1, domain.height, domain.width, domain.channels), np.uint8)
    height, width, channels = map(int, reduced(whole, LONGEST_SHOWN).shape[1:])
    plain = height * (1 + SHOWN_IMAGES * (width + _GAP) * channels)
    strip = (plain + plain // 500 + _STRIP_BYTES) * 4 // 3
    words = sorted((escaped_bytes(word) for word in domain.labels), reverse=True)
    texts = (
        sum(_ROW_BYTES + size for size in words[:MOST_ROWS]) + 20 * sum(words[:1]) + sum(words[:SHOWN_LABELS])
    )
    return _PAGE_BYTES + texts + strip * (2 * max(1, min(SHOWN_LABELS, len(words))) + _STRIPS)
