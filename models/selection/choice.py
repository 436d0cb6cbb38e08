"""Permute-and-flip, drawn exactly: integers and rationals only, so the law is the one that the accountant assumes.

McKenna and Sheldon 2020, "Permute-and-Flip: A New Mechanism for Differentially Private Selection", algorithm 1; what may
be counted, and why the exponent has no factor 1/2, is said where the cost is (`core.privacy.mechanism.PermuteAndFlip`).
"""

from collections.abc import Sequence
from fractions import Fraction

from models.dp.discrete import bernoulli_exp
from models.randomness import KeyedStreams, KeystreamReader, Purpose


def choose(errors: Sequence[int], *, epsilon: float, streams: KeyedStreams) -> int:
    """The index of the chosen candidate: the same for the same errors and key.

    Args:
        errors: of every candidate, on the same units; private.
        epsilon: of the choice; taken as the exact rational number that the float is.
        streams: randomness of the job.
    """
    return permute_and_flip(streams.reader(Purpose.SELECTION_CHOICE, 0), errors, Fraction(epsilon))


def permute_and_flip(reader: KeystreamReader, errors: Sequence[int], epsilon: Fraction) -> int:
    """Meet the candidates in a random order, and take one with `z` errors with probability `exp(-epsilon (z - fewest))`.

    The first candidate with the fewest errors is taken at the latest.
    """
    fewest = min(errors)
    waiting = list(range(len(errors)))
    while True:
        candidate = waiting.pop(reader.below(len(waiting)))
        if bernoulli_exp(reader, epsilon * (errors[candidate] - fewest)):
            return candidate
