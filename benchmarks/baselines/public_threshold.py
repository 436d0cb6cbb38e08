"""The clipping threshold of GANobfuscator (Xu et al. 2019): the mean gradient norm of records that are public.

A threshold here is a function of declared-public records, of the critic and the generator as earlier noisy releases left
them, and of the job's stream. No private record enters, so it costs nothing, and it is a public number for the
accounting: the step clips to it and its noise follows it, at the plan's multiplier.

Records are public because somebody who may say so has said so. Taken from the private ones they would be a leak that no
accountant sees, so they are passed separately, and the caller leaves them out of the private ones.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from core.plan.domain.codec import Codes
from core.plan.plan import Plan
from models.critic.forms import PrivateNetwork, record_form
from models.dp.clipping import Layout, each_block_alone
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose

LOWEST, HIGHEST = 2.0**-20, 2.0**20
"""Public bounds of a threshold."""
PUBLIC_STREAM = 2**32
"""Draws for public images are addressed by this and the step, beside those for private ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicImages:
    """Images that were declared public, none of them among the private ones.

    Args:
        pixels: (images, height, width, channels) uint8, at least one.
        labels: (images,) int16 codes.
        interval: steps between two looks at them; a threshold holds until the next.
    """

    pixels: npt.NDArray[np.uint8]
    labels: npt.NDArray[np.int16]
    interval: int = 5

    def __post_init__(self) -> None:
        assert len(self.pixels) == len(self.labels) > 0, "a threshold needs images"
        assert self.interval >= 1, "steps between two looks"

    def tensors(self) -> tuple[Tensor, Tensor]:
        """(images, channels, height, width) in [0, 1], and (images,) int64."""
        pixels = torch.from_numpy(self.pixels.transpose(0, 3, 1, 2).astype(np.float32)) / 255.0
        return pixels, torch.from_numpy(self.labels.astype(np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PublicRows:
    """Coded rows that were declared public, none of them among the private ones.

    Args:
        codes: (rows, columns) integers, at least one row.
        interval: as of `PublicImages`.
    """

    codes: Codes
    interval: int = 5

    def __post_init__(self) -> None:
        assert len(self.codes) > 0, "a threshold needs rows"
        assert self.interval >= 1, "steps between two looks"


class PublicThreshold:
    """Measures the gradient norms of public records.

    Args:
        network: the critic, read at every look.
        layout: blocks of its coordinates, each of which has a threshold.
        plan: for the weight of the gradient penalty.
        streams: of the job.
        count: public records.
    """

    def __init__(
        self, network: PrivateNetwork, layout: Layout, plan: Plan, streams: KeyedStreams, *, count: int
    ) -> None:
        self._form = record_form(network, layout, gp_weight=plan.idpgan_options.gp_weight, max_batch=count)
        self._any = each_block_alone(layout.sizes, [1.0] * layout.blocks)
        self._streams = streams

    def at(self, step: int, real: Tensor, fake: Tensor, labels: Tensor | None) -> Tensor:
        """(blocks,) float64 thresholds: mean norms over the public records, within public bounds.

        Args:
            step: addresses the interpolation.
            real: (images, channels, height, width) public images, or (rows, columns) int64 cells of public rows.
            fake: images alike, generated for the same labels, or (rows, cells) generated rows.
            labels: (images,) int64, or None where the critic has no classes and for rows.
        """
        mix = self._streams.torch_uniforms(Purpose.INTERPOLATION, PUBLIC_STREAM + step, len(real))
        _, squares = self._form.sum_and_squares(real, fake, mix, self._any, labels=labels)
        norms = squares.sqrt()
        finite = torch.isfinite(norms).all(dim=1, keepdim=True)
        mean = torch.where(finite, norms, 0.0).sum(dim=0) / finite.sum().clamp(min=1)
        return mean.clamp_(LOWEST, HIGHEST)

    def adopt(
        self, critic: PrivateCritic, step: int, real: Tensor, fake: Tensor, labels: Tensor | None = None
    ) -> tuple[float, ...]:
        """Give a critic the thresholds of `at`, and return them."""
        found = self.at(step, real, fake, labels)
        critic.load_state_dict(critic.state_dict() | {"thresholds": found})
        return tuple(found.tolist())
