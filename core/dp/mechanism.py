"""Mechanisms run on private rows, as frozen values with versioned JSON, independent of any accountant.

A noise multiplier is always the standard deviation of the noise over the L2 sensitivity of the query (for
Laplace: the scale over the L1 sensitivity). Meanings never change and kinds are never removed; a document of
an unknown version or kind is refused, because a mechanism that is not understood must not be accounted for. Adjacency is
always adding or removing one privacy unit.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, cast

from pydantic import Field

from core.dp.errors import InvalidMechanism, UnknownMechanism
from core.values import BelowOne, Positive, Published, Share, read, written

VERSION = 1
MOST_PARTS = 64
"""Parts of a `Parallel` or a `Chosen`, and candidates of one choice."""
SMALLEST_CHOICE, LARGEST_CHOICE = 1e-6, 100.0
"""Epsilon of one choice."""
SMALLEST_NOISE, LARGEST_NOISE = 1e-9, 1e12
"""Range of noise multipliers: outside it, squares leave the range in which float64 keeps its digits."""
LARGEST_COUNT = 10**12


def _check_noise_multiplier(noise_multiplier: float) -> None:
    if not SMALLEST_NOISE <= noise_multiplier <= LARGEST_NOISE:
        raise InvalidMechanism(
            f"a noise multiplier must lie between {SMALLEST_NOISE:g} and {LARGEST_NOISE:g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """A vector plus independent Gaussian noise on every coordinate."""

    kind: Literal["gaussian"] = field(default="gaussian", repr=False, compare=False)
    noise_multiplier: Annotated[float, Published(Positive)]

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Integer counts plus discrete Gaussian noise, where one unit changes exactly one count by one.

    That condition (a histogram) makes the privacy loss the one of a single count of sensitivity one.
    """

    kind: Literal["discrete-gaussian"] = field(default="discrete-gaussian", repr=False, compare=False)
    noise_multiplier: Annotated[float, Published(Positive)]

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """A number plus Laplace noise."""

    kind: Literal["laplace"] = field(default="laplace", repr=False, compare=False)
    noise_multiplier: Annotated[float, Published(Positive)]

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled:
    """A Gaussian run on a Poisson sample: every unit enters by an independent coin."""

    kind: Literal["poisson-sampled"] = field(default="poisson-sampled", repr=False, compare=False)
    sampling_rate: Annotated[float, Published(Share)]
    mechanism: Gaussian

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise InvalidMechanism("a sampling rate must be above 0 and at most 1")
        if not isinstance(self.mechanism, Gaussian):
            raise InvalidMechanism("only a Gaussian may be run on a Poisson sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The same mechanism run `count` times, each time with fresh coins and fresh noise."""

    kind: Literal["repeated"] = field(default="repeated", repr=False, compare=False)
    count: int
    mechanism: "Mechanism"

    def __post_init__(self) -> None:
        if not 1 <= self.count <= LARGEST_COUNT:
            raise InvalidMechanism("a repeated mechanism runs at least once, and at most 10^12 times")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """Several mechanisms in sequence; each may depend on earlier outputs. Empty: nothing ran."""

    kind: Literal["composed"] = field(default="composed", repr=False, compare=False)
    parts: tuple["Mechanism", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermuteAndFlip:
    """One of `candidates` chosen by a number of errors each: fewest errors most probable, pure `epsilon`.

    McKenna and Sheldon 2020, "Permute-and-Flip": the candidates are met in a random order, and one with z errors is
    taken with probability exp(-epsilon (z - fewest)). There is *no* factor 1/2 in the exponent, which rests on two
    conditions on the caller that counts the errors:

    1. Adjacency is adding or removing one unit (not replacing one).
    2. A unit adds 0 or 1 to the errors of each candidate, whatever the other units are. So when a unit is added, no
       count falls and none rises by more than one (the scores are monotone with sensitivity one).

    Proof of pure epsilon. The distribution is that of the fewest "z - Exponential(rate epsilon)" (Ding, Kifer, Steinke and others
    2021). Fix candidate i and the noise of all others. i is chosen if its noise exceeds
    r = max over k of (noise_k - z_k) + z_i. Adding a unit, with b_k in {0, 1} the errors it adds, changes r by at least
    b_i - max b_k >= -1 and at most b_i - min b_k <= 1. As P(noise > r) = exp(-epsilon max(r, 0)), the probability of i
    changes by a factor between exp(-epsilon) and exp(epsilon); so does its mean over the others' noise. With changes of
    both signs r could move by 2: there the factor 1/2 is needed (`tests/core/dp/test_choice.py` has such a case).
    """

    kind: Literal["permute-and-flip"] = field(default="permute-and-flip", repr=False, compare=False)
    epsilon: float
    candidates: int

    def __post_init__(self) -> None:
        if not SMALLEST_CHOICE <= self.epsilon <= LARGEST_CHOICE:
            raise InvalidMechanism(
                f"the epsilon of a choice must lie between {SMALLEST_CHOICE:g} and {LARGEST_CHOICE:g}"
            )
        if not 2 <= self.candidates <= MOST_PARTS:  # noqa: PLR2004 - a choice is between two at least
            raise InvalidMechanism(f"a choice is between 2 and {MOST_PARTS} candidates")


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Noisy counts under names that only the rows know, each name published if its count passes a threshold.

    The noise on the counts is accounted as a separate `Gaussian`. This is the rest: names that only one unit has must not
    pass, and one of them passes with probability q. Several lists of counts have q with 1 - q = product of (1 - q_i). `delta` is
    -log(1 - q), by which the delta of everything together grows, in both directions (docs/mechanisms/learning.md has the
    proof). No Renyi divergence is finite: a job with a threshold is admitted by basic composition or not at all.
    """

    kind: Literal["threshold"] = field(default="threshold", repr=False, compare=False)
    delta: Annotated[float, Published(BelowOne)]

    def __post_init__(self) -> None:
        if not 0 < self.delta < 1:
            raise InvalidMechanism("the delta of a threshold lies between 0 and 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Mechanisms on disjoint parts of the units, one part each; each may depend on earlier outputs.

    The part of a unit must depend only on that unit and fresh randomness (a keyed hash of it). Then one
    unit more or less changes one part: given the outputs before that part's, its mechanism is unchanged, and all others
    see the same rows. So the loss is dominated by one whose delta(epsilon) is at *every* epsilon the largest of the
    parts' (docs/mechanisms/selection.md). Parts of equal realised sizes would break this: a unit more moves others.
    """

    kind: Literal["parallel"] = field(default="parallel", repr=False, compare=False)
    parts: tuple["Mechanism", ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """One of several mechanisms; the choice may depend on any earlier releases.

    Whatever was released, one of the parts runs, so the loss is dominated like that of `Parallel`.
    """

    kind: Literal["chosen"] = field(default="chosen", repr=False, compare=False)
    parts: tuple["Mechanism", ...]

    def __post_init__(self) -> None:
        _check_parts(self.parts)


def _check_parts(parts: tuple["Mechanism", ...]) -> None:
    if not 1 <= len(parts) <= MOST_PARTS:
        raise InvalidMechanism(f"there are 1 to {MOST_PARTS} parts")
    pending = list(parts)
    while pending:
        match pending.pop():
            case Parallel() | Chosen():
                raise InvalidMechanism("a part holds no parts of its own")
            case Repeated(mechanism=inner):
                pending.append(inner)
            case Composed(parts=more):
                pending.extend(more)
            case Threshold():
                raise InvalidMechanism("a part has no threshold")
            case _:
                pass


Mechanism = Annotated[
    Gaussian
    | DiscreteGaussian
    | Laplace
    | PoissonSampled
    | Repeated
    | Composed
    | PermuteAndFlip
    | Threshold
    | Parallel
    | Chosen,
    Field(discriminator="kind"),
]
Runs = tuple[tuple["Leaf", int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The accountants' form of `Parallel` and `Chosen`: at every epsilon the largest delta of several compositions.

    In an order that does not depend on the order of the parts, without compositions that another one contains.
    """

    alternatives: tuple[Runs, ...]


Leaf = Gaussian | DiscreteGaussian | Laplace | PoissonSampled | PermuteAndFlip | Threshold | Largest


def _alternatives(parts: tuple[Mechanism, ...]) -> tuple[Runs, ...]:
    counted = {tuple(sorted(leaves(part).items(), key=repr)) for part in parts}
    kept = (runs for runs in counted if not any(_contained(runs, others) for others in counted - {runs}))
    return tuple(sorted(kept, key=repr))


def _contained(runs: Runs, others: Runs) -> bool:
    """Whether every leaf of `runs` runs at least as often in `others`."""
    larger = dict(others)
    return all(larger.get(leaf, 0) >= count for leaf, count in runs)


def leaves(mechanism: Mechanism | Leaf) -> dict[Leaf, int]:
    """Return every elementary mechanism with the number of times it runs; equal ones are counted together."""
    counts: dict[Leaf, int] = {}
    pending: list[tuple[Mechanism | Leaf, int]] = [(mechanism, 1)]
    while pending:
        current, times = pending.pop()
        match current:
            case Repeated(mechanism=inner, count=count):
                pending.append((inner, times * count))
            case Composed(parts=parts):
                pending.extend((part, times) for part in parts)
            case Parallel(parts=parts) | Chosen(parts=parts):
                alternatives = _alternatives(parts)
                runs = (
                    alternatives[0] if len(alternatives) == 1 else ((Largest(alternatives=alternatives), 1),)
                )
                for leaf, count in runs:
                    counts[leaf] = counts.get(leaf, 0) + count * times
            case _:
                counts[current] = counts.get(current, 0) + times
    return counts


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the mechanism as a JSON object with the member `version`."""
    return {"version": VERSION} | written(mechanism)


def from_json(document: Mapping[str, Any]) -> Mechanism:
    """Read what `to_json` wrote.

    Raises:
        UnknownMechanism: the version or a kind is not known to this software, or a member is missing or of the wrong type.
        InvalidMechanism: a parameter is out of range.
    """
    if document.get("version") != VERSION:
        raise UnknownMechanism(
            "the mechanism's version is not known", remedy="use the software version that wrote it"
        )
    body = {name: member for name, member in document.items() if name != "version"}
    try:
        return cast("Mechanism", read(Mechanism, body))
    except ValueError:
        raise UnknownMechanism(
            "the mechanism's kind is not known, or it lacks a member or has one of the wrong type"
        ) from None
