"""Constancy check of a new private model: does it answer one class whatever the record?

The check is post-processing: the released model answers inputs that are drawn from the declared domain alone, never a record
(`models.model_check` draws them). It costs no privacy and its result is public.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from core.artifacts.errors import InvalidCertificate
from core.values import Count, OrFalse, Share, Value, derived

MEMBER: Final = "model_check"
"""Name of the member in certificates."""
CODE: Final = "constant-model"
CONSTANT: Final = 0.998
"""A model of a table is constant from this share of draws with the same answer."""
REMEDY: Final = (
    "What was spent stays spent. Its probabilities may still distinguish records: compare them with each other, not with one half, above all where "
    "the class is rare. The usual cause is noise larger than the signal of so few units: order with a larger epsilon, on more units, and "
    "without options that replace the rules (network, features, optimizer, steps and the like)."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCheck(Value):
    """The findings of the check.

    Attributes:
        draws: Number of inputs that the model answered.
        answer: The class that it gave most often.
        share: The share of the inputs that have it.
        unanimous_only: Whether it takes every answer to call the model constant, as of images, whose draws are less like records: a
            useful model that separates a rare shape from all others gives nearly all drawn images one class.
    """

    UNREADABLE = InvalidCertificate, "the check of the model lacks a member or has a wrong one"

    draws: Count
    answer: str
    share: Share
    unanimous_only: OrFalse = False

    @derived
    def constant(self) -> bool:
        """Whether (nearly) all answers are the same."""
        return self.share >= (1.0 if self.unanimous_only else CONSTANT)

    @property
    def detail(self) -> str:
        """The finding in a sentence; public."""
        return (
            f"The model answers '{self.answer}' to {self.share * self.draws:,.0f} of {self.draws:,} inputs drawn from the declared domain "
            "alone: its answer hardly depends on the input."
        )

    @classmethod
    def of_certificate(cls, certificate: Mapping[str, Any]) -> Self | None:
        """The finding that a certificate states; None if it is older than the check."""
        stated = certificate.get(MEMBER)
        return None if stated is None else cls.from_json(stated)
