"""The generator's own steps on images: against the moments alone, then against moments and critic."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from core.plan.options import IdpganOptions
from models.checkpoint import load_module, under
from models.critic.label_network import LabelCritic
from models.devices.placement import move_tensors
from models.idpgan.learner import Refiner, cosine
from models.images.generator import ImageGenerator
from models.images.moment_loss import ImageMomentLoss
from models.labels import stratified_batch
from models.randomness import KeyedStreams, Purpose, normals_into

FAKES_AT_ONCE = 64
"""Generated images in one pass for the critic; a public constant."""


class ImageRefinement(Refiner):
    """The generator of images with its optimiser and exponential average. Sees no private image.

    Args:
        distribution: noisy shares of the labels, or None where images have none.
        moment_loss: distance to the anchor, or None without one.
        before: a copy of the critic of labels from before its first real image, stored with the generator; None without one.
    """

    def __init__(
        self,
        *,
        generator: ImageGenerator,
        options: IdpganOptions,
        streams: KeyedStreams,
        distribution: npt.NDArray[np.float64] | None,
        moment_loss: ImageMomentLoss | None,
        before: LabelCritic | None = None,
    ) -> None:
        super().__init__(generator, options)
        self.generator = generator
        self._streams = streams
        self._distribution = distribution
        self._moment_loss = moment_loss
        self._before = before

    def tensors(self) -> dict[str, Tensor]:
        """All state but the number of updates."""
        kept = {} if self._before is None else under("before", self._before.state_dict())
        return super().tensors() | kept

    def restore(self, tensors: dict[str, Tensor], *, updates: int) -> None:
        """Restore the results of `tensors` and `updates`."""
        super().restore(tensors, updates=updates)
        if self._before is not None:
            load_module(self._before, "before", tensors)

    def move(self, device: torch.device) -> None:
        """See `Learner.move`."""
        super().move(device)
        if self._moment_loss is not None:
            move_tensors(self._moment_loss, device)

    def pretrain(self, step: int) -> None:
        """One step towards the moments alone."""
        assert self._moment_loss is not None, "only an anchor can be pre-trained on"
        batch = stratified_batch(self._distribution, self._options.generator_batch_size).to(self._device)
        latent = self._latent(Purpose.PRETRAINING, step, len(batch.weights))
        loss = self._moment_loss(self.generator(latent, batch.one_hot), batch.one_hot)
        self._update(loss, cosine(step / self._options.pretraining_steps))

    def refine(self, step: int, critic: nn.Module, *, progress: float) -> Tensor:
        """One step against the critic, held by the anchor where there is one. Returns its scores of the images, (rows,).

        Args:
            step: of the critic, which addresses the randomness.
            critic: scores of images with labels; not changed.
            progress: share of the training that is done.
        """
        batch = stratified_batch(self._distribution, self._options.generator_batch_size).to(self._device)
        latent = self._latent(Purpose.GENERATOR_LATENT, step, len(batch.weights))
        images = self.generator(latent, batch.one_hot)
        scores: Tensor = critic(images, *self._codes(batch.one_hot))
        loss = -(scores * batch.weights).sum()
        if self._moment_loss is not None and self._options.anchor_weight > 0.0:
            loss = loss + self._options.anchor_weight * self._moment_loss(images, batch.one_hot)
        self._update(loss, cosine(progress))
        return scores.detach()

    def fakes(self, step: int, labels: Tensor) -> Tensor:
        """Images (count, channels, height, width) of the labels (count,), for the critic's step.

        Generated in groups of a constant size, so that the image at a place has the same bits however many follow it:
        one real image more or less must not change what the other real images are compared with.
        """
        reader = self._streams.reader(Purpose.CRITIC_LATENT, step)
        classes = 0 if self._distribution is None else len(self._distribution)
        made = []
        with torch.no_grad():
            for first in range(0, len(labels), FAKES_AT_ONCE):
                given = labels[first : first + FAKES_AT_ONCE]
                latent = torch.empty(FAKES_AT_ONCE * self.generator.latent_dimension, dtype=torch.float64)
                normals_into(latent, reader)
                one_hot = torch.zeros(FAKES_AT_ONCE, classes)
                if classes:
                    one_hot[: len(given)] = nn.functional.one_hot(given, classes).float()
                    one_hot[len(given) :, 0] = 1.0
                latent = latent.float().view(FAKES_AT_ONCE, -1).to(self._device)
                made.append(self.generator(latent, one_hot.to(self._device)))
        if not made:
            generator = self.generator
            return torch.zeros(0, generator.channels, generator.height, generator.width)
        return torch.cat(made)[: len(labels)]

    def _codes(self, one_hot: Tensor) -> tuple[Tensor, ...]:
        return () if self._distribution is None else (one_hot.argmax(dim=1),)

    def _latent(self, purpose: Purpose, step: int, rows: int) -> Tensor:
        drawn = self._streams.torch_normals(purpose, step, (rows, self.generator.latent_dimension))
        return drawn.to(self._device)
