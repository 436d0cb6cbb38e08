"""The training of IDPGAN on images: what the loop (`models.idpgan.loop`) does with them."""

import numpy as np
import torch
from torch import Tensor, nn

from core.synthesis.groups import critic_channels
from core.synthesis.plan import Plan
from models.critic.conv_network import ConvCritic
from models.encoding import PrivateImages
from models.idpgan.image_measurement import ImageMeasurement, measure_images, ready
from models.idpgan.image_refinement import ImageRefinement
from models.idpgan.loop import Loop
from models.randomness import KeyedStreams
from models.synthesizer import TrainedImageGenerator, TrainingHost


class ImageTraining(Loop[ImageMeasurement, TrainedImageGenerator]):
    """One job of one plan on images.

    Args:
        images: private.
        plan: what to do.
        streams: all randomness of the job.
        host: durable progress and checkpoints.
    """

    _refinement: ImageRefinement

    def __init__(self, images: PrivateImages, plan: Plan, streams: KeyedStreams, host: TrainingHost) -> None:
        height, width, channels = images.shape
        network: ConvCritic | None = None
        if plan.steps:
            network = ConvCritic(
                image=(channels, height, width), widths=critic_channels(plan.options), classes=images.classes
            ).initialise(streams)
        super().__init__(images.unit_of_record, network, plan, streams, host)
        self._images = images

    def _measure(self) -> ImageMeasurement:
        return measure_images(self._images, self._plan, self._streams)

    def _restored(self, tensors: dict[str, Tensor]) -> ImageMeasurement:
        return ImageMeasurement.restore(tensors)

    def _prepare(self) -> ImageRefinement:
        start = ready(self._measured, self._plan, shape=self._images.shape, classes=self._images.classes)
        start.generator.initialise(self._streams)
        self._law, self._latent_dimension = start.law, start.generator.latent_dimension
        return ImageRefinement(
            generator=start.generator,
            options=self._options,
            streams=self._streams,
            law=start.law,
            moment_loss=start.loss,
        )

    def _private_step(self, step: int) -> None:
        assert self._critic is not None, "a plan with steps has a critic"
        chosen = self._sampler.draw(self._streams, step)
        real = torch.from_numpy(self._images.pixels[chosen].transpose(0, 3, 1, 2).astype(np.float32)) / 255.0
        labels = torch.from_numpy(self._images.labels[chosen].astype(np.int64))
        fakes = self._refinement.fakes(step, labels)
        self._critic.step(step, real, fakes, labels if self._images.classes else None)

    def _made(self, network: nn.Module) -> TrainedImageGenerator:
        height, width, channels = self._images.shape
        return TrainedImageGenerator(
            network=network,
            latent_dimension=self._latent_dimension,
            shape=(channels, height, width),
            label_probabilities=self._law,
        )
