"""The plan of the moment anchor of images: five kinds of Gaussian releases, fixed before any image is read.

docs/mechanisms/image-anchor.md defines them and derives their sensitivities. All norms are Euclidean, of pixel values in
[0, 1]. The rules depend on public facts only: guarantee, declared size, shape and number of classes.
"""

import math
from dataclasses import dataclass

from core.dp.calibration import gaussian_noise_multiplier, round_up
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import LARGEST_NOISE, SMALLEST_NOISE, Composed, Gaussian, Mechanism
from core.plan.errors import InvalidPlan
from core.plan.gaussian_releases import GaussianReleases, sensitivity_above
from core.values import Count, CountOrNone, NotNegative, OrAbsent, OrFalse, Positive

COUNT_WEIGHT = 0.3
"""Weight of a count released with a sum, relative to the sum's clipping norm."""
MOMENT_COUNT_WEIGHT = 0.5
"""The constant 1 that leads a record in its second moments, relative to their clipping norm."""
SPREAD_WEIGHT = 0.3
"""Weight of the sum of squared distances released with the second moments, relative to their sensitivity."""
SPREAD_REACH = 3.0
"""Squared distances are clipped at this many squared clipping norms."""
BRIGHTNESS_REACH = 0.5
"""The most by which the mean of an image's pixels differs from 1/2."""
MOST_DIMENSIONS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageAnchorPlan(GaussianReleases):
    """Releases on all images: brightness, means, basis, rounds of cells, moments; every noise multiplier is std over sensitivity.

    Raises:
        InvalidPlan: a number out of its range.
    """

    UNREADABLE = InvalidPlan, "the plan of the image anchor lacks a member or has one of the wrong type"

    means_noise_multiplier: Positive
    """Class counts and sums of pixels."""
    basis_noise_multiplier: Positive
    """Second moments of all residuals in the low frequencies; their leading directions are the basis."""
    cells_noise_multiplier: NotNegative
    """Counts and sums of the cells, each round."""
    moments_noise_multiplier: Positive
    """Counts, means and second moments of every cell of every class inside the basis."""
    frequencies: Count
    """Low frequencies kept along each side."""
    dimensions: Count
    """Directions of the basis."""
    cells: Count
    """Components of every class."""
    rounds: CountOrNone
    """Refinements of the cells' centres, each a release; 0 if a class is one cell."""
    image_norm: Positive
    """Clipping norm of an image, less `origin`, in the sums."""
    residual_norm: Positive
    """Clipping norm of an image minus its class mean, in the basis release and in the rounds."""
    cell_norm: Positive
    """Clipping norm of a residual minus its cell's centre, in the moments."""
    about_grey: OrFalse = False
    """Whether images are summed less 1/2, in plans between those from black and those with a release of brightness."""
    brightness_noise_multiplier: OrAbsent[Positive] = None
    """Count and sum of the images' brightness, from which the value that `means` subtracts follows; older plans lack it."""

    def __post_init__(self) -> None:
        norms = (self.image_norm, self.residual_norm, self.cell_norm)
        # Above 512 a clipped norm could exceed that of any image of 256 x 256 pixels in colour; below 2^-4 the
        # grid of clipped vectors would be coarse.
        if not all(0.0625 <= norm <= 512.0 for norm in norms):  # noqa: PLR2004
            raise InvalidPlan("a clipping norm of the image anchor lies between 1/16 and 512")
        if not 1 <= self.dimensions <= min(MOST_DIMENSIONS, 3 * self.frequencies**2):
            raise InvalidPlan("the image anchor has no such number of dimensions")
        if self.frequencies < 1 or not 1 <= self.cells <= 64 or (self.rounds > 0) != (self.cells > 1):  # noqa: PLR2004
            raise InvalidPlan(
                "the image anchor has from 1 to 64 cells a class, and rounds exactly where there are two"
            )
        noises = (self.means_noise_multiplier, self.basis_noise_multiplier, self.moments_noise_multiplier)
        used = (*noises, self.cells_noise_multiplier) if self.rounds else noises
        if self.brightness_noise_multiplier is not None:
            used = (self.brightness_noise_multiplier, *used)
            if self.about_grey:
                raise InvalidPlan(
                    "the image anchor sums images about grey or about their brightness, not both"
                )
        if not all(SMALLEST_NOISE <= noise <= LARGEST_NOISE for noise in used):
            raise InvalidPlan("every release of the image anchor has noise")
        if not 0 <= self.rounds <= 16:  # noqa: PLR2004
            raise InvalidPlan("the image anchor has at most 16 rounds")

    @property
    def origin(self) -> float | None:
        """The value that is subtracted from every pixel before images are clipped and summed; None if it follows from a release."""
        if self.brightness_noise_multiplier is not None:
            return None
        return 0.5 if self.about_grey else 0.0

    @property
    def brightness_sensitivity(self) -> float:
        """L2 sensitivity of the weighted count and the sum of brightness less 1/2."""
        return sensitivity_above(BRIGHTNESS_REACH * math.hypot(1.0, COUNT_WEIGHT))

    @property
    def means_sensitivity(self) -> float:
        """L2 sensitivity of the weighted class counts and the sums."""
        return sensitivity_above(self.image_norm * math.hypot(1.0, COUNT_WEIGHT))

    @property
    def basis_sensitivity(self) -> float:
        """Frobenius sensitivity of the second moments of residuals."""
        return sensitivity_above(self.residual_norm**2)

    @property
    def cells_sensitivity(self) -> float:
        """L2 sensitivity of one round's weighted counts and sums."""
        return sensitivity_above(self.residual_norm * math.hypot(1.0, COUNT_WEIGHT))

    @property
    def moments_sensitivity(self) -> float:
        """L2 sensitivity of the cells' second moments and squared distances."""
        return sensitivity_above(
            (1.0 + MOMENT_COUNT_WEIGHT**2) * self.cell_norm**2 * math.hypot(1.0, SPREAD_WEIGHT)
        )

    @property
    def releases(self) -> tuple[tuple[str, int, float, float], ...]:
        """The releases, in order: name, times, sensitivity, noise multiplier."""
        rounds = ("anchor-cells", self.rounds, self.cells_sensitivity, self.cells_noise_multiplier)
        noise = self.brightness_noise_multiplier
        return (
            *(() if noise is None else (("anchor-brightness", 1, self.brightness_sensitivity, noise),)),
            ("anchor-means", 1, self.means_sensitivity, self.means_noise_multiplier),
            ("anchor-basis", 1, self.basis_sensitivity, self.basis_noise_multiplier),
            *((rounds,) if self.rounds else ()),
            ("anchor-moments", 1, self.moments_sensitivity, self.moments_noise_multiplier),
        )

    @property
    def parts(self) -> tuple[Gaussian, ...]:
        """The mechanism of every release, in order."""
        return tuple(
            Gaussian(noise_multiplier=noise) for _, times, _, noise in self.releases for _ in range(times)
        )

    @property
    def mechanism(self) -> Mechanism:
        """The composition of all releases. Every unit takes part, so there is no amplification by sampling."""
        return Composed(parts=self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorShape:
    """The size of the anchor at a level of noise: one row of the public rule."""

    frequencies: int
    dimensions: int
    cells: int
    shares: tuple[float, float, float, float]
    """Shares of means, basis, all rounds of cells, and moments in what the brightness leaves; in squared mu."""


def image_anchor_plan(
    guarantee: PrivacyGuarantee,
    *,
    share: float,
    declared_size: int,
    shape: tuple[int, int, int],
    classes: int,
) -> ImageAnchorPlan:
    """Return the plan by public rules.

    Args:
        guarantee: Of the whole job.
        share: Of the guarantee's squared Gaussian mu that the anchor may take.
        shape: Height, width and channels of every image.
        classes: Number of declared labels, 0 without labels.
    """
    height, width, channels = shape
    whole = gaussian_noise_multiplier(guarantee, share=share)
    row = shape_of(declared_size / (max(classes, 1) * whole))
    frequencies = min(row.frequencies, height, width)
    means, basis, cells, moments = ((1.0 - BRIGHTNESS_SHARE) * part for part in row.shares)
    rounds = 1 if row.cells > 1 else 0

    def noise(part: float) -> float:
        return gaussian_noise_multiplier(guarantee, share=share * part)

    scale = math.sqrt(height * width * channels)
    return ImageAnchorPlan(
        brightness_noise_multiplier=noise(BRIGHTNESS_SHARE),
        means_noise_multiplier=noise(means),
        basis_noise_multiplier=noise(basis),
        cells_noise_multiplier=noise(cells / rounds) if rounds else 0.0,
        moments_noise_multiplier=noise(moments),
        frequencies=frequencies,
        dimensions=min(row.dimensions, frequencies**2 * channels),
        cells=row.cells,
        rounds=rounds,
        image_norm=round_up(max(IMAGE_NORM * scale, 1.0)),
        residual_norm=round_up(max(RESIDUAL_NORM * scale, 1.0)),
        cell_norm=round_up(max((CELL_NORM if row.cells > 1 else RESIDUAL_NORM) * scale, 1.0)),
    )


IMAGE_NORM, RESIDUAL_NORM, CELL_NORM = 0.45, 0.15, 0.12
"""Clipping norms over the square root of the number of pixels and channels."""
BRIGHTNESS_SHARE = 0.005
"""Share of the anchor's squared mu that the release of brightness takes."""
DARK = 1 / 3
"""Noisy brightness below which images are summed from black, and not about their brightness."""
SHAPES = (
    (800.0, AnchorShape(frequencies=10, dimensions=30, cells=1, shares=(0.15, 0.2, 0.0, 0.65))),
    (3000.0, AnchorShape(frequencies=14, dimensions=50, cells=1, shares=(0.1, 0.2, 0.0, 0.7))),
    (8000.0, AnchorShape(frequencies=14, dimensions=60, cells=8, shares=(0.1, 0.2, 0.1, 0.6))),
    (math.inf, AnchorShape(frequencies=14, dimensions=80, cells=8, shares=(0.1, 0.2, 0.1, 0.6))),
)
"""Rows by upper limit of the signal: declared units per class over the anchor's noise multiplier."""


def shape_of(signal: float) -> AnchorShape:
    """Return the row of the public rule for a signal: declared units per class over the anchor's noise multiplier."""
    return next(row for limit, row in SHAPES if signal <= limit)
