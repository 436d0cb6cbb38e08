"""The verifier's accountant of selections against the service's, against closed forms, and against wrong shortcuts."""

import math

import pytest

from core.dp.accountant import epsilons, rdp_at
from core.dp.mechanism import Chosen, Composed, Mechanism, Parallel, PermuteAndFlip
from tests.understudy.verifying.test_accounting import mechanism, part
from understudy.verifying import accounting, adaptive, renyi
from understudy.verifying.adaptive import Selecting
from understudy.verifying.bounds import NoiseKind

LONG = (part(4.0), part(2.0, rate=0.03, count=300))
SHORT = (part(8.0, kind=NoiseKind.DISCRETE_GAUSSIAN), part(1.7, rate=0.03, count=200))
PLAIN = (part(5.0),)
CASES = {
    "cheap choice": Selecting(candidates=(LONG, SHORT), choice_epsilon=0.3, finals=(LONG, SHORT)),
    "dear choice": Selecting(candidates=(PLAIN, LONG), choice_epsilon=1.2, finals=(SHORT, PLAIN)),
    "dearest choice": Selecting(candidates=(PLAIN, SHORT, LONG), choice_epsilon=2.5, finals=(LONG,) * 3),
    "all plain": Selecting(candidates=(PLAIN, PLAIN), choice_epsilon=0.005, finals=(PLAIN, PLAIN)),
}


def stated(selecting: Selecting) -> Mechanism:
    choice = PermuteAndFlip(epsilon=selecting.choice_epsilon, candidates=len(selecting.candidates))
    return Composed(
        parts=(
            Parallel(parts=(*(mechanism(*one) for one in selecting.candidates), choice)),
            Chosen(parts=tuple(mechanism(*one) for one in selecting.finals)),
        )
    )


@pytest.mark.parametrize("name", sorted(CASES))
@pytest.mark.parametrize("delta", [1e-9, 1e-5])
def test_the_service_states_what_the_enclosure_allows_and_the_enclosure_is_narrow(
    name: str, delta: float
) -> None:
    found = adaptive.recompute(CASES[name], delta)
    ours = epsilons(stated(CASES[name]), delta=delta)

    assert found.pld is not None
    assert found.pld.low * (1 - 1e-9) <= ours.pld <= found.pld.high * (1 + accounting.PESSIMISM)
    assert found.rdp.low <= ours.rdp <= found.rdp.high * (1 + 1e-9)
    assert found.pld.high / found.pld.low < 1.01
    for order in renyi.CHARGED_ORDERS:
        charged = rdp_at(stated(CASES[name]), (order,))[0]
        assert adaptive.divergence(CASES[name], order) == pytest.approx(charged, rel=1e-9)


def test_gaussians_and_a_choice_that_counts_for_nothing_are_one_gaussian() -> None:
    found = adaptive.recompute(CASES["all plain"], 1e-6)
    exact = accounting.loss.gaussian_epsilon(math.sqrt(2) / 5, 1e-6)

    assert found.pld is not None
    assert found.pld.low <= exact <= found.pld.high
    assert found.pld.high / found.pld.low < 1.01


def test_a_choice_and_a_gaussian_are_the_mixture_of_two_shifts() -> None:
    selecting = Selecting(candidates=(PLAIN, PLAIN), choice_epsilon=1.5, finals=(PLAIN, PLAIN))
    up = 1 / (1 + math.exp(-1.5))

    def gaussian_delta(at: float) -> float:
        tail = [0.5 * math.erfc(-(sign * 0.1 - at * 5) / math.sqrt(2)) for sign in (1, -1)]
        return tail[0] - math.exp(at) * tail[1]

    found = adaptive.recompute(selecting, 1e-6)
    assert found.pld is not None
    for epsilon, above in ((found.pld.low, True), (found.pld.high, False)):
        delta = up * gaussian_delta(epsilon - 1.5) + (1 - up) * gaussian_delta(epsilon + 1.5)
        assert (delta >= 1e-6) == above


@pytest.mark.parametrize(
    "shortcut",
    [
        Composed(parts=(mechanism(*LONG), mechanism(*LONG))),  # the choice is forgotten
        Composed(parts=(PermuteAndFlip(epsilon=2.5, candidates=3),)),  # the winner's training is
        Composed(parts=(PermuteAndFlip(epsilon=1.25, candidates=3), mechanism(*LONG))),  # half the choice
    ],
)
def test_what_forgets_a_part_states_too_little(shortcut: Mechanism) -> None:
    found = adaptive.recompute(CASES["dearest choice"], 1e-6)

    assert found.pld is not None
    assert epsilons(shortcut, delta=1e-6).pld < 0.99 * found.pld.low
    assert epsilons(shortcut, delta=1e-6).rdp < 0.99 * found.rdp.low


def test_what_promises_nothing_or_is_beyond_every_grid_is_not_computed() -> None:
    large = (part(0.05, rate=0.5, count=1),)
    found = adaptive.recompute(
        Selecting(candidates=(large, PLAIN), choice_epsilon=1.0, finals=(PLAIN, PLAIN)), 1e-6
    )

    assert found.pld is None
    barely, beyond = (part(0.19, rate=0.01, count=1),), (part(0.02, rate=0.01, count=1),)
    assert (
        # private: at a scale that the public function tries only after finer ones
        adaptive._loss_bounds(
            Selecting(candidates=(barely, PLAIN), choice_epsilon=1.0, finals=(beyond, PLAIN)),
            1e-6,
            scale=10.0,
        )
        is None
    )
