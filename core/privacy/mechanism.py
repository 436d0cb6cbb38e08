"""What was run on private rows, as frozen values with versioned JSON, independent of who accounts for it.

A noise multiplier is always the standard deviation of the noise over the L2 sensitivity of the query (for
Laplace: the scale over the L1 sensitivity). Meanings never change and kinds are never removed; a document of
an unknown version or kind is refused, because a mechanism that is not understood must not be accounted for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.privacy.errors import InvalidMechanism, UnknownMechanism

VERSION = 1
SMALLEST_NOISE, LARGEST_NOISE = 1e-9, 1e12
"""Outside, squares leave the range in which float64 keeps its digits."""
LARGEST_COUNT = 10**12


def _check_noise_multiplier(noise_multiplier: float) -> None:
    if not SMALLEST_NOISE <= noise_multiplier <= LARGEST_NOISE:
        raise InvalidMechanism(
            f"a noise multiplier must lie between {SMALLEST_NOISE:g} and {LARGEST_NOISE:g}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaussian:
    """A vector plus independent Gaussian noise on every coordinate."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteGaussian:
    """Integer counts plus discrete Gaussian noise, where one unit changes exactly one count by one.

    That condition (a histogram) makes the privacy loss the one of a single count of sensitivity one.
    """

    noise_multiplier: float

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class Laplace:
    """A number plus Laplace noise."""

    noise_multiplier: float

    def __post_init__(self) -> None:
        _check_noise_multiplier(self.noise_multiplier)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoissonSampled:
    """A Gaussian run on a Poisson sample: every unit enters by an independent coin."""

    sampling_rate: float
    mechanism: Gaussian

    def __post_init__(self) -> None:
        if not 0 < self.sampling_rate <= 1:
            raise InvalidMechanism("a sampling rate must be above 0 and at most 1")
        if not isinstance(self.mechanism, Gaussian):
            raise InvalidMechanism("only a Gaussian may be run on a Poisson sample")


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The same mechanism run `count` times, each time with fresh coins and fresh noise."""

    mechanism: "Mechanism"
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.count <= LARGEST_COUNT:
            raise InvalidMechanism("a repeated mechanism runs at least once, and at most 10^12 times")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """Several mechanisms, one after the other; each may look at the outputs before it. Empty: nothing ran."""

    parts: tuple["Mechanism", ...]


Mechanism = Gaussian | DiscreteGaussian | Laplace | PoissonSampled | Repeated | Composed
Leaf = Gaussian | DiscreteGaussian | Laplace | PoissonSampled


def leaves(mechanism: Mechanism) -> dict[Leaf, int]:
    """Return every elementary mechanism with the number of times it runs; equal ones are counted together."""
    counts: dict[Leaf, int] = {}
    pending: list[tuple[Mechanism, int]] = [(mechanism, 1)]
    while pending:
        current, times = pending.pop()
        match current:
            case Repeated(mechanism=inner, count=count):
                pending.append((inner, times * count))
            case Composed(parts=parts):
                pending.extend((part, times) for part in parts)
            case _:
                counts[current] = counts.get(current, 0) + times
    return counts


def to_json(mechanism: Mechanism) -> dict[str, Any]:
    """Return the mechanism as a JSON object with the member `version`."""
    return {"version": VERSION} | _body(mechanism)


def _body(mechanism: Mechanism) -> dict[str, Any]:
    match mechanism:
        case Gaussian(noise_multiplier=multiplier):
            return {"kind": "gaussian", "noise_multiplier": multiplier}
        case DiscreteGaussian(noise_multiplier=multiplier):
            return {"kind": "discrete-gaussian", "noise_multiplier": multiplier}
        case Laplace(noise_multiplier=multiplier):
            return {"kind": "laplace", "noise_multiplier": multiplier}
        case PoissonSampled(sampling_rate=rate, mechanism=inner):
            return {"kind": "poisson-sampled", "sampling_rate": rate, "mechanism": _body(inner)}
        case Repeated(mechanism=repeated, count=count):
            return {"kind": "repeated", "count": count, "mechanism": _body(repeated)}
        case _:
            return {"kind": "composed", "parts": [_body(part) for part in mechanism.parts]}


def from_json(document: Mapping[str, Any]) -> Mechanism:
    """Read what `to_json` wrote.

    Raises:
        UnknownMechanism: the version or a kind is not known to this software, or a member is missing.
        InvalidMechanism: a parameter is out of range.
    """
    if document.get("version") != VERSION:
        raise UnknownMechanism(
            "the mechanism's version is not known", remedy="use the software version that wrote it"
        )
    try:
        return _parse(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError):
        raise UnknownMechanism("the mechanism lacks a member or has one of the wrong type") from None


def _parse(document: Mapping[str, Any]) -> Mechanism:
    match document["kind"]:
        case "gaussian":
            return Gaussian(noise_multiplier=float(document["noise_multiplier"]))
        case "discrete-gaussian":
            return DiscreteGaussian(noise_multiplier=float(document["noise_multiplier"]))
        case "laplace":
            return Laplace(noise_multiplier=float(document["noise_multiplier"]))
        case "poisson-sampled":
            inner = _parse(document["mechanism"])
            if not isinstance(inner, Gaussian):
                raise UnknownMechanism("only a Gaussian may be run on a Poisson sample")
            return PoissonSampled(sampling_rate=float(document["sampling_rate"]), mechanism=inner)
        case "repeated":
            return Repeated(mechanism=_parse(document["mechanism"]), count=_count(document["count"]))
        case "composed":
            return Composed(parts=tuple(_parse(part) for part in document["parts"]))
        case _:
            raise UnknownMechanism("the mechanism's kind is not known")


def _count(value: object) -> int:
    if type(value) is not int:
        raise UnknownMechanism("a count is an integer")
    return value
