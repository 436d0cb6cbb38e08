"""Degeneracy check of a new generator: columns, labels or records in its draws that vary too little.

The check is post-processing: it uses the released generator, the noisy counts it was trained on and the
declared domain, never a record (`models.generator_check` draws and compares). It costs no privacy and its
result is public.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Self

from pydantic import Field

from core.artifacts.errors import InvalidCertificate
from core.values import Count, Name, Value, derived

MEMBER: Final = "generator_check"
"""Name of the member in certificates and in a training's report."""
CODE: Final = "degenerate-generator"
_NAMED: Final = 5
_REPEATS: Final = 10
"""A number of different records is evidence where it is below this part of the draws."""
REMEDY: Final = (
    "Do not use these rows; what was spent stays spent, and a new order is a new charge. The usual cause is noise larger than the counts of "
    "so few records: order with a larger epsilon, or declare fewer columns and codes (wider bins, rare categories joined), or a table of more "
    'records. If the options of this order have "anchor": false, "ablations" or few steps, leave those out: they take the noisy counts away.'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratorCheck(Value):
    """The findings of the check.

    Attributes:
        distinct_records: Number of distinct ones among them.
        constant_columns: Columns with one value in (nearly) all draws, but not in the reference distribution.
        repeated_labels: Labels whose records are (nearly) all equal.
        few_records: Whether there are far fewer distinct records than combinations in the reference distribution.
    """

    UNREADABLE = InvalidCertificate, "the check of the generator lacks a member or has a wrong one"

    draws: Count
    distinct_records: Count
    constant_columns: Annotated[tuple[Name, ...], Field(max_length=2**16)] = ()
    repeated_labels: Annotated[tuple[str, ...], Field(max_length=2**15)] = ()
    few_records: bool = False

    @derived
    def degenerate(self) -> bool:
        """Whether anything was found."""
        return bool(self.constant_columns or self.repeated_labels or self.few_records)

    @property
    def detail(self) -> str:
        """The findings in sentences; public."""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield "The generator is degenerate."
        if self.few_records or self.distinct_records * _REPEATS < self.draws:
            yield f"Its {self.draws:,} draws hold {self.distinct_records:,} different records."
        if self.constant_columns:
            yield (
                f"Columns with nearly always the same value in its {self.draws:,} draws, where the noisy counts have several values or"
                f" cannot tell: {_listed(self.constant_columns)}."
            )
        if self.repeated_labels:
            yield f"Labels with nearly always the same record: {_listed(self.repeated_labels)}."

    @classmethod
    def of_certificate(cls, certificate: Mapping[str, Any]) -> Self | None:
        """The finding that a certificate states; None if it is older than the check."""
        stated = certificate.get(MEMBER)
        return None if stated is None else cls.from_json(stated)


def _listed(names: tuple[str, ...]) -> str:
    few = ", ".join(f"'{name}'" for name in names[:_NAMED])
    return few if len(names) <= _NAMED else f"{few} and {len(names) - _NAMED} more"
