"""Listeners of the adversary: one writes down what a job releases, one finds out what a job would have noised.

The adversary knows everything but whether the canary is in the table: the other records, the code, and all randomness
except the noise and the canary's coin. From the releases of a job it can therefore follow the critic's weights and work
out, step by step, what either table would have contributed. Here it does so by running the real loop once more on each
table with the releases of the audited job put in place; the audited job itself is only read.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.encoding import PrivateTable
from models.randomness import Purpose
from models.tables.anchor import FIRST_ROUND, SECOND_ROUND, MomentLayout
from models.tables.measurement.second_round import groups_of, layout_of

Name = tuple[int, int]
"""Purpose and step."""
Parts = Iterable[tuple[Tensor, float]]
Means = dict[Name, list[tuple[Tensor, float]]]
"""What is noised, with the standard deviation of its noise by the claim."""


@dataclass
class Transcript:
    """Reads what an audited job releases, and never changes it.

    Args:
        released: by purpose and step; of a release that happens several times, every one.
        means: what the job noised. The adversary would find the same by running the job's own table again (a test
            shows it), so that run is spared; where it runs a table again, see `Expected`.
    """

    released: dict[Name, list[tuple[Tensor, ...]]] = field(default_factory=dict)
    means: Means = field(default_factory=dict)

    def exact(self, purpose: int, step: int, parts: Parts, *, sensitivity: float) -> None:
        self.means[int(purpose), step] = [(values.double().clone(), std) for values, std in parts]

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        copies = tuple(each.clone() for each in released)
        self.released.setdefault((int(purpose), step), []).append(copies)


@dataclass
class Expected:
    """Follows a transcript on a table of the adversary's choice, and keeps what would have been noised.

    Args:
        transcript: what the audited job released.
        means: what would have been noised.
    """

    transcript: Transcript
    means: Means = field(default_factory=dict)

    def exact(self, purpose: int, step: int, parts: Parts, *, sensitivity: float) -> None:
        self.means[int(purpose), step] = [(values.double().clone(), std) for values, std in parts]

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        for each, heard in zip(released, self.transcript.released[int(purpose), step][-1], strict=True):
            each.copy_(heard)


def layout_heard(transcript: Transcript, table: PrivateTable, plan: Plan) -> MomentLayout | None:
    """Which tables the anchor's second round counted, by what the first released; None without a second round.

    Args:
        transcript: of a job.
        table: whose public facts are read.
        plan: of the job.
    """
    if (int(Purpose.ANCHOR_NOISE), SECOND_ROUND) not in transcript.released:
        return None
    columns = transcript.released[int(Purpose.ANCHOR_NOISE), FIRST_ROUND][-1]
    return layout_of(groups_of([counts.numpy() for counts in columns], table, plan), table, plan)


def summed(name: Name, released: tuple[Tensor, ...], plan: Plan, layout: MomentLayout | None) -> Tensor:
    """A release as one flat vector in the units of what was noised.

    Gradients are released as means over the public batch size; of the anchor's pairs the weighted upper triangle was noised, and
    its counts of columns by class in units of their noise.
    """
    purpose, step = name
    if purpose == Purpose.GRADIENT_NOISE:
        return released[0].double() * plan.expected_batch_size
    if (purpose, step) == (Purpose.ANCHOR_NOISE, FIRST_ROUND):
        return torch.cat(released)
    if purpose == Purpose.ANCHOR_NOISE:
        assert isinstance(plan.anchor, AnchorPlan)
        assert layout is not None
        if layout.combinations:
            return released[0].double().reshape(-1)
        pairs, ones = released
        if layout.by_class:
            ones = ones * torch.from_numpy(layout.one_weights) / plan.anchor.noise_std
        upper = torch.triu(pairs * torch.from_numpy(layout.pair_weights))
        return torch.cat([upper.reshape(-1), ones.reshape(-1)])
    return released[0].double().reshape(-1)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One release as the adversary sees it, whitened by the claimed noise.

    Args:
        projection: of (release - what the table without the canary gives) on what the canary adds.
        squared: squared norm of what the canary adds.
    """

    projection: float
    squared: float

    @property
    def log_ratio(self) -> float:
        """Logarithm of the likelihood ratio of "present" to "absent", if the release saw the canary for certain."""
        return self.projection - self.squared / 2.0


def evidence(
    released: Tensor, without: list[tuple[Tensor, float]], with_canary: list[tuple[Tensor, float]]
) -> Evidence:
    """Whiten and project one release; `released` is flat, in the order of the parts."""
    projection, squared, first = 0.0, 0.0, 0
    for (low, std), (high, _) in zip(without, with_canary, strict=True):
        part = released[first : first + low.numel()].reshape(low.shape)
        first += low.numel()
        shift = (high - low) / std
        projection += float(((part - low) / std * shift).sum())
        squared += float(shift.square().sum())
    assert first == released.numel(), "every released number belongs to a part"
    assert math.isfinite(projection)
    return Evidence(projection, squared)
