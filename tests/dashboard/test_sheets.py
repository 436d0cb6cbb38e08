"""Sheets of synthetic images on pages: a row for every label, which the page names, and never a strip."""

import io

import pytest
from PIL import Image

from core.artifacts.packing import pack
from core.artifacts.sampling.image_formats import LARGEST_SHEET, sheet_grid
from core.artifacts.sampling.samples import open_samples
from core.plan.domain.images import ImageDomain
from service.dashboard.release_drawing import draw, sheet_images
from tests.core.artifacts import image_stand_in


def declared(side: int, labels: int) -> ImageDomain:
    words = tuple(f"label {number}" for number in range(labels))
    return ImageDomain(height=side, width=side, channels=1, labels=words, privacy_unit=None)


@pytest.mark.parametrize(
    ("side", "labels", "images", "grid"),
    [
        (28, 0, 64, (8, 8)),
        (32, 2, 16, (2, 8)),  # was 64 in two rows: 32 small ones side by side
        (28, 10, 80, (10, 8)),  # was 64: rows of seven and of six
        (28, 100, 256, (100, 3)),
        (28, 1000, 256, (256, 1)),
        (256, 2, 16, (2, 8)),
        (256, 1000, 64, (64, 1)),
    ],
)
def test_a_sheet_is_easily_looked_at(side: int, labels: int, images: int, grid: tuple[int, int]) -> None:
    domain = declared(side, labels)
    assert sheet_images(domain) == images
    assert sheet_grid(images, labels=labels) == grid
    assert images * (side + 2) ** 2 < LARGEST_SHEET


@pytest.mark.parametrize("labels", [image_stand_in.LABELS, ()], ids=["labels", "none"])
def test_a_sheet_says_what_its_rows_are_of(labels: tuple[str, ...]) -> None:
    content = image_stand_in.bundle() if labels else image_stand_in.unlabelled()
    drawn = draw(open_samples(pack(content, readme="")))
    assert drawn.sheet is not None
    assert drawn.images == 8 * (len(labels) or 8)
    assert tuple(drawn.labels) == labels
    told = Image.open(io.BytesIO(drawn.sheet)).info["Description"]
    assert told.endswith(f"rows from the top: {', '.join(labels) or 'none'}")
