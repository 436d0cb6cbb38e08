"""The manifest of a bundle: how to sample from its network. Tables and images have a form each, identified by its schema.

A form describes the network's output for a latent vector and a one-hot label, and the distribution of labels. The bundle's
domain gives the meaning of codes and labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from core.artifacts.errors import BundleInvalid
from core.plan.defaults import MOST_LOGITS
from core.plan.domain.columns.document import MAXIMUM_CODES
from core.plan.domain.images import LARGEST_SIDE, MOST_LABELS
from core.values import OrAbsent, Value, derived

TABLE_SCHEMA: Final = "understudy.bundle/2"
WIDE_SCHEMA: Final = "understudy.wide-bundle/1"
"""Schema of tables whose network outputs logits of groups of codes."""
IMAGE_SCHEMA: Final = "understudy.image-bundle/1"
MODEL_SCHEMA: Final = "understudy.model-bundle/1"
"""Schema of a private model, which generates nothing; `core.artifacts.private_models.bundle` reads it."""
DIGESTS: Final = "sha256"
"""Member of a bundle's manifest with the digests of its other files, by name."""
MIXTURE_OUTPUTS: Final = ("component_sums", "component_logits", "code_groups", "code_logits")
"""Further outputs of a table's network that is a mixture of product distributions, the same for any input: running sums of the
components' distribution given each label (labels or 1, components); logits of the groups of all columns but the target (components,
groups); the group (codes,) of every code among those of all columns; its logit (codes,) in its group."""
_WIDEST_LATENT = 2**16
_LAW_TOLERANCE = 1e-6
_SHADES = 256
"""Number of values of one channel of a pixel, at 8 bits."""


class _Manifest(Value):
    __slots__ = ()
    UNREADABLE = BundleInvalid, "The bundle's manifest lacks a field or has one of the wrong type."


@dataclass(frozen=True, slots=True, kw_only=True)
class TableManifest(_Manifest):
    """A generator of rows: ``logits`` (rows, cells), a block of them for every column.

    Attributes:
        latent_dimension: Length of the standard normal vector the network takes for each row.
        cardinalities: Number of codes of each modelled column, in the order of the network's output blocks.
        label_index: Position of the target among the modelled columns, or None.
        label_probabilities: Distribution of the target's codes (from the noisy counts), or None.
        groups: Groups of codes of each column (`core.artifacts.sampling.codes_in_groups`) if the logits are of groups; None if they are of
            codes.
    """

    OUTPUT: ClassVar = "logits"
    """Name of the network's output."""

    latent_dimension: int
    cardinalities: tuple[int, ...]
    label_index: int | None
    label_probabilities: tuple[float, ...] | None
    groups: OrAbsent[tuple[int, ...]] = None

    @derived
    def schema(self) -> str:
        """The version of the form: that of groups is another."""
        return TABLE_SCHEMA if self.groups is None else WIDE_SCHEMA

    @property
    def blocks(self) -> tuple[int, ...]:
        """Logits of each column."""
        return self.cardinalities if self.groups is None else self.groups

    def exists(self) -> bool:
        """Whether the values are consistent and within limits."""
        distribution, label = self.label_probabilities, self.label_index
        if not (
            0 < self.latent_dimension <= _WIDEST_LATENT
            and self.cardinalities
            and min(self.cardinalities) > 0
            and sum(self.cardinalities) <= MAXIMUM_CODES
            and sum(self.blocks) <= MOST_LOGITS
            and len(self.blocks) == len(self.cardinalities)
            and all(
                0 < logits <= codes for logits, codes in zip(self.blocks, self.cardinalities, strict=True)
            )
        ):
            return False
        if distribution is None or label is None:
            return distribution is None and label is None
        if not 0 <= label < len(self.cardinalities) or self.blocks[label] != self.cardinalities[label]:
            return False
        return len(distribution) == self.cardinalities[label] and _is_distribution(distribution)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageManifest(_Manifest):
    """A generator of images: ``images`` (rows, channels, height, width), float32 in [0, 1].

    Attributes:
        latent_dimension: Length of the standard normal vector the network takes for each image.
        channels: 1 for grey, 3 for red, green and blue.
        label_probabilities: Distribution of the declared labels in their order, or None if images have none.
    """

    OUTPUT: ClassVar = "images"
    """Name of the network's output."""

    latent_dimension: int
    height: int
    width: int
    channels: int
    label_probabilities: tuple[float, ...] | None

    @derived
    def schema(self) -> str:
        """The version of the form."""
        return IMAGE_SCHEMA

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """Number of codes of every number of an image, then of its label if any; certificates count these."""
        labels = () if self.label_probabilities is None else (len(self.label_probabilities),)
        return (_SHADES,) * (self.height * self.width * self.channels) + labels

    def exists(self) -> bool:
        """Whether the values are consistent and within limits."""
        distribution = self.label_probabilities
        return (
            0 < self.latent_dimension <= _WIDEST_LATENT
            and all(0 < side <= LARGEST_SIDE for side in (self.height, self.width))
            and self.channels in {1, 3}
            and (
                distribution is None
                or (1 < len(distribution) <= MOST_LABELS and _is_distribution(distribution))
            )
        )


Manifest = TableManifest | ImageManifest

_FORMS: Final[Mapping[str, type[TableManifest] | type[ImageManifest]]] = {
    TABLE_SCHEMA: TableManifest,
    WIDE_SCHEMA: TableManifest,
    IMAGE_SCHEMA: ImageManifest,
}


def manifest_from_json(data: Mapping[str, Any]) -> Manifest:
    """Read a manifest of any form, without its digests of the other files.

    Raises:
        BundleInvalid: A version this software does not know, or a field that is missing or out of range.
    """
    schema = data.get("schema")
    form = _FORMS.get(schema) if isinstance(schema, str) else None
    if form is None:
        raise BundleInvalid("The bundle's manifest has a version this software does not know.")
    manifest = form.from_json({name: member for name, member in data.items() if name != DIGESTS})
    if not manifest.exists():
        raise BundleInvalid("The bundle's manifest describes a generator that cannot exist.")
    return manifest


def _is_distribution(distribution: Sequence[float]) -> bool:
    return min(distribution) >= 0 and abs(sum(distribution) - 1) < _LAW_TOLERANCE
