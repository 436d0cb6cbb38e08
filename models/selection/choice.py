"""Permute-and-flip, sampled exactly in integers and rationals, so its distribution is the one that the accountant assumes.

McKenna and Sheldon 2020, "Permute-and-Flip: A New Mechanism for Differentially Private Selection", algorithm 1.
`core.dp.mechanism.PermuteAndFlip` says what may be counted and why the exponent has no factor 1/2.
"""

from collections.abc import Sequence
from fractions import Fraction

from models.dp.discrete import bernoulli_exp
from models.randomness import KeyedStreams, KeystreamReader, Purpose


def choose(errors: Sequence[int], *, epsilon: float, streams: KeyedStreams) -> int:
    """The index of the chosen candidate, determined by the errors and the key.

    Args:
        errors: of every candidate, on the same units; private.
        epsilon: of the choice; taken as the exact rational number that the float is.
    """
    return permute_and_flip(streams.reader(Purpose.SELECTION_CHOICE, 0), errors, Fraction(epsilon))


def permute_and_flip(reader: KeystreamReader, errors: Sequence[int], epsilon: Fraction) -> int:
    """Visit the candidates in random order and accept one with `z` errors with probability `exp(-epsilon (z - fewest))`.

    A candidate with the fewest errors is always accepted, so the loop ends.
    """
    fewest = min(errors)
    waiting = list(range(len(errors)))
    while True:
        candidate = waiting.pop(reader.below(len(waiting)))
        if bernoulli_exp(reader, epsilon * (errors[candidate] - fewest)):
            return candidate
