"""The noise of the patent on feature regions, as it is written there, against the simplest attack: it must fail.

It adds Lap(Delta / epsilon) / |L| to every single input of a batch of |L| records, as if only the batch's sum left. One input
with that noise has |L| times the claimed loss. An attacker who sees one noisy binary feature of a person guesses it; under
epsilon no attacker is right more often than exp(epsilon) / (1 + exp(epsilon)).
"""

import math

import numpy as np

EPSILON, FEATURES, BATCH = 1.0, 12, 600
PEOPLE = 20_000


def guessed_right(scale: float) -> float:
    """How often a threshold guesses a fair binary feature from its noisy value."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 2, PEOPLE)
    return float(((values + rng.laplace(0.0, scale, PEOPLE) > 0.5) == values).mean())


def test_the_literal_noise_promises_what_it_does_not_keep() -> None:
    most = math.exp(EPSILON) / (1 + math.exp(EPSILON))
    literal = FEATURES / EPSILON / BATCH
    assert guessed_right(literal) > 0.95 > most
    # The same attack on Laplace noise for one record of sensitivity FEATURES stays within the bound of its one feature.
    error = 4 * math.sqrt(0.25 / PEOPLE)
    assert guessed_right(FEATURES / EPSILON) <= most + error
    assert guessed_right(1.0 / EPSILON) <= most + error, "the whole epsilon on one feature"
