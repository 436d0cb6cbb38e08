"""Small jobs on small images."""

from typing import Any

import numpy as np

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateImages

SIDE, CLASSES = 8, 3
SMALL: dict[str, Any] = {
    "critic_asks": "real",
    "expected_batch_size": 12,
    "critic_width": 16,
    "critic_layers": 1,
    "generator_width": 4,
    "generator_batch_size": 12,
    "latent_dimension": 2,
}


def domain(*, labelled: bool = True, channels: int = 1) -> ImageDomain:
    labels = ("a", "b", "c") if labelled else ()
    return ImageDomain(height=SIDE, width=SIDE, channels=channels, labels=labels, privacy_unit=None)


def image_plan(declared: ImageDomain | None = None, *, epsilon: float = 2.0, **options: Any) -> Plan:
    """A plan of a few steps for 40 units."""
    chosen = SMALL | options
    if chosen.get("critic", True):
        chosen = {"steps": 6} | chosen
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=chosen),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=40,
        domain=declared or domain(),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def small_images(count: int = 40, *, labelled: bool = True, channels: int = 1) -> PrivateImages:
    """Images whose brightness tells their class; the last units have two each."""
    rng = np.random.default_rng(8)
    labels = (np.arange(count) % CLASSES).astype(np.int16) if labelled else np.zeros(count, dtype=np.int16)
    shades = rng.integers(0, 120, (count, SIDE, SIDE, channels)) + 60 * labels[:, None, None, None]
    unit_of_record = np.arange(count, dtype=np.int64)
    unit_of_record[-4:] = [count - 4, count - 4, count - 3, count - 3] if count >= 4 else unit_of_record[-4:]
    return PrivateImages(
        pixels=shades.astype(np.uint8),
        labels=labels,
        unit_of_record=unit_of_record,
        classes=CLASSES if labelled else 0,
    )


def with_one_more(images: PrivateImages, pixels: np.ndarray, label: int) -> PrivateImages:
    """The images and one more unit with these, all of one label."""
    count = len(pixels)
    return PrivateImages(
        pixels=np.concatenate([images.pixels, pixels.astype(np.uint8)]),
        labels=np.concatenate([images.labels, np.full(count, label, dtype=np.int16)]),
        unit_of_record=np.concatenate([images.unit_of_record, np.full(count, images.units, dtype=np.int64)]),
        classes=images.classes,
    )
