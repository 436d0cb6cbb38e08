"""The rows of the ablation table, the budgets they run at, and which rows are compared for which strategy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.plan.defaults import CLIPPING_NORM
from core.plan.options import ABLATIONS

FIXED_NORM = 1.0
"""Clipping norm of the rows without ACTS: the first threshold of those with it, so that both start alike."""
PLAIN = "plain"
"""The row that stands against all strategies: what the public rule does, one tiny norm, constant noise, Adam."""

ROWS: dict[str, dict[str, Any]] = {
    **{name: row if row["acts"] else row | {"clipping_norm": FIXED_NORM} for name, row in ABLATIONS.items()},
    PLAIN: {"anchor": False, "schedule": "constant", "acts": False, "weight_clusters": False, "clipping_norm": CLIPPING_NORM},
}  # fmt: skip
"""Options of every row, without the anchor."""

EFFECTS: dict[str, tuple[tuple[str, str], ...]] = {
    "DPBA": (("dpba", "dpgan"), ("dpba+acts", "acts"), ("dpba+acts+wc", "acts+wc")),
    "ACTS": (("acts", "dpgan"), ("dpba+acts", "dpba")),
    "WC": (("acts+wc", "acts"), ("dpba+acts+wc", "dpba+acts")),
    "all three": (("dpba+acts+wc", "dpgan"),),
    "tiny norm": ((PLAIN, "dpgan"),),
    "all three, against the tiny norm": (("dpba+acts+wc", PLAIN),),
}
"""Pairs (with, without) of rows that differ by one strategy and what it needs: ACTS groups by layers, WC by blocks of rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The settings that all rows of one part of the table share.

    Args:
        dataset: name of a table or of a set of images.
        epsilon: target.
        delta: target.
        anchor: whether the moment anchor runs too, with its share by the public rule.
        made: synthetic rows or images that are scored.
        options: the same for every row: steps, batch, pace.
    """

    dataset: str
    epsilon: float
    delta: float
    made: int
    anchor: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the row in results and tables."""
        return f"{self.dataset} epsilon {self.epsilon:g} {'with anchor' if self.anchor else 'critic only'}"

    @property
    def is_images(self) -> bool:
        """Whether the records are images."""
        return self.dataset not in {"adult", "poker"}

    def options_of(self, row: str) -> dict[str, Any]:
        """Everything that a run of this row asks for."""
        return ROWS[row] | {"anchor": self.anchor} | dict(self.options)


_SMALL = {"steps": 200, "expected_batch_size": 512}
_LARGER = {"steps": 1000, "expected_batch_size": 814}
_IMAGES = {
    "steps": 400,
    "expected_batch_size": 200,
    "critic_steps": 1,
    "generator_width": 16,
    "generator_batch_size": 64,
}

BUDGETS: tuple[Budget, ...] = (
    Budget(dataset="adult", epsilon=1.0, delta=1e-6, made=20_000, options=_SMALL),
    Budget(dataset="poker", epsilon=15.0, delta=1e-6, made=20_000, options=_SMALL),
    Budget(dataset="poker", epsilon=10.0, delta=1e-6, made=20_000, options=_SMALL | {"steps": 2000}),
    Budget(dataset="mnist", epsilon=4.0, delta=1e-5, made=10_000, options=_IMAGES),
    Budget(dataset="adult", epsilon=10.0, delta=1e-6, made=20_000, options=_LARGER),
    Budget(dataset="faces", epsilon=10.0, delta=1e-5, made=10_000, options=_IMAGES),
)
"""The parts of the table, in the order in which they run: what fits one busy core. Everything unsaid is the public rule's."""
