"""The distinguishing game: a real job runs with or without a canary, and an adversary who reads its releases scores it.

The score is the Neyman-Pearson test of the mechanism as claimed, so a sound implementation reaches the claim and a
broken one exceeds it. Keys are independent: every run is a fresh job.
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from core.dp.mechanism import Gaussian, Leaf, PoissonSampled, leaves
from core.plan.plan import Plan
from models.encoding import PrivateTable
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams, Purpose
from models.releases import ReleaseRecorder
from models.synthesizer import NullHost
from tests.audits.bounds import Floats
from tests.audits.transcript import (
    Evidence,
    Expected,
    Means,
    Name,
    Transcript,
    evidence,
    layout_heard,
    summed,
)

SAMPLED = (Purpose.GRADIENT_NOISE, Purpose.ACTS_NOISE)
"""Releases made on the Poisson sample of their step; the others see every unit."""

Job = Callable[[PrivateTable, Plan, bytes, ReleaseRecorder], None]
"""Runs a job with a key while somebody listens."""


def train(table: PrivateTable, plan: Plan, key: bytes, releases: ReleaseRecorder) -> None:
    """The product's own job: label histogram or anchor, then every training step."""
    IdpganSynthesizer().fit(table, plan, KeyedStreams(key, releases=releases), NullHost())


@dataclass(frozen=True, kw_only=True)
class Game:
    """Two neighbouring tables and a plan.

    Args:
        name: of the audit; part of every key.
        without: the table without the canary.
        with_canary: the same table and, as its last unit, the canary.
        plan: what both jobs claim.
        audited: the job under audit.
        sound: the job as the adversary runs it again.
    """

    name: str
    without: PrivateTable
    with_canary: PrivateTable
    plan: Plan
    audited: Job = train
    sound: Job = train

    @property
    def claimed_mu(self) -> float:
        """`sqrt(sum 1 / sigma_eff^2)` over everything released, for plans in which every unit is always sampled."""
        return claimed_mu(self.plan)

    def play(self, number: int, *, present: bool) -> tuple[float, float]:
        """The score of one fresh job, and the norm of what the canary adds to it, in units of noise.

        Without sampling the score is the projection of all releases on what the canary adds, over its norm and with
        the middle of the two worlds at zero: Gaussian, `-mu/2` or `mu/2`, standard deviation one. With sampling it is
        the logarithm of the likelihood ratio.
        """
        key = self.key(number, present=present)
        heard = Transcript()
        self.audited(self.with_canary if present else self.without, self.plan, key, heard)
        certain = self.plan.sampling_rate == 1.0
        low = heard.means if not present else self.expected(heard, key, present=False)
        high = heard.means if present and certain else self.expected(heard, key, present=True)
        layout = layout_heard(heard, self.without, self.plan)
        met = {
            name: evidence(
                torch.stack([summed(name, each, self.plan, layout) for each in attempts]).mean(dim=0),
                low[name],
                high[name],
            )
            for name, attempts in heard.released.items()
        }
        norm = math.sqrt(math.fsum(each.squared for each in met.values()))
        if not certain:
            return _sampled_log_ratio(met, self.plan.sampling_rate), norm
        return math.fsum(each.log_ratio for each in met.values()) / norm, norm

    def key(self, number: int, *, present: bool) -> bytes:
        """The key of one job."""
        return hashlib.sha256(f"{self.name}/{number}/{present}".encode()).digest()

    def expected(self, heard: Transcript, key: bytes, *, present: bool) -> Means:
        """The adversary runs a table along what it heard; the canary, if present, is sampled in every step."""
        along = Expected(heard)
        if present:
            self.sound(self.with_canary, replace(self.plan, sampling_rate=1.0), key, along)
        else:
            self.sound(self.without, self.plan, key, along)
        return along.means

    def scores(self, numbers: Sequence[int], *, present: bool) -> Floats:
        """Scores of many fresh jobs."""
        return np.array([self.play(number, present=present)[0] for number in numbers])


def _sampled_log_ratio(met: dict[Name, Evidence], rate: float) -> float:
    """Sum over steps of `log(1 - q + q exp(l))`, where l is the step's log ratio with the canary in the sample."""
    total = math.fsum(each.log_ratio for (purpose, _), each in met.items() if purpose not in SAMPLED)
    by_step: dict[int, float] = {}
    for (purpose, step), each in met.items():
        if purpose in SAMPLED:
            by_step[step] = by_step.get(step, 0.0) + each.log_ratio
    return total + math.fsum(
        float(np.logaddexp(math.log1p(-rate), math.log(rate) + ratio)) for ratio in by_step.values()
    )


def claimed_mu(plan: Plan) -> float:
    """`sqrt(sum 1 / sigma_eff^2)` of a plan whose mechanisms are Gaussian and see every unit."""
    return math.sqrt(
        math.fsum(count / _multiplier(leaf) ** 2 for leaf, count in leaves(plan.mechanism).items())
    )


def _multiplier(leaf: Leaf) -> float:
    if isinstance(leaf, PoissonSampled):
        assert leaf.sampling_rate == 1.0, "mu is claimed only where every unit is sampled"
        return leaf.mechanism.noise_multiplier
    assert isinstance(leaf, Gaussian)
    return leaf.noise_multiplier
