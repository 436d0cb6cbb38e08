"""What a manifest says of the records that its generator makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

IMAGES: Final = "understudy.image-bundle/1"
"""The schema of a manifest of images; every other is of tables."""
_SHADES: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a manifest says of the records that its generator makes.

    Attributes:
        cardinalities: codes of every modelled column; of images, of every number of one and of its label.
        labelled: whether labels were modelled.
        image_outputs: of images, how many scores the critic has: one a label, or one; None for tables.
        target_index: of a table's target among its columns; None for images and without a target.
    """

    cardinalities: tuple[int, ...]
    labelled: bool
    image_outputs: int | None
    target_index: int | None = None


def described(manifest: Mapping[str, Any]) -> Described:
    """Read a manifest that describes a generator."""
    law = manifest["label_probabilities"]
    if manifest["schema"] != IMAGES:
        cardinalities = tuple(manifest["cardinalities"])
        return Described(
            cardinalities=cardinalities,
            labelled=law is not None,
            image_outputs=None,
            target_index=manifest["label_index"],
        )
    values = manifest["height"] * manifest["width"] * manifest["channels"]
    labels = () if law is None else (len(law),)
    return Described(
        cardinalities=(_SHADES,) * values + labels, labelled=law is not None, image_outputs=sum(labels) or 1
    )
