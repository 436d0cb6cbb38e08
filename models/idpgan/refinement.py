"""The generator's own steps: against the moments alone, then against moments and critic."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.synthesis.options import IdpganOptions
from models.devices.placement import move_tensors
from models.idpgan.checkpoint import inside, under
from models.idpgan.early_stopping import EarlyStopping
from models.idpgan.generator import Generator, draw, probabilities
from models.idpgan.labels import drawn_labels, stratified_batch
from models.idpgan.learner import Learner, cosine
from models.idpgan.measurement import Anchor
from models.idpgan.moment_loss import MomentLoss
from models.randomness import KeyedStreams, Purpose, normals_into

WARM_UP_STEPS = 50
COOLDOWN_BATCH = 2
"""Batch of the cooldown, in batches: less noise in the gradient at its end."""
EVALUATION_BATCH = 4
"""Batch of an evaluation, in batches."""
SHRINKAGE_BATCHES = 16
"""Batches whose two-way shares counts are shrunk towards."""
REFINEMENT_RATE = 0.2
"""Of the learning rate once a pre-trained generator meets the critic."""
FAKES_AT_ONCE = 128
"""Generated records in one pass for the critic; a public constant."""


class Refinement(Learner):
    """The generator with its optimiser and exponential average. Sees no private row.

    Args:
        generator: initialised.
        options: of the plan.
        streams: of the job.
        cardinalities: codes of every column.
        law: noisy shares of the target's classes, or None without a target.
        anchor: what the noisy moments ask of the generator, or None without them.
    """

    def __init__(
        self,
        *,
        generator: Generator,
        options: IdpganOptions,
        streams: KeyedStreams,
        cardinalities: tuple[int, ...],
        law: npt.NDArray[np.float64] | None,
        anchor: Anchor | None,
    ) -> None:
        super().__init__(generator, options)
        self.generator = generator
        self._streams = streams
        self._cardinalities = cardinalities
        self._law = law
        self._anchor = anchor
        self._stopping = EarlyStopping(total=options.pretraining_steps)
        self._made: Tensor | None = None
        self._shrunk: MomentLoss | None = None

    def move(self, device: torch.device) -> None:
        """See `Learner.move`."""
        super().move(device)
        if self._anchor is not None:
            for loss in (self._anchor.loss, self._anchor.training_loss, self._anchor.validation_loss):
                move_tensors(loss, device)

    def tensors(self) -> dict[str, Tensor]:
        """All state but the number of updates."""
        made = {} if self._made is None else {"made": self._made}
        return super().tensors() | under("stopping", self._stopping.tensors()) | made

    def restore(self, tensors: dict[str, Tensor], *, updates: int) -> None:
        """Take over what `tensors` and `updates` gave."""
        super().restore(tensors, updates=updates)
        self._stopping.restore(inside("stopping", tensors))
        if "made" in tensors:
            self._shrink_towards(tensors["made"])

    def pretrained(self, steps: int) -> bool:
        """See `Learner.pretrained`."""
        return self._stopping.finished(steps)

    def pretrain(self, step: int) -> None:
        """One step towards the moments alone."""
        assert self._anchor is not None, "only an anchor can be pre-trained on"
        stopping, rows = self._stopping, self._options.generator_batch_size
        if not stopping.cooldown_from and stopping.stops(step):
            best = stopping.begin_cooldown(step)
            if best:
                super().restore(best, updates=self._updates)
        loss, rate = self._anchor.training_loss, min(1.0, (step + 1) / WARM_UP_STEPS)
        if stopping.shrinks(step):
            if self._shrunk is None:
                self._shrink_towards(self._average_pairs())
            assert self._shrunk is not None, "just made"
            loss, taken = self._shrunk, step - stopping.shrinkage_from
            rate = min(1.0, (taken + 1) / WARM_UP_STEPS) * cosine(taken / stopping.shrinkage_steps)
        elif stopping.cooldown_from:
            loss, rows = self._anchor.loss, rows * COOLDOWN_BATCH
            rate = min(1.0, stopping.best_step / WARM_UP_STEPS)
            rate *= cosine((step - stopping.cooldown_from) / stopping.cooldown_steps)
        batch = stratified_batch(self._law, rows).to(self._device)
        latent = self._latent(Purpose.PRETRAINING, step, len(batch.weights))
        shares = probabilities(self.generator(latent, batch.one_hot), self._cardinalities)
        self._update(loss(shares, batch), rate)
        if not stopping.cooldown_from and stopping.evaluates_at(step + 1):
            self._evaluate(step + 1)

    def _average_pairs(self) -> Tensor:
        """The two-way shares of the exponential average's records; (slices, cells, cells)."""
        assert self._anchor is not None, "only an anchor has counts"
        batch = stratified_batch(self._law, self._options.generator_batch_size).to(self._device)
        pieces = []
        with torch.no_grad():
            for number in range(SHRINKAGE_BATCHES):
                latent = self._latent(Purpose.SHRINKAGE, number, len(batch.weights))
                shares = probabilities(self.average(latent, batch.one_hot), self._cardinalities)
                pieces.append(self._anchor.loss.made(shares, batch))
        return torch.stack(pieces).mean(dim=0).cpu()

    def _shrink_towards(self, made: Tensor) -> None:
        assert self._anchor is not None, "only an anchor has counts"
        self._made, self._shrunk = made, self._anchor.shrunk_loss(made.double().numpy())
        move_tensors(self._shrunk, self._device)

    def _evaluate(self, step: int) -> None:
        """Compare the exponential average with the best so far on validation counts, with the same latents for both."""
        assert self._anchor is not None, "only an anchor has validation counts"
        batch = stratified_batch(self._law, EVALUATION_BATCH * self._options.generator_batch_size).to(
            self._device
        )
        latent = self._latent(Purpose.EARLY_STOPPING, step, len(batch.weights))
        state, given = super().tensors(), (latent, batch.one_hot)
        improvement = deviation = 0.0
        with torch.no_grad():
            if self._stopping.best:
                best = inside("average", self._stopping.best)
                before = torch.func.functional_call(self.average, best, given)
                improvement, deviation = self._anchor.validation_loss.improvement(
                    probabilities(before, self._cardinalities),
                    probabilities(self.average(*given), self._cardinalities),
                    batch,
                )
        self._stopping.record(step, state, improvement=improvement, deviation=deviation)

    def refine(self, step: int, critic: nn.Module, *, progress: float) -> Tensor:
        """One step against the critic, held by the anchor where there is one. Returns its scores of the records, (rows,).

        Args:
            step: of the critic, which addresses the randomness.
            critic: scores of one-hot records; not changed.
            progress: share of the training that is done.
        """
        batch = stratified_batch(self._law, self._options.generator_batch_size).to(self._device)
        rows = len(batch.weights)
        latent = self._latent(Purpose.GENERATOR_LATENT, step, rows)
        shares = probabilities(self.generator(latent, batch.one_hot), self._cardinalities)
        uniforms = self._streams.torch_uniforms(
            Purpose.GENERATOR_LABELS, step, (rows, len(self._cardinalities))
        ).to(self._device)
        records = draw(shares, uniforms, self._cardinalities) + shares - shares.detach()
        scores: Tensor = critic(records)
        loss = -(scores * batch.weights).sum()
        rate = cosine(progress)
        if self._anchor is not None:
            held = self._shrunk or self._anchor.loss
            loss = loss + self._options.anchor_weight * held(shares, batch)
            rate *= REFINEMENT_RATE
        self._update(loss, rate)
        return scores.detach()

    def fakes(self, step: int, count: int) -> Tensor:
        """One-hot records for the critic's step; shape (count, cells).

        Made in groups of a constant size, so that the record at a place is the same to the bit however many follow it:
        one real record more or less must not change what the others are compared with.
        """
        labels = drawn_labels(self._law, self._streams.uniforms(Purpose.CRITIC_LABELS, step, _padded(count)))
        uniforms = self._streams.torch_uniforms(
            Purpose.SAMPLING, step, (_padded(count), len(self._cardinalities))
        )
        latents = self._streams.reader(Purpose.CRITIC_LATENT, step)
        made = []
        with torch.no_grad():
            for first in range(0, count, FAKES_AT_ONCE):
                piece = slice(first, first + FAKES_AT_ONCE)
                latent = torch.empty(FAKES_AT_ONCE * self._options.latent_dimension, dtype=torch.float64)
                normals_into(latent, latents)
                latent = latent.float().view(FAKES_AT_ONCE, -1).to(self._device)
                logits = self.generator(latent, labels[piece].to(self._device))
                shares = probabilities(logits, self._cardinalities)
                made.append(draw(shares, uniforms[piece].to(self._device), self._cardinalities))
        return torch.cat(made)[:count] if made else torch.zeros(0, sum(self._cardinalities))

    def _latent(self, purpose: Purpose, step: int, rows: int) -> Tensor:
        drawn = self._streams.torch_normals(purpose, step, (rows, self._options.latent_dimension))
        return drawn.to(self._device)


def _padded(count: int) -> int:
    return -(-count // FAKES_AT_ONCE) * FAKES_AT_ONCE
