"""The generator's own steps: against the noisy counts alone, then against counts and critic."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.devices.placement import move_tensors
from models.idpgan.generator import Generator, draw, probabilities
from models.idpgan.grouped_logits import GroupedLogits
from models.idpgan.learner import GENERATOR_BETAS, Refiner, cosine
from models.idpgan.prepared_counts import Anchor
from models.labels import drawn_labels, stratified_batch
from models.randomness import KeyedStreams, Purpose, normals_into

WARM_UP_STEPS = 50
REFINEMENT_RATE = 0.2
"""Factor on the learning rate once a pre-trained generator meets the critic."""
FAKES_AT_ONCE = 128
"""Generated records in one pass for the critic; a public constant."""


class Refinement(Refiner):
    """The generator with its optimiser and exponential average. Sees no private row.

    Args:
        distribution: noisy shares of the target's classes, or None without a target.
        anchor: what the generator uses of the noisy moments, or None without them.
        latent_dimension: the options' if None.
        learning_rate: the highest; the options' if None.
        betas: of Adam, where the options set none.
    """

    def __init__(
        self,
        *,
        generator: GroupedLogits,
        options: IdpganOptions,
        streams: KeyedStreams,
        cardinalities: tuple[int, ...],
        distribution: npt.NDArray[np.float64] | None,
        anchor: Anchor | None,
        latent_dimension: int | None = None,
        learning_rate: float | None = None,
        betas: tuple[float, float] = GENERATOR_BETAS,
    ) -> None:
        super().__init__(generator, options, learning_rate=learning_rate, betas=betas)
        self.latent_dimension = options.latent_dimension if latent_dimension is None else latent_dimension
        self.generator = generator
        self._streams = streams
        self._cardinalities = cardinalities
        self._distribution = distribution
        self._anchor = anchor

    def move(self, device: torch.device) -> None:
        """See `Learner.move`."""
        super().move(device)
        if self._anchor is not None:
            move_tensors(self._anchor.loss, device)

    def pretrain(self, step: int) -> None:
        """One pre-training step towards the noisy counts alone; the learning rate falls until the last one."""
        assert self._anchor is not None, "only an anchor can be pre-trained on"
        batch = stratified_batch(self._distribution, self._options.generator_batch_size).to(self._device)
        latent = self._latent(Purpose.PRETRAINING, step, len(batch.weights))
        grouped = self._grouped(latent, batch.one_hot)
        loss = self._anchor.loss.of_batch(probabilities(grouped, self.generator.group_counts), batch)
        self._update(
            loss, min(1.0, (step + 1) / WARM_UP_STEPS) * cosine(step / self._options.pretraining_steps)
        )

    def refine(self, step: int, critic: nn.Module, *, progress: float) -> Tensor:
        """One step against the critic, held by the anchor where there is one. Returns its scores of the records, (rows,).

        Args:
            step: of the critic, which addresses the randomness.
            critic: scores of one-hot records; not changed.
            progress: share of the training that is done.
        """
        batch = stratified_batch(self._distribution, self._options.generator_batch_size).to(self._device)
        rows = len(batch.weights)
        latent = self._latent(Purpose.GENERATOR_LATENT, step, rows)
        grouped = self._grouped(latent, batch.one_hot)
        shares = probabilities(self.generator.spread(grouped), self._cardinalities)
        uniforms = self._streams.torch_uniforms(
            Purpose.GENERATOR_LABELS, step, (rows, len(self._cardinalities))
        ).to(self._device)
        records = draw(shares, uniforms, self._cardinalities) + shares - shares.detach()
        scores: Tensor = critic(records)
        loss = -(scores * batch.weights).sum()
        rate = cosine(progress)
        if self._anchor is not None:
            of_groups = probabilities(grouped, self.generator.group_counts)
            loss = loss + self._options.anchor_weight * self._anchor.loss.of_batch(of_groups, batch)
            rate *= REFINEMENT_RATE
        self._update(loss, rate)
        return scores.detach()

    def fakes(self, step: int, count: int) -> Tensor:
        """One-hot records for the critic's step; shape (count, cells).

        Generated in groups of a constant size, so that the record at a place has the same bits however many follow it:
        one real record more or less must not change what the other real records are compared with.
        """
        labels = drawn_labels(
            self._distribution, self._streams.uniforms(Purpose.CRITIC_LABELS, step, _padded(count))
        )
        uniforms = self._streams.torch_uniforms(
            Purpose.SAMPLING, step, (_padded(count), len(self._cardinalities))
        )
        latents = self._streams.reader(Purpose.CRITIC_LATENT, step)
        made = []
        with torch.no_grad():
            for first in range(0, count, FAKES_AT_ONCE):
                piece = slice(first, first + FAKES_AT_ONCE)
                latent = torch.empty(FAKES_AT_ONCE * self.latent_dimension, dtype=torch.float64)
                normals_into(latent, latents)
                latent = latent.float().view(FAKES_AT_ONCE, -1).to(self._device)
                logits = self.generator(latent, labels[piece].to(self._device))
                shares = probabilities(logits, self._cardinalities)
                made.append(draw(shares, uniforms[piece].to(self._device), self._cardinalities))
        return torch.cat(made)[:count] if made else torch.zeros(0, sum(self._cardinalities))

    def _grouped(self, latent: Tensor, label: Tensor) -> Tensor:
        """Logits of groups (rows, group cells)."""
        assert isinstance(self.generator, Generator), "a mixture has steps of its own"
        return self.generator.grouped(latent, label)

    def _latent(self, purpose: Purpose, step: int, rows: int) -> Tensor:
        drawn = self._streams.torch_normals(purpose, step, (rows, self.latent_dimension))
        return drawn.to(self._device)


def _padded(count: int) -> int:
    return -(-count // FAKES_AT_ONCE) * FAKES_AT_ONCE
