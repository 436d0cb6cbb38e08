"""A full-size job with a thousand canaries, read from inside.

The canaries are records drawn uniformly from the declared domain, unlike anything in the table and nearly orthogonal to
each other. The adversary knows everything - every other record and its coins, the weights of every step, all
randomness but the noise - except which canaries are in the table and when they are sampled.

What the job releases is then linear in the canaries' inclusions `b`, in units of noise: `J (b - 1/2)` plus Gaussian
noise of covariance `J`, with `J` the sum of the Gram matrices of what the canaries add (times `q^2` for sampled steps).
The linear estimate of least error of `b - 1/2`, whose prior variance is 1/4, is `(J + 4)^-1 h`: the guesses.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.plan.counting_rules import column_weights
from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models.critic.closed_form import ClosedForm
from models.critic.network import Critic
from models.dp.poisson import UnitSampler
from models.encoding import PrivateTable, cells_of
from models.idpgan import loop
from models.idpgan.training import Training
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from models.tables.anchor import FIRST_ROUND, SCREENING, Pair, exact_columns, exact_moments
from models.tables.code_groups import Groups
from models.tables.measurement.second_round import groups_of, layout_of, screened_pairs
from tests.audits.bounds import Floats
from tests.audits.transcript import Parts
from tests.models.coded_tables import grouped
from tests.models.critic.reference import Reference

GRAM_INTERVAL = 10
"""The Gram matrix of gradients is made at every so many steps that are read, and stands for all of them."""


@dataclass(frozen=True, kw_only=True)
class Canaries:
    """Where the canaries are: after all other records, those that are in.

    Args:
        codes: (canaries, columns).
        included: (canaries,) their coins.
        others: the table without any canary.
    """

    codes: np.ndarray[tuple[int, int], np.dtype[np.int16]]
    included: np.ndarray[tuple[int], np.dtype[np.bool_]]
    others: PrivateTable

    @classmethod
    def draw(cls, others: PrivateTable, count: int, *, seed: int) -> "Canaries":
        rng = np.random.default_rng(seed)
        codes = np.column_stack([rng.integers(0, size, count) for size in others.cardinalities])
        return cls(codes=codes.astype(np.int16), included=rng.random(count) < 0.5, others=others)

    def table(self) -> PrivateTable:
        """The audited table."""
        codes = np.concatenate([self.others.codes, self.codes[self.included]])
        return replace(self.others, codes=codes, unit_of_record=np.arange(len(codes), dtype=np.int64))


class Insider:
    """Listens at the seam of one training, and looks at its public state: the critic and what it is given.

    Args:
        canaries: of the table.
        plan: of the job.
        streams: of the job, without its noise.
        every: reads the gradients of every so many steps; ignoring the others can only weaken it.
    """

    def __init__(self, canaries: Canaries, plan: Plan, streams: KeyedStreams, *, every: int) -> None:
        self._canaries, self._plan, self._streams, self._every = canaries, plan, streams, every
        count = len(canaries.codes)
        self._table = canaries.table()
        self._sampler = UnitSampler(
            self._table.unit_of_record,
            sampling_rate=plan.sampling_rate,
            max_sampled_batch=plan.max_sampled_batch,
        )
        self._private: PrivateCritic | None = None
        self._network: Critic | None = None
        self._fakes = torch.empty(0)
        self.information: Floats = np.zeros((count, count))
        self.score: Floats = np.zeros(count)
        self._rng = np.random.default_rng(0)
        self._columns: list[Floats] = []
        self._groups: tuple[Groups, ...] = ()
        self._pairs: tuple[Pair, ...] | None = None
        self._others = torch.empty(0, dtype=torch.float64)
        self._directions = torch.empty(0)

    @property
    def sureness(self) -> Floats:
        """The linear estimate of `b - 1/2`."""
        count = len(self.score)
        return np.linalg.solve(
            self.information + 4.0 * np.eye(count), self.score - self.information.sum(1) / 2
        )

    def watch(self, patch: pytest.MonkeyPatch) -> None:
        """See the critic of the next training, and the fakes of its steps."""
        insider = self

        class Watched(PrivateCritic):
            def __init__(self, critic: Critic, *given: Any, **named: Any) -> None:
                super().__init__(critic, *given, **named)
                insider.met(self, critic)

            def step(self, step: int, real: Tensor, fake: Tensor, labels: Tensor | None = None) -> None:
                insider.given(fake)
                super().step(step, real, fake, labels)

        patch.setattr(loop, "PrivateCritic", Watched)

    def met(self, private: PrivateCritic, network: Critic) -> None:
        self._private, self._network = private, network

    def given(self, fakes: Tensor) -> None:
        self._fakes = fakes

    def exact(self, purpose: int, step: int, parts: Parts, *, sensitivity: float) -> None:
        """Before the noise of a step: work out, from public state, the others' sum and the canaries' directions."""
        if purpose == Purpose.GRADIENT_NOISE and step % self._every == 0:
            self._look(step)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        if purpose == Purpose.ANCHOR_NOISE:
            counts = [each.numpy() for each in released]
            if step == FIRST_ROUND:
                self._read_columns(counts)
            elif step == SCREENING:
                self._read_distances(counts[0])
            else:
                self._read_tables(*counts)
        elif purpose == Purpose.GRADIENT_NOISE and step % self._every == 0:
            self._read_gradient(step, released[0].double() * self._plan.expected_batch_size)

    def _read_columns(self, counts: list[Floats]) -> None:
        """The first round, from which the groups follow that the second counts."""
        plan, others, codes = self._plan.anchor, self._canaries.others, self._canaries.codes
        assert isinstance(plan, AnchorPlan)
        self._columns = counts
        weights = column_weights(others.cardinalities, plan) / plan.noise_std
        for column, (noisy, known) in enumerate(zip(counts, exact_columns(others), strict=True)):
            ours, squared = codes[:, column], weights[column] ** 2
            self.score += squared * (noisy - known)[ours]
            self.information += squared * (ours[:, None] == ours[None, :])

    def _read_distances(self, distances: Floats) -> None:
        """The screening, for the pairs that the second round counts alone; what it says of the canaries is left aside."""
        plan, others = self._plan.anchor, self._canaries.others
        assert isinstance(plan, AnchorPlan)
        self._pairs = screened_pairs(distances, self._columns, others, self._plan, self._streams)

    def _read_tables(self, *counts: Floats) -> None:
        plan, others = self._plan.anchor, self._canaries.others
        assert isinstance(plan, AnchorPlan)
        self._groups = groups_of(self._columns, others, self._plan, pairs=self._pairs)
        layout = layout_of(self._groups, others, self._plan, pairs=self._pairs)
        known = exact_moments(grouped(others, self._groups), layout)
        codes = np.column_stack(
            [of[ours] for of, ours in zip(self._groups, self._canaries.codes.T, strict=True)]
        )
        label = codes[:, layout.target_index] if layout.by_class else np.zeros(len(codes), dtype=np.int64)
        if known.combinations is not None:
            (weight,) = layout.weights.values()
            squared = (weight / plan.noise_std) ** 2
            self.score += squared * (counts[0] - known.combinations)[tuple(codes.T)]
            self.information += squared * (codes[:, None] == codes[None, :]).all(axis=2)
            return
        pairs, ones = counts
        blocks = dict(zip(layout.features, layout.blocks, strict=True))
        for columns, weight in layout.weights.items():
            cells = [codes[:, column] + blocks[column].start for column in columns]
            noisy, exact = (pairs, known.pairs) if len(columns) == 2 else (ones, known.ones)
            squared = (weight / plan.noise_std) ** 2
            self.score += squared * (noisy - exact)[(label, *cells)]
            alike = [ours[:, None] == ours[None, :] for ours in (label, *cells)]
            self.information += squared * np.logical_and.reduce(alike)

    def _look(self, step: int) -> None:
        plan, table, network = self._plan, self._table, self._network
        assert self._private is not None
        assert network is not None
        layout, partition = self._private.layout, self._private.partition
        chosen = self._sampler.draw(self._streams, step)
        chosen = chosen[chosen < len(self._canaries.others.codes)]  # the canaries come last
        fakes = self._fakes[: len(chosen)]
        mix = self._streams.torch_uniforms(Purpose.INTERPOLATION, step, len(chosen))
        form = ClosedForm(network, layout, gp_weight=plan.options.gp_weight, max_batch=plan.max_sampled_batch)
        real = cells_of(table.codes[chosen], table.cardinalities)
        self._others = form.clipped_sum(real, fakes, mix, partition).clone()
        reference = Reference(
            network, layout, gp_weight=plan.options.gp_weight, max_batch=plan.max_sampled_batch
        )
        count = len(self._canaries.codes)
        paired = torch.from_numpy(self._rng.integers(0, len(fakes), count))
        one_hot = torch.zeros(count, table.cells).scatter_(
            1, cells_of(self._canaries.codes, table.cardinalities), 1.0
        )
        gradients = reference.gradients(
            one_hot, fakes[paired], torch.from_numpy(self._rng.random(count)).float()
        )
        assert len(partition.thresholds) == 1, "one group"
        clip = partition.thresholds[0]
        gradients *= (clip / torch.linalg.vector_norm(gradients, dim=1)).clamp_(max=1.0)[:, None]
        self._directions = gradients.div_(clip * plan.noise_multiplier_at(step))
        self._std = clip * plan.noise_multiplier_at(step)

    def _read_gradient(self, step: int, released: Tensor) -> None:
        rate = self._plan.sampling_rate
        unknown = ((released - self._others) / self._std).float()
        self.score += rate * (self._directions @ unknown).double().numpy()
        interval = self._every * GRAM_INTERVAL
        if step % interval == 0:
            covered = len(range(step, min(step + interval, self._plan.steps), self._every))
            gram = (self._directions @ self._directions.T).double().numpy()
            self.information += rate**2 * covered * gram


def run(
    canaries: Canaries, plan: Plan, key: bytes, *, every: int, make_streams: type[KeyedStreams] = KeyedStreams
) -> Floats:
    """Train on the table with its canaries, and return how sure the adversary is that each is in.

    Args:
        canaries: and the table.
        plan: of the job; one group of coordinates.
        key: of the job.
        every: see `Insider`.
        make_streams: the job's randomness; a twin's has less noise.
    """
    insider = Insider(canaries, plan, KeyedStreams(key), every=every)
    streams = make_streams(key, releases=insider)
    with pytest.MonkeyPatch.context() as patch:
        insider.watch(patch)
        Training(canaries.table(), plan, streams, NullHost()).run()
    return insider.sureness
