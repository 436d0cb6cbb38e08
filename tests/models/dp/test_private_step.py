import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from core.dp.gaussian import joint_noise_multiplier
from core.plan.plan import Plan
from models.acts import AdaptiveThresholds
from models.critic.closed_form import ClosedForm
from models.critic.network import Critic
from models.dp.errors import BatchOverCap
from models.dp.noise import noise_plan
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from tests.models.dp.plans import small_plan

STREAMS = KeyedStreams(bytes(range(32)))
CELLS, WIDTHS = 12, (8, 8)
OPTIONS = {
    "flat": {},
    "layers": {"grouping": "layers"},
    "rows": {"grouping": "rows"},
    "flat, ACTS": {"acts": True, "grouping": "flat"},
    "layers, ACTS": {"acts": True},
    "rows, ACTS and WC": {"acts": True, "weight_clusters": True, "cluster_min_blocks": 2},
}
options = pytest.mark.parametrize("chosen", OPTIONS.values(), ids=OPTIONS)


def critic_of(dtype: torch.dtype = torch.float32) -> Critic:
    return Critic(inputs=CELLS, widths=WIDTHS).initialise(STREAMS).to(dtype)


def cells(count: int, step: int) -> Tensor:
    drawn = STREAMS.integers(Purpose.TEST, step, 4, (count, 3))
    return torch.from_numpy(drawn) + 4 * torch.arange(3)


def fakes(count: int, step: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return STREAMS.torch_uniforms(Purpose.TEST, 500 + step, (count, CELLS)).to(dtype)


def trained(plan: Plan, steps: int, private: PrivateCritic | None = None, first: int = 0) -> PrivateCritic:
    private = private if private is not None else PrivateCritic(critic_of(), plan, STREAMS)
    for step in range(first, first + steps):
        count = (5 * step) % 23  # step 0 is an empty batch
        private.step(step, cells(count, step), fakes(count, step))
    return private


def bits(state: dict[str, Tensor]) -> dict[str, bytes]:
    return {name: value.numpy().tobytes() for name, value in state.items()}


@options
def test_a_resumed_critic_is_byte_identical(chosen: dict[str, object]) -> None:
    plan = small_plan(**chosen)
    whole = trained(plan, 9)
    half = trained(plan, 5)
    state = {name: value.clone() for name, value in half.state_dict().items()}
    other = PrivateCritic(critic_of(), plan, STREAMS)
    other.load_state_dict(state)
    trained(plan, 4, half, 5)  # the saved state is not touched by training on
    resumed = trained(plan, 4, other, 5)
    assert bits(resumed.state_dict()) == bits(whole.state_dict()) == bits(half.state_dict())


def test_the_state_before_the_first_step_restores_too() -> None:
    plan = small_plan()
    fresh = PrivateCritic(critic_of(), plan, STREAMS)
    other = trained(plan, 3)
    other.load_state_dict(fresh.state_dict())
    assert bits(trained(plan, 3, other).state_dict()) == bits(trained(plan, 3).state_dict())


def test_the_critic_sees_the_training() -> None:
    network = critic_of()
    before = network(fakes(4, 0)).clone()
    trained(small_plan(), 3, PrivateCritic(network, small_plan(), STREAMS))
    assert not torch.equal(network(fakes(4, 0)), before)
    assert all(not parameter.requires_grad for parameter in network.parameters())


@options
def test_an_empty_batch_takes_a_noisy_step(chosen: dict[str, object]) -> None:
    private = PrivateCritic(critic_of(), small_plan(**chosen), STREAMS)
    before = private.state_dict()["parameters"]
    private.step(1, cells(0, 0), fakes(0, 0))
    assert bool((private.state_dict()["parameters"] != before).float().mean() > 0.99)


def test_vectors_and_cells_are_the_same_records() -> None:
    plan = small_plan()
    one, other = PrivateCritic(critic_of(), plan, STREAMS), PrivateCritic(critic_of(), plan, STREAMS)
    drawn = cells(13, 1)
    one.step(0, drawn, fakes(13, 0))
    other.step(0, torch.zeros(13, CELLS).scatter_(1, drawn, 1.0), fakes(13, 0))
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=1e-4, atol=1e-6)


def test_a_bad_record_changes_nothing() -> None:
    plan = small_plan()
    one, other = PrivateCritic(critic_of(), plan, STREAMS), PrivateCritic(critic_of(), plan, STREAMS)
    real = torch.rand(5, CELLS, generator=torch.Generator().manual_seed(1))
    bad = torch.cat([real, torch.full((1, CELLS), math.nan)])
    one.step(0, real, fakes(6, 0)[:5])
    other.step(0, bad, fakes(6, 0))
    torch.testing.assert_close(one.state_dict(), other.state_dict(), rtol=1e-4, atol=1e-6)


def test_a_batch_over_the_cap_is_a_constant_failure() -> None:
    plan = replace(small_plan(), max_sampled_batch=4)
    private = PrivateCritic(critic_of(), plan, STREAMS)
    before = bits(private.state_dict())
    with pytest.raises(BatchOverCap):
        private.step(0, cells(5, 0), fakes(5, 0))
    assert bits(private.state_dict()) == before


def test_every_record_has_its_fake() -> None:
    with pytest.raises(AssertionError):
        PrivateCritic(critic_of(), small_plan(), STREAMS).step(0, cells(5, 0), fakes(4, 0))


def test_the_public_number_of_groups_is_asserted() -> None:
    plan = small_plan(grouping="rows")
    with pytest.raises(AssertionError):
        PrivateCritic(Critic(inputs=CELLS, widths=(2, 2)), plan, STREAMS)
    assert plan.acts is None
    charged = small_plan(acts=True)
    assert charged.acts is not None
    wrong = replace(charged, acts=replace(charged.acts, groups=3))
    with pytest.raises(AssertionError):
        PrivateCritic(critic_of(), wrong, STREAMS)


def test_thresholds_start_at_the_clipping_norm_and_follow_refreshes_alone() -> None:
    plan = small_plan(acts=True)
    private = PrivateCritic(critic_of(), plan, STREAMS)
    start = private.partition.thresholds
    assert math.hypot(*start) == pytest.approx(plan.options.clipping_norm)
    private.step(1, cells(16, 1), fakes(16, 1))
    assert private.partition.thresholds == start
    private.step(3, cells(16, 3), fakes(16, 3))
    assert private.partition.thresholds != start


class Whitened:
    """What one step releases, before noise, over the noise: the sums and, on a refresh, the histograms."""

    def __init__(self, plan: Plan, private: PrivateCritic, network: Critic, step: int) -> None:
        self._private, self._plan, self._step = private, plan, step
        self._form = ClosedForm(
            network, private.layout, gp_weight=plan.options.gp_weight, max_batch=plan.max_sampled_batch
        )
        sigma = plan.noise_multiplier_at(step)
        noise = noise_plan(private.partition, noise_multiplier=sigma, max_batch=plan.max_sampled_batch)
        self._stds = torch.repeat_interleave(
            torch.tensor(noise.stds, dtype=torch.float64), torch.tensor(private.layout.sizes)
        )

    def __call__(self, real: Tensor, fake: Tensor, mix: Tensor) -> Tensor:
        total, squares = self._form.sum_and_squares(real, fake, mix, self._private.partition)
        parts = [total / self._stds]
        if self._plan.is_refresh(self._step):
            assert self._plan.acts is not None
            counts = AdaptiveThresholds(self._plan.acts, smoothing=0.0).counts(squares)
            parts.append(counts.flatten() / self._plan.acts.noise_multiplier)
        return torch.cat(parts)

    @property
    def bound(self) -> float:
        """1 / sigma_eff."""
        sigma = self._plan.noise_multiplier_at(self._step)
        if not self._plan.is_refresh(self._step):
            return 1.0 / sigma
        assert self._plan.acts is not None
        return 1.0 / joint_noise_multiplier(
            sigma,
            histograms=self._plan.acts.groups,
            histogram_noise_multiplier=self._plan.acts.noise_multiplier,
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@options
def test_one_record_moves_the_whitened_release_by_at_most_one_over_sigma(
    chosen: dict[str, object], dtype: torch.dtype
) -> None:
    """Random and adversarial neighbours; tolerance 1e-9 relative in float64 (in float32 the rounding of the others)."""
    plan = small_plan(**chosen)
    network = critic_of(dtype)
    private = PrivateCritic(network, plan, STREAMS)
    trained_steps = 7 if "acts" in chosen else 1
    for step in range(trained_steps):
        private.step(step, cells(16, step), fakes(16, step, dtype))
    base = torch.zeros(14, CELLS, dtype=dtype).scatter_(1, cells(14, 90), 1.0)
    fake, mix = fakes(15, 91, dtype), STREAMS.torch_uniforms(Purpose.TEST, 92, 15)
    extremes = [
        base[0],  # a duplicate
        fake[14],  # equal to its fake
        torch.zeros(CELLS, dtype=dtype),
        torch.full((CELLS,), math.nan, dtype=dtype),
        torch.full((CELLS,), math.inf, dtype=dtype),
        *(scale * (2.0 * fakes(1, 93, dtype)[0] - 1.0) for scale in (1e-12, 1.0, 1e3, 1e6, 1e12, 1e18, 1e30)),
    ]
    reached = 0.0
    for step in (9, 10):  # a refresh and an ordinary step
        release = Whitened(plan, private, network, step)
        without = release(base, fake[:14], mix[:14])
        for extreme in extremes:
            for place in (0, 7, 14):  # removed first, in the middle, last
                rows = torch.cat([base[:place], extreme[None], base[place:]])
                order = torch.tensor([*range(place), 14, *range(place, 14)])
                moved = float((release(rows, fake[order], mix[order]) - without).norm())
                reached = max(reached, moved / release.bound)
                assert moved <= release.bound * (1.0 + (1e-9 if dtype is torch.float64 else 2e-6))
    assert reached > 0.5  # the bound is met, so the test has power


@options
def test_many_copies_of_one_record_move_it_by_as_many_bounds(chosen: dict[str, object]) -> None:
    plan = small_plan(**chosen)
    network = critic_of(torch.float64)
    private = PrivateCritic(network, plan, STREAMS)
    release = Whitened(plan, private, network, 0)
    copies = (1e3 * fakes(1, 5, torch.float64)).repeat(20, 1)
    fake, mix = fakes(1, 6, torch.float64).repeat(20, 1), torch.full((20,), 0.3)
    total = float(release(copies, fake, mix).norm())
    assert total <= 20 * release.bound * (1 + 1e-9)
    assert total >= 20 * release.bound * (1 - 1e-4)
