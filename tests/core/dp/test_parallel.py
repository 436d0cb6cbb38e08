"""Disjoint parts and adaptively chosen mechanisms: the pointwise largest curve, against enumeration and its wrong shortcuts."""

import itertools
import json
import math
import random
import time

import dp_accounting
import numpy as np
import pytest

from core.dp.accountant import epsilons, rdp_at
from core.dp.errors import InvalidMechanism, UnknownMechanism
from core.dp.hockey_stick import Direction, hockey_stick

# private: which mechanisms hang together shows in the time alone
from core.dp.loss import _connected, curves_of
from core.dp.mechanism import (
    Chosen,
    Composed,
    DiscreteGaussian,
    Largest,
    Mechanism,
    Parallel,
    PermuteAndFlip,
    Repeated,
    from_json,
    leaves,
    to_json,
)
from tests.core.dp import brute
from tests.core.dp.builders import gaussian, sampled, training
from tests.core.dp.dp_events import to_event

DELTA = 1e-6


def choice(epsilon: float) -> PermuteAndFlip:
    return PermuteAndFlip(epsilon=epsilon, candidates=2)


def pure(epsilon: float) -> tuple[brute.Floats, brute.Floats]:
    up = 1 / (1 + math.exp(-epsilon))
    return np.asarray([up, 1 - up]), np.asarray([1 - up, up])


def normals(mu: float) -> tuple[brute.Floats, brute.Floats]:
    axis = np.linspace(-9 / mu, 1 + 9 / mu, 20_001)
    step = axis[1] - axis[0]
    return brute.normal(axis, 1.0, 1 / mu) * step, brute.normal(axis, 0.0, 1 / mu) * step


def delta_of(pair: tuple[brute.Floats, brute.Floats], epsilon: float) -> float:
    return max(brute.hockey_stick(*pair, epsilon), brute.hockey_stick(*pair[::-1], epsilon))


PARTS = {"gaussian": (gaussian(1.25), normals(0.8)), "pure": (choice(1.0), pure(1.0))}
"""Two whose curves cross: the choice is worse at small epsilon and costs nothing above 1."""


def test_the_two_curves_of_these_tests_cross():
    assert delta_of(PARTS["pure"][1], 0.1) > 1.2 * delta_of(PARTS["gaussian"][1], 0.1)
    assert delta_of(PARTS["pure"][1], 1.0) < 1e-12
    assert delta_of(PARTS["gaussian"][1], 1.0) > 1e-2


@pytest.mark.parametrize("kind", [Parallel, Chosen])
def test_alone_it_is_the_largest_delta_at_every_epsilon(kind: type[Parallel] | type[Chosen]):
    mechanism = kind(parts=tuple(part for part, _ in PARTS.values()))
    for delta in (0.3, 0.2, 0.1, 1e-2, 1e-4, 1e-6):
        ours = epsilons(mechanism, delta=delta).pld

        exact = max(brute.epsilon_of(*pair, delta) for _, pair in PARTS.values())
        assert exact * (1 - 1e-4) - 1e-6 <= ours <= exact * 1.002 + 2e-6


@pytest.mark.parametrize("first", [0.3, 1.0])
def test_whichever_is_chosen_for_each_output_before_costs_no_more_and_the_worst_costs_all(first: float):
    """Every strategy that looks at the first output, by enumeration; the best of them meets the bound."""
    before = pure(first)
    losses = [first, -first]

    def delta_by(strategy: tuple[str, ...], epsilon: float) -> float:
        return sum(
            float(chance) * brute.hockey_stick(*PARTS[part][1], epsilon - loss)
            for chance, loss, part in zip(before[0], losses, strategy, strict=True)
        )

    mechanism = Composed(parts=(choice(first), Chosen(parts=tuple(part for part, _ in PARTS.values()))))
    strategies = list(itertools.product(PARTS, repeat=2))
    constant = [(name, name) for name in PARTS]
    seen_mixed_win = False
    for delta in (0.25, 0.18, 0.1, 1e-2, 1e-3):
        ours = epsilons(mechanism, delta=delta).pld
        deltas = {strategy: delta_by(strategy, ours) for strategy in strategies}
        # The pairs are symmetric, so one direction is both. Summing a kinked density loses about 1e-7.
        assert max(deltas.values()) <= delta + 1e-6
        assert max(delta_by(strategy, ours * 0.99 - 1e-3) for strategy in strategies) > delta
        # Accounting for the best constant choice alone would have been too cheap somewhere.
        seen_mixed_win |= max(deltas.values()) > 1.02 * max(deltas[strategy] for strategy in constant)
    assert seen_mixed_win or first > 0.5


def test_the_larger_epsilon_at_one_delta_is_not_enough():
    """Must fail: of two parts the one with the larger epsilon at delta is taken for both, then composed."""
    weak, strong = gaussian(4.0), choice(1.0)
    assert epsilons(weak, delta=DELTA).pld > epsilons(strong, delta=DELTA).pld

    wrong = epsilons(Repeated(mechanism=weak, count=8), delta=DELTA).pld
    ours = epsilons(Repeated(mechanism=Parallel(parts=(weak, strong)), count=8), delta=DELTA).pld

    # A unit that lies in the second part every time, exactly: a binomial sum of losses of one.
    up = 1 / (1 + math.exp(-1.0))
    chances = np.asarray([math.comb(8, k) * up**k * (1 - up) ** (8 - k) for k in range(9)])
    true = brute.epsilon_of_losses(np.arange(-8.0, 9.0, 2.0), chances, DELTA)
    assert wrong < 0.6 * true
    assert true <= ours <= true * 1.1


def test_it_is_never_below_any_part_composed_with_the_rest_nor_above_all_of_them():
    first = Composed(parts=(gaussian(3.5), training(0.02, 8.0, 300)))
    second = Composed(parts=(DiscreteGaussian(noise_multiplier=9.0), training(0.05, 10.0, 100)))
    third = choice(0.4)
    rest = Composed(parts=(gaussian(4.0), training(0.03, 9.0, 200)))
    for delta in (1e-10, 1e-5):
        ours = epsilons(Composed(parts=(Parallel(parts=(first, second, third)), rest)), delta=delta)
        alone = [epsilons(Composed(parts=(part, rest)), delta=delta) for part in (first, second, third)]

        assert max(one.pld for one in alone) * (1 - 1e-9) <= ours.pld
        assert ours.pld <= max(one.pld for one in alone) * 1.02
        assert max(one.rdp for one in alone) * (1 - 1e-12) <= ours.rdp
        assert ours.pld < ours.rdp
        assert ours.pld < epsilons(Composed(parts=(first, second, third, rest)), delta=delta).pld


@pytest.mark.parametrize("direction", list(Direction))
def test_a_whole_curve_is_never_below_that_of_two_outputs(direction: Direction):
    one = brute.sampled_axis(0.1, 1.5, 1501)
    p, q = brute.product([one, one])
    curves = curves_of(tuple(leaves(training(0.1, 1.5, 2)).items()))
    assert curves is not None
    pair = (p, q) if direction is Direction.REMOVED else (q, p)
    for epsilon in (0.0, 0.05, 0.3, 1.0, 2.0, 3.0):
        exact = brute.hockey_stick(*pair, epsilon)
        ours = float(curves[direction].deltas(np.asarray([epsilon]))[0])
        assert exact * (1 - 1e-3) <= ours <= exact * 1.003 + 1e-12


def test_a_whole_curve_of_many_gaussians_never_understates_down_to_small_deltas():
    # A rate this close to one is not merged with the plain Gaussians but costs as much as they do.
    curves = curves_of(tuple(leaves(training(1 - 1e-12, 40.0, 400)).items()))
    assert curves is not None
    grid = np.linspace(0.0, 3.4, 69)
    exact = hockey_stick(gaussian(2.0), Direction.REMOVED).deltas(grid)
    assert exact[-1] < 1e-10
    for direction in Direction:
        ours = curves[direction].deltas(grid)
        assert (ours >= exact * (1 - 1e-9)).all()
        assert (ours <= exact * 1.01 + 1e-16).all()
    assert float(curves[Direction.ADDED].deltas(np.asarray([200.0]))[0]) < 1e-15


def test_equal_and_contained_parts_cost_exactly_the_largest():
    short, long = training(0.02, 8.0, 100), training(0.02, 8.0, 300)
    plain = Composed(parts=(gaussian(4.0), long))

    assert leaves(Parallel(parts=(long, Composed(parts=(long,)), short))) == leaves(long)
    for part in (Parallel(parts=(long, short)), Chosen(parts=(short, long, Composed(parts=())))):
        assert epsilons(Composed(parts=(gaussian(4.0), part)), delta=DELTA) == epsilons(plain, delta=DELTA)


def test_the_order_of_parts_and_of_what_surrounds_them_does_not_matter():
    parts: list[Mechanism] = [gaussian(3.0), training(0.02, 8.0, 100), choice(0.5)]
    rest: list[Mechanism] = [gaussian(5.0), training(0.03, 9.0, 50)]
    expected = epsilons(Composed(parts=(*rest, Parallel(parts=tuple(parts)))), delta=DELTA)
    generator = random.Random(3)
    for _ in range(4):
        generator.shuffle(parts)
        generator.shuffle(rest)
        again = Composed(parts=(Composed(parts=(Parallel(parts=tuple(parts)), rest[0])), rest[1]))
        assert epsilons(again, delta=DELTA) == expected


def test_divergences_are_the_largest_at_each_order_and_add_up():
    parts = (gaussian(3.0), choice(1.0))
    for order in (2, 8, 32):
        largest = max(rdp_at(part, (order,))[0] for part in parts)
        assert rdp_at(Parallel(parts=parts), (order,))[0] == largest
        both = Composed(parts=(Parallel(parts=parts), gaussian(2.0)))
        assert rdp_at(both, (order,))[0] == pytest.approx(largest + order / 8, rel=1e-12)
    assert rdp_at(parts[0], (32,))[0] > rdp_at(parts[1], (32,))[0]
    assert rdp_at(parts[0], (2,))[0] < rdp_at(parts[1], (2,))[0]


def test_losses_beyond_every_grid_are_answered_by_the_renyi_bound():
    mechanism = Composed(parts=(gaussian(5.0), Parallel(parts=(training(0.5, 0.03, 3), choice(1.0)))))

    both = epsilons(mechanism, delta=DELTA)

    assert both.pld == both.rdp
    assert math.isfinite(both.reported)


def test_many_parts_and_as_many_endings_answer_in_time():
    parts = tuple(
        Composed(parts=(gaussian(3.5 + i / 50), training(0.02 + i / 2000, 8.0, 300))) for i in range(8)
    )
    started = time.process_time()

    epsilons(Composed(parts=(Parallel(parts=(*parts, choice(0.3))), Chosen(parts=parts))), delta=DELTA)

    assert time.process_time() - started < 30  # two seconds here; ten with 32 parts


def test_json_keeps_them():
    mechanism = Composed(
        parts=(
            Parallel(parts=(gaussian(2.0), choice(0.5))),
            Chosen(parts=(training(0.1, 2.0, 5), gaussian(3.0))),
        )
    )

    assert from_json(json.loads(json.dumps(to_json(mechanism)))) == mechanism
    assert isinstance(next(iter(leaves(mechanism))), Largest)


@pytest.mark.parametrize(
    "document",
    [
        {"kind": "parallel"},
        {"kind": "parallel", "parts": 3},
        {"kind": "chosen", "parts": [None]},
        {"kind": "permute-and-flip", "epsilon": 1.0},
        {"kind": "permute-and-flip", "epsilon": 1.0, "candidates": 2.0},
        {"kind": "permute-and-flip", "epsilon": "much", "candidates": 2},
    ],
)
def test_what_is_not_understood_is_refused(document: dict[str, object]):
    with pytest.raises(UnknownMechanism):
        from_json({"version": 1, **document})


def test_parts_that_are_none_too_many_or_nested_are_refused():
    inner = Parallel(parts=(gaussian(2.0), choice(0.5)))
    for parts in ((), (gaussian(1.0),) * 65, (inner,), (Repeated(mechanism=inner, count=2),)):
        with pytest.raises(InvalidMechanism):
            Chosen(parts=parts)
    with pytest.raises(InvalidMechanism):
        Parallel(parts=(Composed(parts=(Chosen(parts=(sampled(0.1, 1.0),)),)),))


def test_the_library_has_no_event_for_them_and_refuses_ours():
    for mechanism in (Parallel(parts=(gaussian(2.0),)), choice(0.5), Chosen(parts=(gaussian(2.0),))):
        assert to_event(mechanism) == dp_accounting.UnsupportedDpEvent()


def test_the_curve_of_several_compositions_is_not_one_elementary_curve():
    (leaf,) = leaves(Parallel(parts=(gaussian(2.0), choice(0.9))))
    with pytest.raises(TypeError):
        hockey_stick(leaf, Direction.ADDED)


def test_rare_large_losses_beside_many_small_ones_keep_their_digits():
    # Tilted windows leave zero out where all losses of one direction are tiny; delta 1 there cost a third of epsilon once.
    rare = Composed(parts=(training(0.025, 1.85, 6), training(0.1, 17.0, 21)))
    small, many = training(0.016, 1.87, 2), training(0.005, 3.67, 21)

    ours = epsilons(Composed(parts=(rare, Chosen(parts=(small, many)))), delta=4e-10).pld
    alone = [epsilons(Composed(parts=(rare, one)), delta=4e-10).pld for one in (small, many)]

    assert max(alone) * (1 - 1e-5) <= ours <= max(alone) * 1.005


def test_no_mass_is_missing_in_a_largest_curve():
    (leaf,) = leaves(Chosen(parts=(training(0.016, 1.87, 2), training(0.005, 3.67, 21))))
    for direction in Direction:
        losses = _connected(leaf, direction, 2.0**-12, reach=3.0)
        assert losses is not None
        assert 1 - 1e-14 <= losses.probabilities.sum() + losses.infinite <= 1 + 1e-8
