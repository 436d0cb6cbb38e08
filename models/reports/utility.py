"""The errors of a release against its dataset, measured once with noise (docs/mechanisms/utility-report.md).

Every term is a sum over units of numbers in [-1, 1], so a unit more or less moves it by one record at most:

    column, pair   sum over cells of |private count - declared size times the release's share|
    score          records that the public classifier gets right, less those that it gets wrong

A unit with `m` records brings `floor(2^20 / m) / 2^20` of each of them, together at most one record, however many they
are. The release's shares times the declared size are rounded to the public grid 2^-20, so every exact term is an integer
on it, whatever the order of the records; the noise is rounded to the same grid. The denominator is the declared size. The
squared sensitivity of all terms, each in units of its noise, is the sum of 1 / std^2.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from core.plan.utility_reports.plan import ReportPlan
from models.dp.count_noise import GRID, on_grid, without_low_bits
from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.reports.public_side import Counts, PublicSide
from models.reports.records import Records

_WHOLE: Final = 2**20
KINDS: Final = ("columns", "pairs", "score")

Terms = Mapping[str, npt.NDArray[np.float64]]
"""The terms of every kind in the plan, in records."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """Weight of every record, in units of the grid.

    Args:
        of_record: (records,) float64, integers.
    """

    of_record: npt.NDArray[np.float64]

    @classmethod
    def by_unit(cls, unit_of_record: npt.NDArray[np.int64]) -> "Shares":
        """At most the average of a unit's records, so that a unit counts one at most."""
        if not len(unit_of_record):
            return cls(of_record=np.zeros(0))
        records = np.bincount(unit_of_record)[unit_of_record]
        return cls(of_record=np.floor(_WHOLE / records))

    def counted(self, cells: npt.NDArray[np.integer], size: int) -> npt.NDArray[np.float64]:
        """The private counts of cells: sums of integers below 2^53, so exact in any order."""
        counts: npt.NDArray[np.float64] = np.bincount(cells, weights=self.of_record, minlength=size).astype(
            np.float64
        )
        return counts


def exact_terms(private: PrivateTable | PrivateImages, public: PublicSide, declared_size: int) -> Terms:
    """All terms of a dataset, exact on the grid. Private: nothing may read them but `noisy_terms`."""
    shares, records = Shares.by_unit(private.unit_of_record), Records.of(private)
    binned = public.binned(records.codes)
    columns = [
        _distance(shares.counted(records.codes[:, column], len(counts)), counts, declared_size)
        for column, counts in zip(public.measured, public.marginals, strict=True)
    ]
    pairs: list[float] = []
    for first, second in public.pairs:
        counts = public.pair_counts(first, second)
        cells = binned[first] * (int(public.bins[second].max()) + 1) + binned[second]
        pairs.append(_distance(shares.counted(cells, len(counts)), counts, declared_size))
    terms = {"columns": np.array(columns), "pairs": np.array(pairs)}
    if public.target is not None:
        signs = np.where(public.right(records), 1.0, -1.0)
        terms["score"] = np.array([float((shares.of_record * signs).sum()) * GRID])
    return {kind: values for kind, values in terms.items() if len(values)}


def _distance(counts: npt.NDArray[np.float64], synthetic: Counts, declared_size: int) -> float:
    """Sum of absolute differences of counts in units of the grid; the result in records."""
    whole = int(synthetic.sum())
    expected = np.array(
        [declared_size * _WHOLE * int(count) // whole for count in synthetic], dtype=np.float64
    )
    return float(np.abs(counts - expected).sum()) * GRID


def noisy_terms(
    private: PrivateTable | PrivateImages, public: PublicSide, plan: ReportPlan, streams: KeyedStreams
) -> Terms:
    """Release all terms once: the only place where a report reads private records.

    Raises:
        ValueError: the plan is for other terms.
    """
    return with_noise(exact_terms(private, public, plan.declared_size), plan, streams)


def with_noise(exact: Terms, plan: ReportPlan, streams: KeyedStreams) -> Terms:
    """Release exact, private terms once.

    Raises:
        ValueError: the plan is for other terms.
    """
    stds = plan.noise_stds
    if {kind: len(values) for kind, values in exact.items()} != plan.terms:
        raise ValueError("the plan is for other terms than these")
    streams.releases.exact(
        Purpose.REPORT_NOISE,
        0,
        ((torch.from_numpy(values), stds[kind]) for kind, values in exact.items()),
        sensitivity=sensitivity({kind: len(values) for kind, values in exact.items()}, stds),
    )
    noisy = {
        kind: exact[kind]
        + on_grid(streams.normals(Purpose.REPORT_NOISE, KINDS.index(kind), len(exact[kind])) * stds[kind])
        for kind in exact
    }
    noisy = {kind: without_low_bits(values, stds[kind]) for kind, values in noisy.items()}
    streams.releases.noisy(Purpose.REPORT_NOISE, 0, *(torch.from_numpy(values) for values in noisy.values()))
    return noisy


def sensitivity(terms: Mapping[str, int], stds: Mapping[str, float]) -> float:
    """L2 sensitivity of all terms, each in units of its noise: one unit moves every term by at most one record."""
    return math.sqrt(math.fsum(count / stds[kind] ** 2 for kind, count in terms.items()))
