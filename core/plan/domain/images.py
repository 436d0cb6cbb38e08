"""The domain of a set of images: their shape and labels, declared by the owner and public."""

from dataclasses import dataclass
from typing import Final, Self

from core.canonical import canonical_digest
from core.plan.domain.confirmation import require_confirmed
from core.plan.domain.reading import Node

SCHEMA: Final = "understudy.images/1"
LARGEST_SIDE: Final = 256
"""Pixels of a side; the owner scales larger images down."""
MOST_LABELS: Final = 1000
LONGEST_WORD: Final = 200
"""Characters of a label or of the name of the unit's column."""
FILE: Final = "file"
PIXELS: Final = "pixels"
LABEL: Final = "label"
"""Columns of a label file and of stored images, apart from the unit's."""


@dataclass(frozen=True, kw_only=True)
class ImageDomain:
    """The declared domain: everything the service knows about a set of images without reading them.

    Attributes:
        channels: 1 for grey, 3 for red, green and blue; 8 bits each.
        labels: The classes, in the order of their codes; empty where images have no label.
        privacy_unit: Name of the label file's column that identifies the unit of an image, or None: each image is its own unit.
    """

    height: int
    width: int
    channels: int
    labels: tuple[str, ...]
    privacy_unit: str | None

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Read and check a domain document (a parsed JSON object).

        Raises:
            DomainUnconfirmed: it is a draft that still contains marks.
            DomainInvalid: it breaks a rule; the error points at the place.
        """
        require_confirmed(document)
        node = Node(document, "")
        node.take_choice("schema", (SCHEMA,))
        domain = cls(
            height=_take_side(node, "height"),
            width=_take_side(node, "width"),
            channels=_take_channels(node),
            labels=node.take_texts("labels"),
            privacy_unit=None if node.has_null("privacy_unit") else node.take_text("privacy_unit"),
        )
        node.finish()
        domain._check(node)
        return domain

    def to_json(self) -> dict[str, object]:
        """The complete document; ``from_json`` gives an equal domain back."""
        return {
            "schema": SCHEMA,
            "height": self.height,
            "width": self.width,
            "channels": self.channels,
            "labels": list(self.labels),
            "privacy_unit": self.privacy_unit,
        }

    @property
    def records_per_unit(self) -> int | None:
        """None: all images of a unit count, with total weight one."""
        return None

    def digest(self) -> str:
        """SHA-256 of the canonical document, hexadecimal."""
        return canonical_digest(self.to_json())

    @property
    def values(self) -> int:
        """Numbers of one image: height times width times channels."""
        return self.height * self.width * self.channels

    def _check(self, node: Node) -> None:
        if len(self.labels) == 1:
            node.refuse(
                "One label for every image says nothing.", "too-few-labels", key="labels",
                remedy="Declare at least two labels, or an empty array where images have none.",
            )  # fmt: skip
        if len(self.labels) > MOST_LABELS:
            node.refuse(f"At most {MOST_LABELS} labels are possible.", "too-many-labels", key="labels")
        for index, label in enumerate(self.labels):
            _check_word(node, label, f"labels/{index}")
        if self.privacy_unit is not None:
            _check_word(node, self.privacy_unit, "privacy_unit")
            if self.privacy_unit in {FILE, PIXELS, LABEL}:
                node.refuse(
                    "This column of a label file means something else.", "bad-name", key="privacy_unit",
                    remedy="Give the column that says whose image it is another name.",
                )  # fmt: skip


def _take_side(node: Node, key: str) -> int:
    side = node.take_integer(key, None, lowest=4, highest=LARGEST_SIDE)
    if side is None:
        node.refuse(f"The key '{key}' is missing.", "missing-key", remedy=f"Add '{key}' in pixels.")
    return side


def _take_channels(node: Node) -> int:
    channels = node.take_integer("channels", None, lowest=1, highest=3)
    if channels not in (1, 3):
        node.refuse("'channels' must be 1 (grey) or 3 (colour).", "not-a-choice", key="channels")
    return channels


def _check_word(node: Node, word: str, key: str) -> None:
    if not word or len(word) > LONGEST_WORD or not word.isprintable():
        node.refuse(f"A word here has 1 to {LONGEST_WORD} printable characters.", "bad-name", key=key)
