"""The stage "measure" on images: the noisy releases made before training, and what follows from them."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.images.anchor import ImageAnchorPlan
from core.plan.plan import Plan
from models.checkpoint import inside, under
from models.encoding import PrivateImages
from models.images.anchor import noisy_image_moments
from models.images.generator import ImageGenerator
from models.images.mixture import mixture_of, plain_mixture, spread_within
from models.images.moment_loss import ImageMomentLoss
from models.images.moments import ImageMoments
from models.labels import noisy_distribution
from models.randomness import KeyedStreams


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageMeasurement:
    """Noisy releases; all of it may leave.

    Args:
        moments: of the anchor, or None without one.
        distribution: noisy shares of the labels where there are labels but no anchor.
    """

    moments: ImageMoments | None
    distribution: npt.NDArray[np.float64] | None

    @property
    def anchored(self) -> bool:
        """Whether there are moments to pre-train on."""
        return self.moments is not None

    def tensors(self) -> dict[str, Tensor]:
        """For a checkpoint. Never empty: the loop takes a checkpoint without tensors for a new job."""
        made = {"measured": torch.ones(1)}
        if self.moments is not None:
            made |= under("moments", self.moments.tensors())
        if self.distribution is not None:
            made["law"] = torch.from_numpy(self.distribution)
        return made

    @classmethod
    def restore(cls, tensors: dict[str, Tensor]) -> "ImageMeasurement":
        """Read the result of `tensors`."""
        moments = inside("moments", tensors)
        return cls(
            moments=ImageMoments.restore(moments) if moments else None,
            distribution=tensors["law"].numpy() if "law" in tensors else None,
        )


def measure_images(images: PrivateImages, plan: Plan, streams: KeyedStreams) -> ImageMeasurement:
    """Make the plan's releases: the anchor's moments, or the label histogram."""
    moments = distribution = None
    if isinstance(plan.anchor, ImageAnchorPlan):
        moments = noisy_image_moments(images, plan.anchor, streams)
    if plan.label_histogram is not None:
        _, first = np.unique(images.unit_of_record, return_index=True)
        labels = images.labels[first].astype(np.int64)
        distribution = noisy_distribution(labels, images.classes, plan.label_histogram, streams)
    return ImageMeasurement(moments=moments, distribution=distribution)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ImageStart:
    """Starting point for the training of a generator of images.

    Args:
        generator: draws the anchor's distribution, or grey images without an anchor.
        distribution: (classes,) shares of the labels, or None where images have none.
        loss: the distance to the anchor's moments, or None.
        spread_within: see `models.synthesizer.TrainedImageGenerator`.
    """

    generator: ImageGenerator
    distribution: npt.NDArray[np.float64] | None
    loss: ImageMomentLoss | None
    spread_within: npt.NDArray[np.float64] | None


def ready(measured: ImageMeasurement, plan: Plan, *, shape: tuple[int, int, int], classes: int) -> ImageStart:
    """Prepare what was released for the generator; nothing private is read.

    Args:
        shape: height, width, channels.
        classes: declared labels, 0 where images have none.
    """
    options = plan.idpgan_options
    if measured.moments is None or not isinstance(plan.anchor, ImageAnchorPlan):
        mixture, loss, distribution, spread = plain_mixture(shape, classes), None, measured.distribution, None
    else:
        mixture = mixture_of(measured.moments, plan.anchor, shape)
        if plan.steps and options.critic_asks == "real":
            # A critic of real images would detect generated ones by their texture.
            mixture = replace(mixture, texture=np.zeros(shape[:2]))
        loss = ImageMomentLoss(measured.moments, plan.anchor, shape)
        distribution = mixture.distribution if classes else None
        spread = spread_within(mixture)
    generator = ImageGenerator(mixture, width=options.generator_width, extra=options.latent_dimension)
    return ImageStart(generator=generator, distribution=distribution, loss=loss, spread_within=spread)
