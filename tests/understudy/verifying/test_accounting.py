"""The verifier's accountants against closed forms, against the service's, and against each other."""

import math
import warnings

import numpy as np
import pytest

from core.dp.accountant import epsilons
from core.dp.charge import charge_of
from core.dp.mechanism import Composed, DiscreteGaussian, Gaussian, Mechanism, PoissonSampled, Repeated
from understudy.verifying import accounting, loss, renyi
from understudy.verifying.bounds import Bounds, NoiseKind, Part


def part(noise: float, *, rate: float = 1.0, count: int = 1, kind: NoiseKind = NoiseKind.GAUSSIAN) -> Part:
    return Part(kind=kind, noise_multiplier=noise, sampling_rate=rate, count=count)


def mechanism(*parts: Part) -> Mechanism:
    made: list[Mechanism] = []
    for each in parts:
        if each.kind is NoiseKind.DISCRETE_GAUSSIAN:
            made.append(DiscreteGaussian(noise_multiplier=each.noise_multiplier))
            continue
        noise = Gaussian(noise_multiplier=each.noise_multiplier)
        sampled = PoissonSampled(sampling_rate=each.sampling_rate, mechanism=noise)
        made.append(Repeated(mechanism=sampled, count=each.count))
    return Composed(parts=tuple(made))


CASES = {
    "one step": ((part(1.0, rate=0.1),), 1e-6),
    "many steps": ((part(1.1, rate=0.01, count=5000),), 1e-6),
    "small noise": ((part(0.6, rate=0.02, count=20),), 1e-5),
    "mixed": (
        (part(8.0, kind=NoiseKind.DISCRETE_GAUSSIAN), part(4.0), part(2.0, rate=0.03, count=300), part(1.7, rate=0.03, count=12)),
        1e-6,
    ),
    "small delta": ((part(1.5, rate=0.02, count=200),), 1e-11),
    "kinked": ((part(1.06, rate=0.03, count=60), part(0.8, rate=0.03, count=60), part(0.7, rate=0.03, count=18)), 1e-6),
    "nearly whole": ((part(20.0, rate=0.99, count=30),), 1e-6),
}  # fmt: skip


def recomputed(name: str) -> tuple[Bounds, Bounds, tuple[Part, ...], float]:
    parts, delta = CASES[name]
    found = accounting.recompute(parts, delta)
    assert found.pld is not None
    return found.pld, found.rdp, parts, delta


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_service_states_what_the_enclosure_allows_and_the_enclosure_is_narrow(name: str) -> None:
    pld, rdp, parts, delta = recomputed(name)
    stated = epsilons(mechanism(*parts), delta=delta)

    assert pld.low * (1 - 1e-9) <= stated.pld <= pld.high * (1 + accounting.PESSIMISM)
    assert rdp.low <= stated.rdp <= rdp.high * (1 + 1e-9)
    assert pld.high / pld.low < 1.01
    # Whole orders alone bound the statement from above, coarsely where the best order is near one.
    assert rdp.high / rdp.low < 1.1


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.02, 1.1, 800), (0.1, 5.43, 200), (0.3, 3.0, 20)])
def test_the_enclosure_meets_that_of_opacus(rate: float, noise: float, steps: int) -> None:
    """Its PRV accountant states the upper end of an enclosure that is `eps_error` wide on either side."""
    from opacus.accountants import PRVAccountant

    accountant, error = PRVAccountant(), 0.01
    accountant.history = [(noise, rate, steps)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its search for a safe domain warns about its own orders
        upper = float(accountant.get_epsilon(1e-5, eps_error=error))
    found = accounting.recompute((part(noise, rate=rate, count=steps),), 1e-5).pld
    assert found is not None
    assert upper - 2 * error - 1e-3 <= found.low <= found.high <= upper + 1e-3


@pytest.mark.parametrize("name", sorted(CASES))
def test_amounts_of_the_ledger_are_the_same_to_the_millionth(name: str) -> None:
    _pld, _rdp, parts, delta = recomputed(name)
    charge = charge_of(mechanism(*parts), delta=delta)
    mine = [math.ceil(renyi.divergence(parts, order) * 1e6) for order in renyi.CHARGED_ORDERS]
    assert list(charge.rdp_micros) == mine


def test_one_sampled_step_encloses_its_closed_form() -> None:
    """delta(epsilon) of one step is known exactly; the epsilon where it is `delta` must lie inside."""
    from scipy.optimize import brentq
    from scipy.stats import norm

    sigma, rate, delta = 1.0, 0.1, 1e-6

    def excess(epsilon: float) -> float:
        cut = sigma**2 * math.log(math.expm1(epsilon) / rate + 1) + 0.5
        above = rate * norm.sf((cut - 1) / sigma) + (1 - rate) * norm.sf(cut / sigma)
        return float(above - math.exp(epsilon) * norm.sf(cut / sigma) - delta)

    exact = brentq(excess, 1e-3, 10.0, xtol=1e-12)
    pld, _rdp, _parts, _delta = recomputed("one step")
    assert pld.low < exact < pld.high


def test_gaussians_in_two_guises_have_one_epsilon() -> None:
    """Composed by Fourier transform as if sampled nearly always, and by the closed form."""
    exact = loss.gaussian_epsilon(math.sqrt(30) / 20.0, 1e-6)
    sampled, _rdp, _parts, _delta = recomputed("nearly whole")
    assert 0.97 * exact < sampled.low < sampled.high < exact
    bounds = loss.epsilon_bounds((part(20.0, count=30),), 1e-6, scale=1.0)
    assert bounds is not None
    assert bounds.low <= exact <= bounds.high


def test_the_divergence_at_a_whole_order_is_its_integral() -> None:
    for noise, rate in ((0.8, 0.05), (1.0, 0.2), (4.0, 0.01)):
        for order in (2, 5, 32):
            one = part(noise, rate=rate)
            # private: compared with the formula for whole orders, which the public function prefers there
            assert renyi._integrated(one, float(order)) == pytest.approx(
                renyi.divergence((one,), order), rel=1e-7
            )


@pytest.mark.parametrize("name", ["mixed", "kinked"])
def test_the_orders_tried_between_whole_ones_are_close_enough(name: str) -> None:
    """The least over many more orders is within the tolerance that the lower bound allows for."""
    _pld, rdp, parts, delta = recomputed(name)
    fine = min(
        renyi.converted(renyi.integrated(parts, order), order, delta)
        for order in map(float, np.geomspace(3, 60, 1500))
    )
    assert rdp.low <= fine
    assert fine <= rdp.high


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"pld": 0.99}, "at least"),
        ({"pld": 1.1}, "at most"),
        ({"rdp": 0.99, "reported": 0.99}, "between"),
        ({"rdp": 1.2}, "between"),
        ({"reported": 0.5}, "smaller of the two"),
    ],
    ids=["less by losses", "more by losses", "less by divergences", "more by divergences", "reported"],
)
def test_a_statement_that_is_not_true_is_found(change: dict[str, float], why: str) -> None:
    found = accounting.Recomputed(pld=Bounds(low=0.999, high=1.001), rdp=Bounds(low=1.05, high=1.08))
    stated = {"pld": 1.0, "rdp": 1.07, "reported": 1.0}
    certificate = {"epsilon": stated, "privacy_parameters": {"epsilon": 1.0}}
    assert not list(accounting.epsilon_problems(certificate, found))
    problems = list(accounting.epsilon_problems(certificate | {"epsilon": stated | change}, found))
    assert problems
    assert why in " ".join(problems)


def test_what_is_too_large_to_be_computed_is_refused_not_believed() -> None:
    found = accounting.recompute((part(1e-4, rate=0.5, count=10),), 1e-6)
    assert found.pld is None
    certificate = {
        "epsilon": {"pld": 0.1, "rdp": 0.1, "reported": 0.1},
        "privacy_parameters": {"epsilon": 1.0},
    }
    assert "too large" in " ".join(accounting.epsilon_problems(certificate, found))
