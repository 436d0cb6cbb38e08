"""A full-size job with a thousand canaries, read from inside.

The canaries are records drawn uniformly from the declared domain, unlike anything in the table and nearly orthogonal to
each other. The adversary knows everything - every other record and its coins, the weights of every step, all
randomness but the noise - except which canaries are in the table and when they are sampled.

What the job releases is then linear in the canaries' inclusions `b`, in units of noise: `J (b - 1/2)` plus Gaussian
noise of covariance `J`, with `J` the sum of the Gram matrices of what the canaries add (times `q^2` for sampled steps).
The linear estimate of least error of `b - 1/2`, whose prior variance is 1/4, is `(J + 4)^-1 h`: the guesses.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from core.synthesis.plan import Plan
from models.anchor import exact_moments, moment_layout
from models.critic.closed_form import ClosedForm
from models.critic.reference import Reference
from models.encoding import PrivateTable, cells_of
from models.idpgan.training import Training
from models.randomness import KeyedStreams, Purpose
from models.synthesizer import NullHost
from tests.audits.bounds import Floats
from tests.audits.transcript import Parts

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
        return PrivateTable(
            codes=codes,
            unit_of_record=np.arange(len(codes), dtype=np.int64),
            cardinalities=self.others.cardinalities,
            target_index=self.others.target_index,
        )


class Insider:
    """Listens at the seam of one training, and looks at its public state.

    Args:
        canaries: of the table.
        plan: of the job.
        streams: of the job, without its noise.
        every: reads the gradients of every so many steps; ignoring the others can only weaken it.
    """

    def __init__(self, canaries: Canaries, plan: Plan, streams: KeyedStreams, *, every: int) -> None:
        self._canaries, self._plan, self._streams, self._every = canaries, plan, streams, every
        count = len(canaries.codes)
        self.training: Training | None = None
        self.information: Floats = np.zeros((count, count))
        self.score: Floats = np.zeros(count)
        self._rng = np.random.default_rng(0)
        self._others = torch.empty(0, dtype=torch.float64)
        self._directions = torch.empty(0)

    @property
    def sureness(self) -> Floats:
        """The linear estimate of `b - 1/2`."""
        count = len(self.score)
        return np.linalg.solve(
            self.information + 4.0 * np.eye(count), self.score - self.information.sum(1) / 2
        )

    def exact(self, purpose: int, step: int, parts: Parts, *, sensitivity: float) -> None:
        """Before the noise of a step: work out, from public state, the others' sum and the canaries' directions."""
        if purpose == Purpose.GRADIENT_NOISE and step % self._every == 0:
            self._look(step)

    def noisy(self, purpose: int, step: int, *released: Tensor) -> None:
        if purpose == Purpose.ANCHOR_NOISE:
            self._read_counts(*(each.numpy() for each in released))
        elif purpose == Purpose.GRADIENT_NOISE and step % self._every == 0:
            self._read_gradient(step, released[0].double() * self._plan.expected_batch_size)

    def _read_counts(self, pairs: Floats, ones: Floats, classes: Floats) -> None:
        plan, others = self._plan.anchor, self._canaries.others
        assert plan is not None
        layout = moment_layout(
            others.cardinalities,
            others.target_index,
            declared_size=self._plan.declared_size,
            noise_std=plan.noise_std,
        )
        known = exact_moments(others, layout)
        factor, weight = layout.diagonal_factor(plan.diagonal_weight), plan.diagonal_weight
        codes = self._canaries.codes[:, list(layout.features)].astype(np.int64)
        starts = np.array([block.start for block in layout.blocks])
        label = np.zeros(len(codes), dtype=np.int64)
        if layout.by_class:
            label = self._canaries.codes[:, layout.target_index].astype(np.int64)
        cells = codes + starts
        upper = np.triu(np.ones((cells.shape[1], cells.shape[1]), dtype=bool), 1)
        pair = (pairs - known.pairs)[label[:, None, None], cells[:, :, None], cells[:, None, :]]
        score = pair[:, upper].sum(1) + factor**2 * (ones - known.ones)[label[:, None], cells].sum(1)
        agree = (codes[:, None, :] == codes[None, :, :]).sum(2).astype(np.float64)
        gram = agree * (agree - 1.0) / 2.0 + factor**2 * agree
        if layout.by_class:
            score += weight**2 * (classes - known.classes)[label]
            gram = (gram + weight**2) * (label[:, None] == label[None, :])
        self.score += score / plan.noise_std**2
        self.information += gram / plan.noise_std**2

    def _look(self, step: int) -> None:
        training, plan = self.training, self._plan
        assert training is not None
        assert training._critic is not None
        table, layout, partition = training._table, training._critic.layout, training._critic.partition
        chosen = training._sampler.draw(self._streams, step)
        chosen = chosen[chosen < len(self._canaries.others.codes)]  # the canaries come last
        fakes = training._refinement.fakes(step, len(chosen))
        mix = self._streams.torch_uniforms(Purpose.INTERPOLATION, step, len(chosen))
        form = ClosedForm(
            training._network, layout, gp_weight=plan.options.gp_weight, max_batch=plan.max_sampled_batch
        )
        real = cells_of(table.codes[chosen], table.cardinalities)
        self._others = form.clipped_sum(real, fakes, mix, partition).clone()
        reference = Reference(
            training._network, layout, gp_weight=plan.options.gp_weight, max_batch=plan.max_sampled_batch
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
    insider.training = Training(canaries.table(), plan, streams, NullHost())
    insider.training.run()
    return insider.sureness
