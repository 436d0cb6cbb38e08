"""From noisy marginals to a graphical model: one table for every marginal, their total, the fit. Post-processing.

mbi and JAX are imported only when a model is fitted.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from core.plan.graphical import Clique
from models.graphical.ancestral import Conditional, conditionals
from models.graphical.measuring import Marginals
from models.simplex import project_to_simplex

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
ROUND_STEPS, ROUND_TOLERANCE = 1000, 1e-4
"""Steps of a fit between rounds at most, and the share of the loss that 50 of them gain at least."""
LAST_STEPS, LAST_TOLERANCE = 3000, 1e-6
"""Likewise of the fit that is released."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Combined:
    """Everything that was measured, one entry a marginal; repeated ones are averaged by precision.

    Args:
        tables: counts in records and the standard deviation of their noise, by columns.
        total: estimate of the number of units, at least one.
    """

    tables: dict[Clique, tuple[Floats, float]]
    total: float


def combined(measured: Sequence[Marginals]) -> Combined:
    """Average what was measured more than once, and estimate the total from the one-way counts.

    Args:
        measured: the one-way counts first, then what the rounds measured.
    """
    sums: dict[Clique, Floats] = {}
    precisions: dict[Clique, float] = {}
    for marginals in measured:
        for clique, counts in marginals.tables.items():
            precision = marginals.noise_std**-2
            sums[clique] = sums.get(clique, np.zeros_like(counts)) + counts * precision
            precisions[clique] = precisions.get(clique, 0.0) + precision
    columns = measured[0].tables.values()
    # Every column's counts sum to the number of units; the variance of such a sum grows with its cells.
    weights = np.array([1.0 / counts.size for counts in columns])
    total = float(np.dot(weights, [counts.sum() for counts in columns]) / weights.sum())
    return Combined(
        tables={
            clique: (sums[clique] / precision, precision**-0.5) for clique, precision in precisions.items()
        },
        total=max(total, 1.0),
    )


def independent_counts(one_way: Combined, cliques: Sequence[Clique]) -> dict[Clique, Floats]:
    """Counts of marginals if columns were independent: the model before the first round."""
    distributions = {
        clique[0]: nearest_distribution(counts, one_way.total)
        for clique, (counts, _) in one_way.tables.items()
    }
    found: dict[Clique, Floats] = {}
    for clique in cliques:
        distribution = distributions[clique[0]]
        for column in clique[1:]:
            distribution = distribution[..., None] * distributions[column]
        found[clique] = distribution * one_way.total
    return found


def nearest_distribution(counts: Floats, total: float) -> Floats:
    """The distribution whose counts are closest to noisy ones by least squares (projection onto the simplex).

    Args:
        counts: (codes,) noisy.
        total: that the distribution's counts sum to; positive.
    """
    nearest = project_to_simplex(counts, total=total)
    distribution: Floats = nearest / nearest.sum()
    return distribution


class Model:
    """A fitted graphical model.

    Args:
        fitted: what mbi fitted.
    """

    def __init__(self, fitted: Any) -> None:  # noqa: ANN401 - models.graphical.model.Fitted, which imports JAX
        self._fitted = fitted

    def counts(self, cliques: Sequence[Clique]) -> dict[Clique, Floats]:
        """Expected counts of marginals, never negative."""
        return {clique: np.maximum(self._fitted.counts(clique), 0.0) for clique in cliques}

    def distributions(self, cardinalities: Sequence[int], target_index: int | None) -> list[Conditional]:
        """The distributions of all columns in an order of ancestral sampling."""
        nodes, edges = self._fitted.junction_tree
        return conditionals(nodes, edges, cardinalities, target_index)


def fitted_model(
    measured: Combined,
    cardinalities: Sequence[int],
    *,
    forbidden: Mapping[Clique, Flags],
    before: Model | None,
    last: bool,
) -> Model:
    """Fit the model of largest entropy to noisy marginals by least squares, on one core in float64.

    Args:
        measured: at least the counts of every column.
        forbidden: by two columns, (codes, codes) the cells that are empty in the model.
        before: a model to start from.
        last: whether it is the one that is released.
    """
    with repeatable_jax():
        import mbi

        from models.graphical.model import fit

        found = fit(
            [
                mbi.LinearMeasurement(counts.ravel(), clique, stddev=std)
                for clique, (counts, std) in measured.tables.items()
            ],
            cardinalities,
            total=measured.total,
            forbidden=forbidden,
            before=None if before is None else before._fitted,  # noqa: SLF001 - the same class
            steps=LAST_STEPS if last else ROUND_STEPS,
            tolerance=LAST_TOLERANCE if last else ROUND_TOLERANCE,
        )
    return Model(found)


@contextmanager
def repeatable_jax() -> Iterator[None]:
    """Run JAX in float64 on the CPU, with sums that do not depend on the number of threads.

    The settings of a caller of the local library are restored afterwards. No compiled code is written to disk.
    """
    # JAX reads these at its first computation; if it has computed before, its settings stay.
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")
    import jax

    wanted = {"jax_enable_x64": True, "jax_enable_compilation_cache": False}
    before = {name: getattr(jax.config, name) for name in wanted}
    for name, value in wanted.items():
        jax.config.update(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
