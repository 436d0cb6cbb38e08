"""Mechanisms as events of the dp-accounting library, to compare our accountants with its own."""

import dp_accounting

from core.dp.mechanism import (
    Composed,
    DiscreteGaussian,
    Gaussian,
    Laplace,
    Mechanism,
    PoissonSampled,
    Repeated,
)


def to_event(mechanism: Mechanism) -> dp_accounting.DpEvent:
    """Translate to the accounting library's events.

    The library has no event for the discrete Gaussian. It is given as the Gaussian of the same multiplier,
    whose Renyi divergence bounds it at every order (Canonne, Kamath and Steinke 2020, proposition 5); the
    loss distribution in `core.dp.loss` uses the discrete mechanism itself. It has none for choices and parallel parts
    under adding or removing a unit either, and is given one that it refuses.
    """
    match mechanism:
        case Gaussian(noise_multiplier=multiplier) | DiscreteGaussian(noise_multiplier=multiplier):
            return dp_accounting.GaussianDpEvent(multiplier)
        case Laplace(noise_multiplier=multiplier):
            return dp_accounting.LaplaceDpEvent(multiplier)
        case PoissonSampled(sampling_rate=rate, mechanism=inner):
            return dp_accounting.PoissonSampledDpEvent(rate, to_event(inner))
        case Repeated(mechanism=repeated, count=count):
            return dp_accounting.SelfComposedDpEvent(to_event(repeated), count)
        case Composed(parts=parts):
            return dp_accounting.ComposedDpEvent([to_event(part) for part in parts])
        case _:
            return dp_accounting.UnsupportedDpEvent()
