"""The moments of all records released before training, recomputed from guarantee and options alone.

A table's anchor has two Gaussians, one per round (one Gaussian in older plans, which had no rounds). An anchor of images has five kinds of
Gaussians (four in older plans, without the brightness) whose inverse squared multipliers add up to that of the anchor's share. A graphical model's anchor has three kinds
(`understudy.verifying.marginals`).
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from understudy.verifying import marginals
from understudy.verifying.calibrated import anchor_noise
from understudy.verifying.closeness import close
from understudy.verifying.records import Described

Json = Mapping[str, Any]
_TABLE_GRID: Final = 2.0**-20
_IMAGE_GRID: Final = 2.0**-20
_COUNT_WEIGHT, _MOMENT_COUNT_WEIGHT, _SPREAD_WEIGHT = 0.3, 0.5, 0.3
"""Public weights of counts and of squared distances, relative to the values released with them, in the anchor of images."""
_BRIGHTNESS_REACH: Final = 0.5
"""The most by which an image's brightness differs from 1/2."""
_ROUNDED_UP: Final = 1e-5
"""Relative tolerance of multipliers, which have six digits, rounded up."""


def anchor_releases(anchor: Json | None) -> list[tuple[str, int, float, float]]:
    """Releases of an anchor, in order: name, number of runs, sensitivity, noise multiplier."""
    if anchor is None:
        return []
    if marginals.is_of_marginals(anchor):
        return marginals.releases(anchor)
    if not is_of_images(anchor):
        if not has_rounds(anchor):
            return [("anchor", 1, anchor["sensitivity"], anchor["noise_multiplier"])]
        std = anchor["noise_multiplier"] * anchor["sensitivity"]
        rounds = {
            "anchor-columns": anchor["column_sensitivity"],
            "anchor-screening": screening_sensitivity(anchor),
            "anchor-tables": _table_sensitivity(anchor),
        }
        return [(name, 1, size, std / size) for name, size in rounds.items() if size]
    with_counts = math.hypot(1.0, _COUNT_WEIGHT)
    moments = (1 + _MOMENT_COUNT_WEIGHT**2) * math.hypot(1.0, _SPREAD_WEIGHT)
    sensitivities = {
        "brightness": _BRIGHTNESS_REACH * with_counts,
        "means": anchor["image_norm"] * with_counts,
        "basis": anchor["residual_norm"] ** 2,
        "cells": anchor["residual_norm"] * with_counts,
        "moments": anchor["cell_norm"] ** 2 * moments,
    }
    times = {
        "brightness": int("brightness_noise_multiplier" in anchor),
        "means": 1,
        "basis": 1,
        "cells": anchor["rounds"],
        "moments": 1,
    }
    return [
        (f"anchor-{name}", times[name], sensitivity, anchor[f"{name}_noise_multiplier"])
        for name, sensitivity in sensitivities.items()
        if times[name]
    ]


def anchor_noises(anchor: Json | None) -> list[float]:
    """The noise multiplier of every release of an anchor, in order of execution."""
    if anchor is not None and marginals.is_of_marginals(anchor):
        return marginals.noises(anchor)
    return [noise for _name, times, _sensitivity, noise in anchor_releases(anchor) for _ in range(times)]


def anchor_count(anchor: Json | None) -> int:
    """Number of releases of an anchor."""
    return sum(times for _name, times, _sensitivity, _noise in anchor_releases(anchor))


def anchor_grid(anchor: Json | None) -> float | None:
    """The coarsest grid for rounding the sums of an anchor."""
    if anchor is None:
        return None
    return _IMAGE_GRID if is_of_images(anchor) else _TABLE_GRID


def anchor_problems(
    anchor: Json | None,
    options: Json,
    guarantee: Json,
    records: Described,
    *,
    most_records: int,
    rest: float = 1.0,
) -> Iterator[str]:
    """Report an anchor that does not follow from options, guarantee, the records' shape and the bound on a unit's records.

    Args:
        guarantee: the guarantee, with the delta left by thresholds.
        records: the manifest's description of the records.
        most_records: number of a unit's records that count fully.
        rest: share of squared mu left by learning the domain.
    """
    if anchor is None:
        return
    noise = anchor_noise(guarantee["epsilon"], guarantee["delta"], share=options["anchor_share"] * rest)
    if is_of_images(anchor) != (records.image_outputs is not None):
        yield "plan/anchor: of another kind of records"
        return
    if is_of_images(anchor):
        squares = math.fsum(times * each**-2 for _name, times, _sensitivity, each in anchor_releases(anchor))
        rules = {
            "noise multipliers": close(squares**-0.5, noise, tolerance=_ROUNDED_UP),
            "rounds": (anchor["rounds"] > 0)
            == (anchor["cells"] > 1)
            == (anchor["cells_noise_multiplier"] > 0),
        }
    else:
        weight, columns = anchor["diagonal_weight"], len(records.cardinalities)
        of_pairs = most_records**2 * columns * (columns - 1) / 2
        squared = most_records**2 * weight**2 * columns + of_pairs
        of_screening = min(options.get("anchor_screening_share", 0.0) * squared, of_pairs / 2)
        rules = {
            "diagonal_weight": weight == options["anchor_diagonal_weight"],
            "sensitivity": close(anchor["sensitivity"], math.sqrt(squared)),
            "column_sensitivity": not has_rounds(anchor)
            or close(anchor["column_sensitivity"], most_records * weight * math.sqrt(columns)),
            "table_sensitivity": close(
                _table_sensitivity(anchor), math.sqrt(of_pairs - of_screening) if has_rounds(anchor) else 0.0
            ),
            "screening_sensitivity": close(screening_sensitivity(anchor), math.sqrt(of_screening)),
            "combinations": not (counts_combinations(anchor) and of_screening),
            "noise_multiplier": close(anchor["noise_multiplier"], noise, tolerance=_ROUNDED_UP),
        }
    yield from (f"plan/anchor/{name}" for name, holds in rules.items() if not holds)


def has_rounds(anchor: Json) -> bool:
    """Whether a table's anchor counts columns first and groups of their codes second."""
    return bool(anchor.get("column_sensitivity", 0.0) > 0)


def screening_sensitivity(anchor: Json) -> float:
    """Sensitivity of the pairs' distances from independence; 0 if every pair is counted."""
    return float(anchor.get("screening_sensitivity", 0.0))


def counts_combinations(anchor: Json) -> bool:
    """Whether the second round counts all combinations of codes instead of pairs."""
    return bool(anchor.get("combinations", False))


def _table_sensitivity(anchor: Json) -> float:
    return float(anchor.get("table_sensitivity", 0.0))


def is_of_images(anchor: Json) -> bool:
    """Whether an anchor is of images."""
    return "means_noise_multiplier" in anchor
