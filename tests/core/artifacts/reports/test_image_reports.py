"""Owner reports on images: the figures find what they are for, and the file is complete, bounded and harmless."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.reports import image_contents
from core.artifacts.reports.image_contents import ImageReportContents, RealImages, measure_images, real_images
from core.artifacts.reports.image_page import most_image_bytes, render_images, summarise_images
from core.artifacts.reports.owner_files import STEP_BYTES
from core.artifacts.reports.owner_page import MARK, Subject
from core.artifacts.sampling.image_sampler import ImageSampler
from core.plan.domain.images import ImageDomain
from core.plan.domain.schema import storage_schema
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.reports.test_owner_page import HOSTILE, Strict

DOMAIN = ImageDomain(height=6, width=5, channels=1, labels=("a", "b"), privacy_unit=None)
SUBJECT = Subject(title=HOSTILE, facts=((HOSTILE, HOSTILE),))
COUNT = 200


class Generator:
    """Draws images by a rule instead of a network."""

    def __init__(self, domain: ImageDomain, rule: Any) -> None:
        self.domain, self._rule = domain, rule

    def draw_labels(self, images: int, rng: np.random.Generator) -> Any:
        return rng.integers(0, max(1, len(self.domain.labels)), images).astype(np.int16)

    def draw(self, labels: Any, rng: np.random.Generator) -> Any:
        return self._rule(labels, rng).astype(np.uint8)


def pictures(labels: Any, rng: np.random.Generator, domain: ImageDomain = DOMAIN) -> Any:
    """Noise around a shade that the label decides."""
    shape = (len(labels), domain.height, domain.width, domain.channels)
    return (60 + 80 * labels[:, None, None, None] + rng.integers(0, 60, shape)).astype(np.uint8)


def measured(rule: Any, domain: ImageDomain = DOMAIN, images: Any = None) -> ImageReportContents:
    rng = np.random.default_rng(5)
    labels = (np.arange(COUNT) % max(1, len(domain.labels))).astype(np.int16)
    pixels = pictures(labels, rng, domain) if images is None else images
    real = RealImages(pixels=pixels, labels=labels, units=np.arange(COUNT))
    return measure_images(real, cast("ImageSampler", Generator(domain, rule)))


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_contents, "SYNTHETIC_IMAGES", COUNT)


def test_a_good_generator_is_near_in_all_figures_and_nothing_stands_out() -> None:
    contents = measured(pictures)
    labels, learning, near = contents.labels, contents.learning, contents.neighbours
    assert labels is not None
    assert learning is not None
    assert near is not None
    assert labels.variation < 3 * labels.by_chance
    assert contents.pixels.distance < 3 * contents.pixels.by_chance
    assert contents.pixels.synthetic_spread == pytest.approx(contents.pixels.real_spread, rel=0.05)
    assert learning.from_synthetic[0].accuracy > 0.95
    assert learning.majority < 0.6
    assert [one.from_real for one in contents.learnt] == [1.0, 1.0]
    assert near.synthetic.standing_out == near.others.standing_out == near.synthetic.copies == 0
    assert near.asked == near.searched == COUNT // 2
    assert summarise_images(contents).look_at == ()


def test_a_generator_that_repeats_what_it_learnt_is_found() -> None:
    kept = pictures((np.arange(COUNT) % 2).astype(np.int16), np.random.default_rng(5))
    exact = measured(lambda labels, rng: kept[rng.integers(0, COUNT, len(labels))])
    # Half of the images lie in the half that is searched.
    assert exact.neighbours is not None
    assert 0.25 < exact.neighbours.synthetic.copies < 0.75
    assert exact.neighbours.synthetic.distances[0] == 0
    found = summarise_images(exact).look_at
    assert any("equal a real one" in sentence for sentence in found)

    def nearly(labels: Any, rng: np.random.Generator) -> Any:
        images = kept[rng.integers(0, COUNT, len(labels))]
        return images + rng.integers(0, 4, images.shape)

    near = measured(nearly)
    assert near.neighbours is not None
    assert near.neighbours.synthetic.copies == 0
    assert near.neighbours.synthetic.standing_out > 0.25
    assert any("much nearer to one real image" in sentence for sentence in summarise_images(near).look_at)


def test_blurred_images_are_nearer_to_all_and_no_copies_and_equal_ones_are_said_to_vary_little() -> None:
    blurred = measured(
        lambda labels, _: np.full((len(labels), 6, 5, 1), 90) + 80 * labels[:, None, None, None]
    )
    near = blurred.neighbours
    assert near is not None
    assert near.synthetic.distances[1] < near.others.distances[1]
    assert near.synthetic.standing_out == 0
    assert not any("memorised" in sentence for sentence in summarise_images(blurred).look_at)
    alike = measured(lambda labels, _: np.full((len(labels), 6, 5, 1), 120))
    assert any("vary less" in sentence for sentence in summarise_images(alike).look_at)


def test_of_a_large_set_a_public_number_of_images_is_looked_at_in_any_batches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(image_contents, "REAL_IMAGES", 50)
    domain = replace(DOMAIN, privacy_unit="who")
    names = [f"person {place % 40}" for place in range(COUNT)]
    whole = pa.RecordBatch.from_arrays(
        [
            pa.array([bytes([place]) * 30 for place in range(COUNT)], pa.binary(30)),
            pa.array(np.arange(COUNT) % 2, pa.int16()),
            pa.array(names),
        ],
        schema=storage_schema(domain),
    )
    found = [
        real_images([whole.slice(start, size) for start in range(0, COUNT, size)], domain)
        for size in (COUNT, 7)
    ]
    assert len(found[0].pixels) == 50
    assert np.array_equal(found[0].pixels, found[1].pixels)
    first = found[0].pixels[:, 0, 0, 0]
    assert (np.diff(first.astype(int)) > 0).all(), "in the stored order"
    assert found[0].labels.tolist() == (first % 2).tolist()
    units = dict(zip((first % 40).tolist(), found[0].units.tolist(), strict=True))
    assert found[0].units.tolist() == [units[one] for one in (first % 40).tolist()]


@pytest.mark.parametrize(
    "domain",
    [
        replace(DOMAIN, labels=tuple(f"{HOSTILE} {number}" for number in range(60))),
        ImageDomain(height=70, width=40, channels=3, labels=(), privacy_unit=None),
    ],
    ids=["hostile labels", "large, without labels"],
)
def test_the_file_is_bounded_and_loads_nothing(domain: ImageDomain) -> None:
    shape = (COUNT, domain.height, domain.width, domain.channels)

    def noise(labels: Any, rng: np.random.Generator) -> Any:
        return rng.integers(0, 256, (len(labels), *shape[1:]))

    html = render_images(
        SUBJECT, measured(noise, domain, noise(range(COUNT), np.random.default_rng(1))), domain
    )
    parser = Strict()
    parser.feed(html.replace("<img ", "<meta "))
    assert parser.open == []
    assert MARK in html
    assert HOSTILE not in html
    assert {part[:22] for part in html.split(' src="')[1:]} == {"data:image/png;base64,"}
    assert "script" not in parser.tags
    room = most_image_bytes(domain)
    assert len(html.encode()) <= room < 3 * len(html.encode()) + STEP_BYTES
    assert ("<h2>Labels" in html) == bool(domain.labels)


def test_a_real_generator_is_drawn_from_and_the_report_is_the_same_again() -> None:
    sampler = ImageSampler(image_stand_in.bundle())
    labels = (np.arange(30) % 3).astype(np.int16)
    real = RealImages(
        pixels=np.stack([image_stand_in.expected(int(label)) for label in labels]),
        labels=labels,
        units=np.zeros(30, np.int64),
    )
    first, again = (render_images(SUBJECT, measure_images(real, sampler), sampler.domain) for _ in range(2))
    assert first == again
    assert "No model was trained" in first, "one unit"
    assert "images of at least two units" in first
