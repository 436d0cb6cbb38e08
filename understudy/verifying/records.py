"""A manifest's description of the records that its generator makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

IMAGES: Final = "understudy.image-bundle/1"
"""Schema of a manifest of images; all other manifests are of tables."""
_SHADES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A manifest's description of the records that its generator makes.

    Attributes:
        cardinalities: number of codes of every modelled column; for images, of every number of an image and of its label.
        image_outputs: for images, the number of the critic's scores: one per label, or one; None for tables.
        target_index: index of a table's target among its columns; None for images and without a target.
    """

    cardinalities: tuple[int, ...]
    labelled: bool
    image_outputs: int | None
    target_index: int | None = None


def described(manifest: Mapping[str, Any]) -> Described:
    """Read a manifest that describes a generator."""
    distribution = manifest["label_probabilities"]
    if manifest["schema"] != IMAGES:
        cardinalities = tuple(manifest["cardinalities"])
        return Described(
            cardinalities=cardinalities,
            labelled=distribution is not None,
            image_outputs=None,
            target_index=manifest["label_index"],
        )
    values = manifest["height"] * manifest["width"] * manifest["channels"]
    labels = () if distribution is None else (len(distribution),)
    return Described(
        cardinalities=(_SHADES,) * values + labels,
        labelled=distribution is not None,
        image_outputs=sum(labels) or 1,
    )
