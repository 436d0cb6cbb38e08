"""Noisy two-way counts shrunk towards those of the trained generator. Post-processing of a release, free of charge.

Early stopping ends before the generator has learnt everything that the counts show. Empirical Bayes (Efron and Morris 1973) takes the
generator's own share `b` of a cell as the prior mean of the true share, with prior variance `t b`. By the method of moments over the
cells of one pair of columns, with noisy shares `y` of noise variance `s^2`,

    t = max(0, sum((y - b)^2 - s^2) / sum(b))

and the posterior mean is `b + (y - b) t b / (t b + s^2)`. A pair whose departures noise explains keeps the generator's shares.
"""

import itertools
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from models.anchor import MomentLayout
from models.idpgan.targets import MomentTargets

_LEAST_SUM = 1e-12

Floats = npt.NDArray[np.float64]


def shrink(targets: MomentTargets, made: Floats, layout: MomentLayout) -> MomentTargets:
    """Shrink the noisy shares of all pairs towards the generator's.

    Args:
        targets: noisy.
        made: (slices, cells, cells) two-way shares of the generator.
        layout: of both.
    """
    pairs = targets.pairs.copy()
    for block, other in itertools.combinations(layout.blocks, 2):
        noise = targets.pair_std[block.start, other.start] ** 2
        for index, prior in enumerate(np.maximum(made[:, block, other], 0.0)):
            departure = targets.pairs[index, block, other] - prior
            excess = float((departure**2 - noise).sum())
            variance = max(0.0, excess) / max(float(prior.sum()), _LEAST_SUM) * prior
            pairs[index, block, other] = prior + departure * variance / (variance + noise)
            pairs[index, other, block] = pairs[index, block, other].T
    return replace(targets, pairs=pairs)
