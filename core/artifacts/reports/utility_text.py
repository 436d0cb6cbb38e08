"""The sentences of a utility report. They belong to its version: changing a word changes the version."""

from typing import Final

from core.artifacts import statements as say

OF_IMAGES: Final = (
    "Of images the label, where there are labels, counts as a column, and so do two facts of the values x from 0 to 255: "
    "brightness, the whole part of 32 mean(x) / 256, and detail, the whole part of twice the square root of the mean "
    "absolute difference between a value and the next one of its row and of its column in the same channel. The "
    "classifier sees the values, added up over squares where a side is longer than 32."
)
"""What is measured of images. Pages of tables leave it out."""
READING: Final = (
    (
        "An error of a column, or of a pair of columns, is the total variation distance of the dataset's law from the "
        "release's: 0 where they are the same, 1 where they share nothing; half the sum of the absolute differences of "
        "the shares of all codes, of a pair over at most eight public bins a column."
    ),
    OF_IMAGES,
    (
        "The score is the share of the dataset's units for which a classifier that learnt from synthetic records alone "
        "predicts the target; of a unit with several records, the share of its records."
    ),
    (
        "noisy is what the mechanism gave. estimate is noisy within 0 and 1. Noise of the standard deviation noise_std "
        "was added, so the number without noise lies between low and high in 95 of 100 such intervals."
    ),
    (
        "All shares of the dataset are taken of its declared size. Where it is not the true one, an error is off by up to "
        "half of their difference over the declared size, and so is the score."
    ),
    (
        "by_chance is the error that a perfect release would show on average, because dataset and synthetic records "
        "are samples: an error near it says nothing against the release."
    ),
    (
        "on_synthetic is what the classifier reaches on further synthetic records, and most_frequent the share of "
        "their most frequent class: a score is worth what it has above that share."
    ),
)
PROMISE: Final = (
    "For every pair of datasets that differ by all records of one privacy unit, and every set of outputs, the "
    "probability of the set under one dataset is at most exp(epsilon) times that under the other, plus delta. This "
    "holds for all numbers of this report together, given the release that they are about."
)
WITHIN: Final = (
    "All terms are one Gaussian mechanism: one unit moves each by at most one record, a unit's records count as their "
    "average, and the squared sensitivity in units of the noise is the sum of 1 / noise_std^2 over all terms."
)
PUBLIC_SIDE: Final = (
    "The release's share of every code comes from synthetic records drawn with a public seed, and the classifier learnt "
    "from them alone; by_chance, on_synthetic and most_frequent are computed without the dataset."
)
ACROSS: Final = say.COMPOSITION_ACROSS
UNPROTECTED: Final = say.UNPROTECTED
NOT_COVERED: Final = say.NOT_COVERED
