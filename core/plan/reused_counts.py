"""Reused counts: noisy counts of earlier releases of the same rows, which are public and cost nothing.

Counts are combined with the plan's own by inverse variance. The noise of the result depends only on public
facts, which are part of the plan: the bundles, and the noise multiplier of the counts in each.
`core.plan.reuse_rules` chooses the counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import Field

from core.plan.stages import AnchorPlan
from core.values import Count, Digest, Identifier, OrFalse, Positive


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedTables:
    """Pairs of columns of an earlier release, which the plan counts in the same groups of codes, or all combinations of codes."""

    noise_multiplier: Positive
    most_groups: Count
    """Maximum number of groups of a column when they were counted."""
    by_class: bool
    """Whether they are counted by class of the target."""
    screened: bool
    """Whether a screening chose them (`counts.bin` of the release lists the pairs); otherwise they are all
    pairs."""
    combinations: OrFalse = False
    """Whether all combinations of codes are counted instead of pairs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReusedCounts:
    """The counts of one earlier release."""

    release_id: Identifier
    counts_sha256: Digest
    """SHA-256 of `counts.bin` in its bundle."""
    holds: Annotated[tuple[Identifier, ...], Field(max_length=10_000)]
    """Earlier releases whose counts are already included, sorted: none may be used twice."""
    columns_noise_multiplier: Positive
    """Noise multiplier of the one-way counts, including the releases above."""
    tables: ReusedTables | None
    """None if its tables have other pairs or groups and only its one-way counts are reused."""

    @property
    def releases(self) -> frozenset[str]:
        """Every release whose counts are included."""
        return frozenset((self.release_id, *self.holds))


def combined_anchor(anchor: AnchorPlan, reused: Sequence[ReusedCounts]) -> AnchorPlan:
    """Return the anchor whose counts alone would have the noise of all counts combined.

    Precisions add up, separately for columns and for tables: `1 / m^2 = 1 / m_own^2 + sum 1 / m_i^2` with
    noise multipliers `m`, noise over the sensitivity of the round. A release with a screening has less
    sensitivity left for its tables.

    Args:
        anchor: of the plan, with two rounds.
    """
    if not reused:
        return anchor
    columns = _together(
        anchor.noise_std / anchor.column_sensitivity, [one.columns_noise_multiplier for one in reused]
    )
    if not anchor.table_sensitivity:  # a single column has no pairs
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
