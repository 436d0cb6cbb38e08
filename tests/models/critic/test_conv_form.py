import hypothesis.strategies as st
import pytest
import torch
from hypothesis import assume, given, settings

from models.critic.conv_form import FEWEST, MOST, conv_microbatch_size
from models.critic.conv_network import ConvCritic
from models.critic.convolution import Convolution, Geometry
from models.critic.layer_sums import Materialised, Products, layer_sum
from models.critic.network import Activation, LeakyReLU
from models.dp.clipping import Layout, Partition, each_block_alone
from models.randomness import Purpose
from tests.models.critic.conv_cases import STREAMS, Images, both, critic_of, images_of, layout_of
from tests.models.critic.hard_tanh import HardTanh

GROUPINGS = ("flat", "layers", "rows")
ACTIVATIONS = (LeakyReLU(), LeakyReLU(0.0), HardTanh())


def assert_equal_paths(critic: ConvCritic, layout: Layout, batch: Images, gp_weight: float = 10.0) -> None:
    """Norms, clipped sums and unclipped gradients agree to 1e-5 relative."""
    fast, slow = both(critic, layout, gp_weight)
    partition = each_block_alone(layout.sizes, [1.0] * layout.blocks)
    norms = fast.sum_and_squares(*batch.parts, partition, labels=batch.labels)[1].sqrt()
    expected = slow.block_norms(*batch.parts, labels=batch.labels)
    size = float(expected.max()) if len(expected) else 1.0
    assert bool((norms >= expected * (1.0 - 1e-5) - 1e-6 * size).all())
    assert bool(
        (norms <= expected * (1.0 + 1e-5) + 1e-4 * size + 1e-15).all()
    )  # raised where terms nearly cancel
    for threshold in (
        max(0.7 * size, 1e-3),
        1e6,
    ):  # some records clipped; none clipped, hence plain gradients
        partition = each_block_alone(layout.sizes, [threshold] * layout.blocks)
        ours = fast.clipped_sum(*batch.parts, partition, labels=batch.labels).clone()
        theirs = slow.clipped_sum(*batch.parts, partition, labels=batch.labels)
        for piece in layout.slices():
            assert float((ours - theirs)[piece].norm()) <= 1e-5 * float(theirs.norm()) + 1e-12


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(
    image=st.tuples(st.integers(1, 3), st.integers(2, 9), st.integers(2, 9)),
    widths=st.lists(st.sampled_from([16, 32]), min_size=1, max_size=3),
    convolution=st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 2)),
    classes=st.sampled_from([0, 2, 5]),
    count=st.sampled_from([0, 1, 3, 35]),
    grouping=st.sampled_from(GROUPINGS),
    row_blocks=st.integers(1, 6),
    activation=st.sampled_from(ACTIVATIONS),
    gp_weight=st.sampled_from([0.0, 10.0]),
)
def test_equal_to_the_reference_for_every_shape(
    image: tuple[int, int, int], widths: list[int], convolution: tuple[int, int, int], classes: int, count: int,
    grouping: str, row_blocks: int, activation: Activation, gp_weight: float,
) -> None:  # fmt: skip
    kernel, stride, padding = convolution
    assume(padding < kernel)
    constants = Convolution(kernel=kernel, stride=stride, padding=padding)
    sides = image[1:]
    for _ in widths:
        sides = (constants.side(sides[0]), constants.side(sides[1]))
        assume(min(sides) >= 1)
    critic = critic_of(image, tuple(widths), classes=classes, convolution=constants, activation=activation)
    layout = layout_of(critic, grouping, row_blocks)
    assert_equal_paths(critic, layout, images_of(critic, count), gp_weight)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_equal_to_the_reference_in_float32(grouping: str) -> None:
    critic = critic_of((1, 17, 16), (16, 32), classes=10, dtype=torch.float32)
    assert_equal_paths(critic, layout_of(critic, grouping, 5), images_of(critic, 4))


def test_both_kinds_of_layers_are_compared_with_the_reference() -> None:
    critic = critic_of((1, 12, 12), (16, 32, 48), classes=2, dtype=torch.float32)
    layout = layout_of(critic, "rows")
    # private: both ways give the same sums, so which was taken shows nowhere
    kinds = {type(part) for part in both(critic, layout)[0]._sums}
    assert kinds == {Materialised, Products}
    assert_equal_paths(critic, layout, images_of(critic, 9))


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_dead_units(layer: int) -> None:
    """With slope 0 a layer whose biases are low passes nothing on; without a last row nothing has a slope at all."""
    critic = critic_of((2, 6, 6), (16, 16), activation=LeakyReLU(0.0))
    chosen = critic.linear_layers()[layer]
    chosen.weight.zero_()
    chosen.bias.fill_(-1.0)
    assert_equal_paths(critic, layout_of(critic, "layers"), images_of(critic, 4))


def test_a_record_equal_to_its_fake_has_the_penalty_alone() -> None:
    critic = critic_of((1, 8, 8), (16, 16), classes=3, dtype=torch.float32)
    batch = images_of(critic, 5)
    same = Images(batch.real, batch.real.clone(), batch.mix, batch.labels)
    assert_equal_paths(critic, layout_of(critic, "layers"), same)


def test_clusters_of_blocks_are_clipped_as_one() -> None:
    critic = critic_of((1, 8, 8), (16, 16), classes=3)
    layout = layout_of(critic, "rows")
    groups = tuple(index % 2 for index in range(layout.blocks))
    partition = Partition(sizes=layout.sizes, group_of_block=groups, thresholds=(0.5, 0.7))
    fast, slow = both(critic, layout)
    batch = images_of(critic, 11)
    ours = fast.clipped_sum(*batch.parts, partition, labels=batch.labels)
    theirs = slow.clipped_sum(*batch.parts, partition, labels=batch.labels)
    assert float((ours - theirs).norm()) < 1e-6 < float(theirs.norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("which", ["real", "fake"])
@pytest.mark.parametrize("poison", [float("nan"), float("inf"), -float("inf"), 1e300])
def test_a_bad_record_contributes_nothing(dtype: torch.dtype, which: str, poison: float) -> None:
    critic = critic_of((1, 12, 12), (16, 32, 48), classes=2, dtype=dtype)
    layout = layout_of(critic, "rows")
    fast, _ = both(critic, layout)
    partition = each_block_alone(layout.sizes, [0.5] * layout.blocks)
    batch = images_of(critic, 6)
    keep = torch.tensor([0, 1, 3, 4, 5])
    kept = batch.of(keep)
    without = fast.clipped_sum(*kept.parts, partition, labels=kept.labels).clone()
    getattr(batch, which)[2, 0, 4, 7] = torch.tensor(poison, dtype=torch.float64).to(dtype)
    spoiled, squares = fast.sum_and_squares(*batch.parts, partition, labels=batch.labels)
    assert not bool(torch.isfinite(squares[2]).all())
    assert bool(torch.isfinite(squares[keep]).all())
    torch.testing.assert_close(spoiled, without, rtol=1e-12, atol=1e-12)


def test_a_bad_pixel_that_no_patch_covers_counts_too() -> None:
    """A kernel of 1 at every second pixel."""
    critic = critic_of((1, 5, 5), (16,), convolution=Convolution(kernel=1, stride=2, padding=0))
    layout = layout_of(critic, "flat")
    fast, _ = both(critic, layout)
    batch = images_of(critic, 2)
    batch.real[0, 0, 1, 1] = float("nan")
    _, squares = fast.sum_and_squares(*batch.parts, each_block_alone(layout.sizes, [1.0]))
    assert torch.isfinite(squares[:, 0]).tolist() == [False, True]


@pytest.mark.parametrize("scale", [1.0, 1e-21, 1e-30, 1e15])
@pytest.mark.parametrize("kind", [Materialised, Products])
def test_norms_are_bounds_and_close(kind: type[Materialised] | type[Products], scale: float) -> None:
    """Of gradients down to squares that float32 cannot hold."""
    geometry = Geometry(convolution=Convolution(), height=6, width=6, channels=16, outputs=32)
    left, right = (
        STREAMS.torch_normals(Purpose.TEST, index, (8, 3 * geometry.positions, size)) * scale**0.5
        for index, size in enumerate((geometry.outputs, geometry.inputs))
    )
    part = (
        Materialised(geometry, (16, 16), 8, torch.float32)
        if kind is Materialised
        else Products(geometry, (16, 16), 8)
    )
    squares = torch.zeros(8, 2, dtype=torch.float64)
    part.measure(left, right, squares)
    exact = left.double().mT @ right.double()
    # private: the float32 gradients before the clip, which the exact bound is about
    summed = part._gradients.double() if isinstance(part, Materialised) else exact
    true = summed.unflatten(1, (2, 16)).square().sum(dim=(2, 3))
    assert bool((squares >= true).all())
    assert bool((squares.sqrt() <= true.sqrt() * (1.0 + 1e-5) + 1e-15).all())
    torch.testing.assert_close(summed, exact, rtol=1e-4, atol=1e-4 * scale)
    clips = torch.full((8, 2), 0.5, dtype=torch.float64)
    total = torch.zeros(geometry.outputs, geometry.inputs, dtype=torch.float64)
    part.add(clips, None, total)
    torch.testing.assert_close(total, 0.5 * summed.sum(dim=0), rtol=1e-9, atol=1e-9 * scale)


@pytest.mark.parametrize(("side", "kind"), [(28, Materialised), (14, Materialised), (2, Products)])
def test_the_form_of_a_layer_follows_from_its_sizes(side: int, kind: type) -> None:
    geometry = Geometry(convolution=Convolution(), height=side, width=side, channels=64, outputs=128)
    assert isinstance(layer_sum(geometry, (128,), 8, torch.float32), kind)


def test_the_size_of_a_chunk_follows_from_the_sizes_of_the_critic() -> None:
    assert conv_microbatch_size(critic_of((1, 8, 8), (16,))) == MOST
    assert conv_microbatch_size(ConvCritic(image=(3, 128, 128), widths=(64, 128, 256))) == FEWEST
