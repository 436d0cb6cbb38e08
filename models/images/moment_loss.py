"""The distance of a generated batch from the noisy statistics of images, a permanent part of the generator's loss."""

import torch
from torch import Tensor

from core.plan.images.anchor import MOMENT_COUNT_WEIGHT, SPREAD_REACH, SPREAD_WEIGHT, ImageAnchorPlan
from models.images.basis import class_centres, class_sizes, directions, origin_of, pixel_basis
from models.images.exact import COSINE_BITS, RESIDUAL_BITS
from models.images.moments import ImageMoments

_SMALLEST = 1e-6


class ImageMomentLoss:
    """Squared distance between the released statistics and the same statistics of a batch, clipped in the same way.

    Every difference is divided by its standard deviation for a batch from the private distribution, from the noise of the release and the sampling of
    the batch together. Clipping needs no correction, because both sides are clipped. The assignment of a record to a cell is constant; gradients
    pass only through its numbers.

    Args:
        shape: height, width, channels of every image.
    """

    def __init__(self, moments: ImageMoments, plan: ImageAnchorPlan, shape: tuple[int, int, int]) -> None:
        self._plan = plan
        sizes = class_sizes(moments.means, plan)
        self._classes = len(sizes)
        height, width, channels = shape
        sums = moments.means.sums.reshape(-1, height, width, channels).transpose(0, 3, 1, 2)
        self._origin = origin_of(moments.means, plan)
        self._means = self._origin + _float(sums.reshape(self._classes, -1) / sizes[:, None])
        mean_std = plan.means_noise_multiplier * plan.means_sensitivity / sizes
        self._mean_variance = _float(mean_std[:, None] ** 2)
        self._basis = _float(pixel_basis(moments.basis, moments.means, plan, shape, last=plan.dimensions))
        inside = class_centres(moments.means, plan, shape) @ directions(moments.basis, moments.means, plan)
        self._offsets = _float(inside * 2.0 ** -(RESIDUAL_BITS + COSINE_BITS))
        self._centres = _float(moments.centres * 2.0**-RESIDUAL_BITS)
        self._products = _float(moments.moments.products / sizes[:, None, None, None])
        self._spread = _float(moments.moments.spread / sizes[:, None])
        std = plan.moments_noise_multiplier * plan.moments_sensitivity / sizes
        size = plan.dimensions + 1
        halves = torch.full((size, size), 0.5) + 0.5 * torch.eye(size)
        self._product_variance = _float(std[:, None, None, None] ** 2) * halves
        self._halves = halves
        bound = (1.0 + MOMENT_COUNT_WEIGHT**2) * plan.cell_norm**2
        self._spread_variance = _float((std[:, None] / (SPREAD_WEIGHT * bound)) ** 2)

    def __call__(self, images: Tensor, label: Tensor) -> Tensor:
        """The distance, a scalar: on average about one for each statistic that differs only by noise and sampling.

        Args:
            images: (rows, channels, height, width) in [0, 1].
            label: (rows, classes) one-hot; (rows, 0) for images without labels.
        """
        if label.shape[1] == 0:
            label = torch.ones_like(images[:, 0, 0, :1])
        rows = label.sum(dim=0)
        seen = (rows > 0).to(images.dtype)
        rows = rows.clamp(min=1.0)
        pixels = images.flatten(1)
        away = pixels - self._origin
        short = self._origin + away * _factor(away, self._plan.image_norm)
        means = (label.T @ short) / rows[:, None]
        sampling = (self._means * (1.0 - self._means)).clamp(min=_SMALLEST)
        mean_part = _scaled(means - self._means, self._mean_variance + sampling / rows[:, None])
        products, spread = self._cell_statistics(pixels, label)
        products, spread = products / rows[:, None, None, None], spread / rows[:, None]
        diagonal = torch.diagonal(self._products, dim1=2, dim2=3).clamp(min=_SMALLEST)
        count = diagonal[:, :, :1]
        lead = (MOMENT_COUNT_WEIGHT * self._plan.cell_norm) ** 2
        sampling = diagonal[:, :, :, None] * (diagonal / count)[:, :, None, :] * lead
        variance = self._product_variance + sampling / rows[:, None, None, None]
        product_part = _scaled(products - self._products, variance) * self._halves
        share = (count[:, :, 0] / lead).clamp(min=_SMALLEST)
        spread_part = _scaled(
            spread - self._spread, self._spread_variance + share / (rows[:, None] * SPREAD_REACH**2)
        )
        parts = (mean_part.sum(dim=1), product_part.sum(dim=(1, 2, 3)), spread_part.sum(dim=1))
        size = self._plan.dimensions + 1
        cells = self._spread.shape[1]
        statistics = pixels.shape[1] + cells * (size * (size + 1) // 2 + 1)
        return (sum(parts, torch.zeros(self._classes, device=images.device)) * seen).sum() / (
            statistics * seen.sum().clamp(min=1.0)
        )

    def _cell_statistics(self, pixels: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """Sums (classes, cells, 1 + d, 1 + d) and (classes, cells) over the batch."""
        index = label.argmax(dim=1)
        inside = pixels @ self._basis - self._offsets[index]
        centres = self._centres[index]
        away = inside[:, None, :] - centres
        cell = away.detach().square().sum(dim=2).argmin(dim=1)
        away = away[torch.arange(len(pixels)), cell]
        reach = SPREAD_REACH * self._plan.cell_norm**2
        far = (away.square().sum(dim=1) / reach).clamp(max=1.0)
        lead = torch.full_like(away[:, :1], MOMENT_COUNT_WEIGHT * self._plan.cell_norm)
        short = torch.cat([lead, away * _factor(away, self._plan.cell_norm)], dim=1)
        place = index * self._centres.shape[1] + cell
        products, spread = [], []
        for number in range(self._centres.shape[0] * self._centres.shape[1]):
            chosen = short[place == number]
            products.append(chosen.T @ chosen)
            spread.append(far[place == number].sum())
        return torch.stack(products).reshape(self._products.shape), torch.stack(spread).reshape(
            self._spread.shape
        )


def _factor(vectors: Tensor, bound: float) -> Tensor:
    return (bound / vectors.square().sum(dim=1, keepdim=True).clamp(min=_SMALLEST**2).sqrt()).clamp(max=1.0)


def _scaled(difference: Tensor, variance: Tensor) -> Tensor:
    return difference.square() / variance


def _float(values: object) -> Tensor:
    return torch.as_tensor(values).float()
