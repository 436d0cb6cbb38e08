"""The sentences of a charged report: part of its version, so that a changed word is seen."""

from typing import Final

from core.releases import statements as say

READING: Final = (
    (
        "An error of a column, or of a pair of columns, is the total variation distance of the table's law from the "
        "release's: 0 where they are the same, 1 where they share nothing; half the sum of the absolute differences of "
        "the shares of all codes, of a pair over at most eight public bins a column."
    ),
    (
        "The score is the share of the table's units for which a classifier that learnt from synthetic rows alone "
        "predicts the target; of a unit with several records, the share of its records."
    ),
    (
        "noisy is what the mechanism gave. estimate is noisy within 0 and 1. Noise of the standard deviation noise_std "
        "was added, so the number without noise lies between low and high in 95 of 100 such intervals."
    ),
    (
        "All shares of the table are taken of its declared size. Where it is not the true one, an error is off by up to "
        "half of their difference over the declared size, and so is the score."
    ),
    (
        "by_chance is the error that a perfect release would show on average, because table and synthetic rows are "
        "samples: an error near it says nothing against the release."
    ),
    (
        "on_synthetic is what the classifier reaches on further synthetic rows, and most_frequent the share of their "
        "most frequent class: a score is worth what it has above that share."
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
    "The release's share of every code comes from synthetic rows drawn with a public seed, and the classifier learnt "
    "from them alone; by_chance, on_synthetic and most_frequent are computed without the table."
)
ACROSS: Final = say.COMPOSITION_ACROSS
UNPROTECTED: Final = say.UNPROTECTED
NOT_COVERED: Final = say.NOT_COVERED
