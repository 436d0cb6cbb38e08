import pytest
import torch

from models.critic.conv_network import ConvCritic
from models.critic.convolution import Convolution, Geometry
from models.randomness import KeyedStreams, Purpose
from tests.models.critic.conv_cases import critic_of, images_of

STREAMS = KeyedStreams(bytes(range(32)))


def test_scores_are_those_of_torchs_layers() -> None:
    critic = critic_of((3, 9, 7), (16, 32), classes=4, convolution=Convolution(kernel=3, stride=2, padding=1))
    batch = images_of(critic, 6)
    layers: list[torch.nn.Module] = []
    for channels, geometry, layer in zip((3, 16), critic.geometries, critic.linear_layers(), strict=False):
        made = torch.nn.Conv2d(channels, geometry.outputs, 3, 2, 1, dtype=torch.float64)
        made.weight.data.copy_(layer.weight.view(-1, 3, 3, channels).permute(0, 3, 1, 2))
        made.bias.data.copy_(layer.bias)  # type: ignore[union-attr]
        layers += [made, torch.nn.LeakyReLU(0.2)]
    features = torch.nn.Sequential(*layers)(batch.real).permute(0, 2, 3, 1).flatten(1)
    last = critic.linear_layers()[-1]
    assert batch.labels is not None
    expected = (features * last.weight[batch.labels]).sum(dim=1) + last.bias[batch.labels]
    torch.testing.assert_close(critic(batch.real, batch.labels), expected)


def test_scores_are_one_number_a_record() -> None:
    critic = ConvCritic(image=(1, 8, 8), widths=(16,)).initialise(STREAMS)
    assert critic(torch.ones(7, 1, 8, 8)).shape == (7,)
    assert critic(torch.ones(0, 1, 8, 8)).shape == (0,)


def test_labels_are_given_exactly_where_there_are_classes() -> None:
    images, labels = torch.ones(2, 1, 8, 8), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(AssertionError, match="labels"):
        ConvCritic(image=(1, 8, 8), widths=(16,), classes=3)(images)
    with pytest.raises(AssertionError, match="labels"):
        ConvCritic(image=(1, 8, 8), widths=(16,))(images, labels)


def test_the_critic_is_initialised_by_the_stream_alone() -> None:
    one, two = (ConvCritic(image=(1, 16, 16), widths=(32, 64)).initialise(STREAMS) for _ in range(2))
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    _, second, last = one.linear_layers()
    assert float(second.weight.detach().std()) == pytest.approx((2 / 512) ** 0.5, rel=0.05)
    assert float(last.weight.detach().std()) == pytest.approx((1 / 1024) ** 0.5, rel=0.1)
    assert not torch.equal(next(one.initialise(STREAMS, step=1).parameters()), next(two.parameters()))


@pytest.mark.parametrize(
    ("image", "widths"),
    [((0, 8, 8), (16,)), ((1, 8, 8), ()), ((1, 8, 8), (0,)), ((1, 8, 8), (20,)), ((1, 2, 2), (16, 16))],
)
def test_an_impossible_critic_is_refused(image: tuple[int, int, int], widths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"widths|kernel"):
        ConvCritic(image=image, widths=widths)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(0, 1, 0), (3, 0, 1), (3, 1, 3), (3, 1, -1)])
def test_an_impossible_convolution_is_refused(kernel: int, stride: int, padding: int) -> None:
    with pytest.raises(ValueError, match="convolution"):
        Convolution(kernel=kernel, stride=stride, padding=padding)


@pytest.mark.parametrize(("kernel", "stride", "padding"), [(4, 2, 1), (3, 1, 0), (2, 3, 1), (5, 2, 2)])
def test_patches_and_their_sums_are_those_of_torch(kernel: int, stride: int, padding: int) -> None:
    constants = Convolution(kernel=kernel, stride=stride, padding=padding)
    geometry = Geometry(convolution=constants, height=9, width=8, channels=3, outputs=1)
    images = STREAMS.torch_normals(Purpose.TEST, 1, (2, 9, 8, 3))
    padded = torch.zeros(2, geometry.padded)
    geometry.inside(padded).copy_(images)
    found = geometry.patches(padded).reshape(2, geometry.positions, geometry.inputs)
    unfolded = torch.nn.functional.unfold(images.permute(0, 3, 1, 2), kernel, padding=padding, stride=stride)
    by_channel = found.view(2, -1, kernel, kernel, 3).permute(0, 1, 4, 2, 3).flatten(2)
    assert torch.equal(by_channel.mT, unfolded)
    summed = torch.zeros(2, geometry.padded)
    geometry.add_patches(found, summed)
    folded = torch.nn.functional.fold(unfolded, (9, 8), kernel, padding=padding, stride=stride)
    torch.testing.assert_close(geometry.inside(summed).permute(0, 3, 1, 2), folded)
