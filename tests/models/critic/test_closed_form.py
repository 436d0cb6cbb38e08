import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from models.critic.closed_form import CellSum, ClosedForm
from models.critic.factors import PLANES
from models.critic.network import Activation, Critic, LeakyReLU
from models.dp.clipping import CANCELLATION_SHARE, Layout, Partition, each_block_alone
from models.randomness import KeyedStreams, Purpose
from tests.models.critic.hard_tanh import HardTanh
from tests.models.critic.reference import Reference

STREAMS = KeyedStreams(bytes(range(32)))
GROUPINGS = ("flat", "layers", "rows")
ACTIVATIONS = (LeakyReLU(), LeakyReLU(0.0), HardTanh())


def make_critic(inputs: int, widths: tuple[int, ...], activation: Activation, dtype: torch.dtype) -> Critic:
    critic = Critic(inputs=inputs, widths=widths, activation=activation).initialise(STREAMS)
    for index, layer in enumerate(critic.linear_layers()):
        layer.bias.data.copy_(STREAMS.torch_normals(Purpose.TEST, index, layer.out_features) * 0.3)
    return critic.to(dtype)


def layout_of(critic: Critic, grouping: str, row_blocks: int = 3) -> Layout:
    shapes = tuple((layer.out_features, layer.in_features) for layer in critic.linear_layers())
    return Layout(shapes=shapes, grouping=grouping, row_blocks=row_blocks)


def records(count: int, inputs: int, step: int, dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    drawn = STREAMS.torch_uniforms(Purpose.TEST, 100 + step, (2, count, inputs)).to(dtype)
    return drawn[0], drawn[1], STREAMS.torch_uniforms(Purpose.TEST, 200 + step, count)


def both(critic: Critic, layout: Layout) -> tuple[ClosedForm, Reference]:
    return (
        ClosedForm(critic, layout, gp_weight=10.0, max_batch=100),
        Reference(critic, layout, gp_weight=10.0, max_batch=100, at_once=64),
    )


def raise_of(fast: ClosedForm, batch: tuple[Tensor, Tensor, Tensor]) -> Tensor:
    """(batch,) the most by which the closed form raises a squared norm: a share of the squares of the terms."""
    terms = [torch.zeros(0, dtype=torch.float64)]
    # private: the terms that cancel in a norm are in the factors alone
    for _, factors in fast._microbatches(*batch, None):
        layers = [
            S.square().sum(dim=2) * A.square().sum(dim=2)
            for S, A in zip(factors.left, factors.right, strict=True)
        ]
        terms.append(torch.stack(layers).sum(dim=(0, 1))[: factors.records])
    return PLANES * CANCELLATION_SHARE * torch.cat(terms)


def assert_equal_paths(critic: Critic, layout: Layout, batch: tuple[Tensor, Tensor, Tensor]) -> None:
    """Norms, clipped sums and unclipped gradients agree to 1e-5 relative, but where raised norms clip more."""
    fast, slow = both(critic, layout)
    partition = each_block_alone(layout.sizes, [1.0] * layout.blocks)
    norms, expected = fast.sum_and_squares(*batch, partition)[1].sqrt(), slow.block_norms(*batch)
    good = torch.isfinite(expected).all(dim=1)
    assert torch.equal(torch.isfinite(norms).all(dim=1), good)
    # raised by more than 1e-5 only where the terms nearly cancel
    raised = (expected.square() + raise_of(fast, batch)[:, None]).sqrt()[good]
    scale = expected[good].clamp(min=1e-6 * float(expected[good].max()) if bool(good.any()) else 1.0)
    assert bool((norms[good] <= raised * (1.0 + 1e-6) + 1e-5 * scale).all())
    assert bool((norms[good] >= expected[good] - 1e-5 * scale).all())
    median = 0.7 * expected[good].median() if bool(good.any()) else torch.tensor(1.0)
    for threshold in (max(float(median), 1e-3), 1e6):  # most clipped; none clipped, hence plain gradients
        partition = each_block_alone(layout.sizes, [threshold] * layout.blocks)
        ours = fast.clipped_sum(*batch, partition).clone()
        theirs = slow.clipped_sum(*batch, partition)
        # A norm that is raised clips its record by as much more; where nothing is clipped, nothing is allowed.
        lost = expected[good] * (
            (threshold / expected[good]).clamp(max=1.0) - (threshold / raised).clamp(max=1.0)
        )
        for piece, more in zip(layout.slices(), lost.nan_to_num().sum(dim=0), strict=True):
            assert float((ours - theirs)[piece].norm()) <= 1e-5 * float(theirs.norm()) + float(more) + 1e-12


@settings(max_examples=10, deadline=None)
@given(
    inputs=st.integers(1, 20),
    widths=st.lists(st.integers(1, 15), min_size=1, max_size=3),
    count=st.sampled_from([0, 1, 5, 12, 127, 128, 129, 300]),
    grouping=st.sampled_from(GROUPINGS),
    row_blocks=st.integers(1, 6),
    activation=st.sampled_from(ACTIVATIONS),
    step=st.integers(0, 50),
)
def test_equal_to_the_reference_for_every_shape(
    inputs: int, widths: list[int], count: int, grouping: str, row_blocks: int, activation: Activation, step: int
) -> None:  # fmt: skip
    critic = make_critic(inputs, tuple(widths), activation, torch.float64)
    batch = records(count, inputs, step, torch.float64)
    assert_equal_paths(critic, layout_of(critic, grouping, row_blocks), batch)


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_equal_to_the_reference_in_float32(grouping: str, activation: Activation) -> None:
    critic = make_critic(60, (48, 32), activation, torch.float32)
    layout = layout_of(critic, grouping, 5)  # 5 does not divide 48 or 32: blocks of two sizes
    assert_equal_paths(critic, layout, records(40, 60, 1, torch.float32))


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_clusters_of_blocks_are_clipped_as_one(grouping: str) -> None:
    critic = make_critic(9, (8, 6), LeakyReLU(), torch.float64)
    layout = layout_of(critic, grouping)
    groups = tuple(index % 2 for index in range(layout.blocks)) if layout.blocks > 1 else (0,)
    partition = Partition(sizes=layout.sizes, group_of_block=groups, thresholds=(0.5, 0.7)[: max(groups) + 1])
    fast, slow = both(critic, layout)
    batch = records(11, 9, 2, torch.float64)
    difference = fast.clipped_sum(*batch, partition) - slow.clipped_sum(*batch, partition)
    assert float(difference.norm()) < 1e-5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -float("inf"), 1e300, 3e38])
def test_a_bad_record_contributes_nothing(dtype: torch.dtype, grouping: str, poison: float) -> None:
    critic = make_critic(9, (8, 6), LeakyReLU(), dtype)
    layout = layout_of(critic, grouping)
    fast, _ = both(critic, layout)
    partition = each_block_alone(layout.sizes, [0.5] * layout.blocks)
    real, fake, mix = records(6, 9, 3, dtype)
    bad = real.clone()
    bad[2, 4] = torch.tensor(poison, dtype=torch.float64).to(dtype)
    total, squares = fast.sum_and_squares(bad, fake, mix, partition)
    spoiled = total.clone()
    assert bool(torch.isfinite(spoiled).all())
    if bool(
        torch.isfinite(squares[2]).all()
    ):  # a huge number that the precision can carry is clipped like any other
        assert poison in {1e300, 3e38}
        return
    keep = torch.tensor([0, 1, 3, 4, 5])
    without = fast.clipped_sum(real[keep], fake[keep], mix[keep], partition)
    torch.testing.assert_close(spoiled, without, rtol=1e-6, atol=1e-9)


def test_overflow_that_only_the_interpolation_sees_removes_the_record() -> None:
    critic = make_critic(2, (4, 3), LeakyReLU(), torch.float32)
    layout = layout_of(critic, "flat")
    fast, _ = both(critic, layout)
    for layer in critic.linear_layers()[:1]:
        layer.weight.data.fill_(1.0)
        layer.bias.data.zero_()
    real = torch.tensor([[3e38, -3e38], [0.1, 0.2]])
    fake = torch.tensor([[-3e38, 3e38], [0.3, 0.1]])
    partition = each_block_alone(layout.sizes, [1.0])
    total, squares = fast.sum_and_squares(real, fake, torch.tensor([0.5, 0.5]), partition)
    assert bool(torch.isfinite(squares[1]).all())
    assert float(total.norm()) <= 2.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_cells_are_the_one_hot_records(dtype: torch.dtype, grouping: str) -> None:
    critic = make_critic(12, (10, 7), LeakyReLU(), dtype)
    layout = layout_of(critic, grouping)
    fast, _ = both(critic, layout)
    _, fake, mix = records(17, 12, 4, dtype)
    cells = torch.stack(
        [torch.from_numpy(STREAMS.integers(Purpose.TEST, 300 + c, 4, 17)) + 4 * c for c in range(3)], dim=1
    )
    real = torch.zeros(17, 12, dtype=dtype).scatter_(1, cells, 1.0)
    fake[3, 1] = float("nan")  # a spoiled record on the sparse path
    partition = each_block_alone(layout.sizes, [0.8] * layout.blocks)
    total, squares = fast.sum_and_squares(real, fake, mix, partition)
    dense = total.clone()
    sparse, others = fast.sum_and_squares(cells, fake, mix, partition)
    torch.testing.assert_close(others.sqrt(), squares.sqrt(), rtol=1e-6, atol=1e-9, equal_nan=True)
    torch.testing.assert_close(sparse, dense, rtol=1e-6, atol=1e-6)
    assert fast.clipped_sum(cells[:0], fake[:0], mix[:0], partition).eq(0.0).all()


@pytest.mark.parametrize("unit", [False, True])
def test_a_batch_that_is_broken_off_leaves_nothing_to_the_next(
    unit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a broken batch had added would count in two sums, beyond the clip."""
    critic = make_critic(12, (10, 7), LeakyReLU(), torch.float64)
    layout = layout_of(critic, GROUPINGS[0])
    partition = each_block_alone(layout.sizes, [0.8] * layout.blocks)
    _, fake, mix = records(17, 12, 4, torch.float64)
    cells = torch.arange(17)[:, None].remainder(4) + torch.tensor([[0, 4, 8]])
    fast, _ = both(critic, layout)

    def by_unit() -> Tensor:
        fast.fill(cells, fake, mix)
        fast.measure()
        fast.rule(partition)
        fast.add()
        return fast.filled[0].clone()

    def by_batch() -> Tensor:
        return fast.clipped_sum(cells, fake, mix, partition).clone()

    made = by_unit if unit else by_batch
    whole = made()

    add = CellSum.add

    def broken(self: CellSum, cells: Tensor, S: Tensor, weights: Tensor) -> None:
        add(self, cells, S, weights)
        raise torch.OutOfMemoryError

    with monkeypatch.context() as short:
        short.setattr(CellSum, "add", broken)
        with pytest.raises(torch.OutOfMemoryError):
            made()
    assert torch.equal(made(), whole)


def test_a_record_equal_to_its_fake_has_the_penalty_alone() -> None:
    critic = make_critic(9, (8, 6), LeakyReLU(), torch.float32)
    layout = layout_of(critic, "layers")
    real, _, mix = records(5, 9, 5, torch.float32)
    assert_equal_paths(critic, layout, (real, real.clone(), mix))


def test_a_critic_without_slope_has_no_penalty_direction() -> None:
    critic = make_critic(5, (4,), LeakyReLU(), torch.float64)
    critic.linear_layers()[-1].weight.data.zero_()
    layout = layout_of(critic, "flat")
    fast, slow = both(critic, layout)
    batch = records(3, 5, 6, torch.float64)
    partition = each_block_alone(layout.sizes, [1e6])
    torch.testing.assert_close(
        fast.clipped_sum(*batch, partition), slow.clipped_sum(*batch, partition), rtol=1e-5, atol=1e-9
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_order_of_records_does_not_matter_beyond_the_allowance(dtype: torch.dtype) -> None:
    critic = make_critic(40, (32, 32), LeakyReLU(), dtype)
    layout = layout_of(critic, "flat")
    fast, _ = both(critic, layout)
    partition = each_block_alone(layout.sizes, [1.0])
    real, fake, mix = records(90, 40, 7, dtype)
    order = torch.from_numpy(STREAMS.uniforms(Purpose.TEST, 8, 90).argsort())
    first = fast.clipped_sum(real, fake, mix, partition).clone()
    second = fast.clipped_sum(real[order], fake[order], mix[order], partition)
    assert float((first - second).norm()) <= (1e-5 if dtype is torch.float32 else 1e-12)
