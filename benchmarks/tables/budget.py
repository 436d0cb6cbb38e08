"""Conversions of (epsilon, delta): the mu of one Gaussian mechanism, and the rho of zero-concentrated differential privacy."""

import math

from scipy.optimize import minimize_scalar

from core.dp.gaussian import largest_mu
from core.dp.guarantee import PrivacyGuarantee

_HALVINGS = 100


def mu_of(epsilon: float, delta: float) -> float:
    """Sensitivity over standard deviation of the least noisy Gaussian within (epsilon, delta); exact."""
    return largest_mu(PrivacyGuarantee(epsilon=epsilon, delta=delta))


def rho_of(epsilon: float, delta: float) -> float:
    """The largest rho of zCDP within (epsilon, delta), rounded down."""
    low, high = 0.0, epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle, epsilon) <= math.log(delta) else (low, middle)
    return low


def log_delta(rho: float, epsilon: float) -> float:
    """Logarithm of the delta of rho-zCDP at `epsilon`.

    The minimum over orders a > 1 of (a-1)(a rho - epsilon) - log(a-1) + a log(1 - 1/a): Canonne, Kamath and Steinke
    2020 (arXiv 2004.00010), proposition 12. Every order gives a valid bound, so an inexact minimum is safe.
    """

    def at(log_order_less_1: float) -> float:
        less = math.exp(log_order_less_1)
        order = 1 + less
        return (
            less * (order * rho - epsilon) - log_order_less_1 + order * (log_order_less_1 - math.log(order))
        )

    found = minimize_scalar(at, bounds=(-10.0, 15.0), method="bounded", options={"xatol": 1e-10})
    return min(float(found.fun), 0.0)
