"""IDPGAN on images: the parts of the training loop (`models.idpgan.loop`) that depend on the kind of records."""

import numpy as np
import torch
from torch import Tensor, nn

from core.plan.critic_groups import critic_channels
from core.plan.plan import Plan
from models.critic.conv_network import ConvCritic
from models.critic.label_network import LabelCritic
from models.devices.placement import HOST, Placement
from models.encoding import PrivateImages
from models.idpgan.image_measurement import ImageMeasurement, measure_images, ready
from models.idpgan.image_refinement import ImageRefinement
from models.idpgan.label_warm_up import warm_up
from models.idpgan.loop import Loop
from models.images.label_rejection import ANSWERED_LABELS, AnsweredImages
from models.images.likelihood_rejection import DRAWS, ChosenImages, kept_copy
from models.randomness import KeyedStreams
from models.synthesizer import TrainedImageGenerator, TrainingHost


class ImageTraining(Loop[ImageMeasurement, TrainedImageGenerator]):
    """One job of one plan on images."""

    _refinement: ImageRefinement

    def __init__(
        self,
        images: PrivateImages,
        plan: Plan,
        streams: KeyedStreams,
        host: TrainingHost,
        *,
        placement: Placement = HOST,
    ) -> None:
        height, width, channels = images.shape
        network: ConvCritic | None = None
        if plan.steps:
            kind = LabelCritic if plan.idpgan_options.critic_asks == "labels" else ConvCritic
            network = kind(
                image=(channels, height, width),
                widths=critic_channels(plan.idpgan_options),
                classes=images.classes,
            ).initialise(streams)
        super().__init__(images.unit_of_record, network, plan, streams, host, placement)
        self._images = images
        self._labels = network if isinstance(network, LabelCritic) else None
        self._before = None if self._labels is None else kept_copy(self._labels)

    def _measure(self) -> ImageMeasurement:
        return measure_images(self._images, self._plan, self._streams)

    def _restored(self, tensors: dict[str, Tensor]) -> ImageMeasurement:
        return ImageMeasurement.restore(tensors)

    def _prepare(self) -> ImageRefinement:
        start = ready(self._measured, self._plan, shape=self._images.shape, classes=self._images.classes)
        start.generator.initialise(self._streams)
        self._distribution, self._latent_dimension = start.distribution, start.generator.latent_dimension
        self._spread_within = start.spread_within
        return ImageRefinement(
            generator=start.generator,
            options=self._options,
            streams=self._streams,
            distribution=start.distribution,
            moment_loss=start.loss,
            before=self._before,
        )

    def _pretrain(self, first: int) -> None:
        total = self._options.pretraining_steps
        if self._labels is None or self._before is None:
            super()._pretrain(first)
        elif first < total:
            assert self._distribution is not None, "a critic of labels has labels"
            self._host.advance(stage="pretrain", step=total, total=total)
            warm_up(self._labels, self._refinement.generator, self._distribution, self._streams, steps=total)
            self._before.load_state_dict(self._labels.state_dict())

    def _move(self, step: int, *, progress: float) -> None:
        if self._labels is None:
            super()._move(step, progress=progress)

    def _private_step(self, step: int) -> None:
        assert self._critic is not None, "a plan with steps has a critic"
        chosen = self._sampler.draw(self._streams, step)
        real = torch.from_numpy(self._images.pixels[chosen].transpose(0, 3, 1, 2).astype(np.float32)) / 255.0
        labels = torch.from_numpy(self._images.labels[chosen].astype(np.int64))
        # A critic of labels takes no generated image; the real one is passed in its place and ignored.
        fakes = real if self._labels is not None else self._refinement.fakes(step, labels)
        self._critic.step(step, real, fakes, labels if self._images.classes else None)

    def _made(self, network: nn.Module) -> TrainedImageGenerator:
        height, width, channels = self._images.shape
        draws = self._latent_dimension
        if self._labels is not None and self._before is not None:
            critic, before = kept_copy(self._labels), self._before
            if self._distribution is not None and self._images.classes <= ANSWERED_LABELS:
                network = AnsweredImages(
                    network, critic, distribution=self._distribution, draw_dimension=draws
                )
            else:
                network = ChosenImages(network, critic, before, draw_dimension=draws)
            draws = DRAWS * draws
        return TrainedImageGenerator(
            network=network,
            latent_dimension=draws,
            shape=(channels, height, width),
            label_probabilities=self._distribution,
            spread_within=self._spread_within,
        )
