"""What a plan takes over from earlier releases of the same rows: their noisy counts, which are public and cost nothing.

Counts are combined with the plan's own by inverse variance. All that the noise of the result depends on is public, so it stands
in the plan: which bundles, and the noise multiplier of the counts in each. Which counts are taken is chosen by
`core.synthesis.reusing`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from core.synthesis.stages import AnchorPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedTables:
    """Pairs of columns of an earlier release, which the plan counts in the same groups of codes."""

    noise_multiplier: float
    most_groups: int
    """How many groups a column got at most when they were made."""
    by_class: bool
    """Whether they are counted by class of the target."""
    screened: bool
    """Whether a screening chose them: the pairs that `counts.bin` of the release lists; else they are all pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedCounts:
    """The counts of one earlier release."""

    release_id: str
    counts_sha256: str
    """Of `counts.bin` in its bundle."""
    holds: tuple[str, ...]
    """Releases before it whose counts are in these already, sorted: none is taken twice."""
    columns_noise_multiplier: float
    """Noise of the counts of columns, those that it holds included."""
    tables: ReusedTables | None
    """None where its tables are of other pairs or other groups and only its columns are taken."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self) | {"holds": list(self.holds)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote.

        Raises:
            KeyError, TypeError, ValueError: it is anything else.
        """
        tables = document["tables"]
        return cls(
            release_id=str(document["release_id"]),
            counts_sha256=str(document["counts_sha256"]),
            holds=tuple(map(str, document["holds"])),
            columns_noise_multiplier=float(document["columns_noise_multiplier"]),
            tables=None if tables is None else ReusedTables(**tables),
        )

    @property
    def releases(self) -> frozenset[str]:
        """Every release whose counts these are of."""
        return frozenset((self.release_id, *self.holds))


def combined_anchor(anchor: AnchorPlan, reused: Sequence[ReusedCounts]) -> AnchorPlan:
    """Return the anchor whose counts alone would have the noise that all counts together have.

    Precisions add up, of columns and of tables by themselves: `1 / m^2 = 1 / m_own^2 + sum 1 / m_i^2` with noise multipliers
    `m`, the noise over the sensitivity of the round. A screening in a release left its tables the less.

    Args:
        anchor: of the plan, of two rounds.
        reused: what is combined with it.
    """
    if not reused:
        return anchor
    columns = _together(
        anchor.noise_std / anchor.column_sensitivity, [one.columns_noise_multiplier for one in reused]
    )
    if not anchor.table_sensitivity:  # of one column, which is in no pair
        noise_std = columns * anchor.column_sensitivity
        return replace(anchor, noise_multiplier=noise_std / anchor.sensitivity)
    tables = [one.tables.noise_multiplier for one in reused if one.tables is not None]
    noise_std = _together(anchor.noise_std / anchor.table_sensitivity, tables) * anchor.table_sensitivity
    return replace(
        anchor,
        noise_multiplier=noise_std / anchor.sensitivity,
        column_sensitivity=noise_std / columns,
    )


def _together(own: float, others: Sequence[float]) -> float:
    return 1.0 / math.sqrt(math.fsum(1.0 / noise**2 for noise in (own, *others)))
