import numpy as np
import pytest
import torch

from benchmarks.baselines.matching import MatchingOptions, fit_mean_embedding
from benchmarks.baselines.networks import ImageGenerator, initialise
from models.randomness import KeyedStreams, Purpose
from tests.benchmarks.baselines.images import private

OPTIONS = MatchingOptions(frequencies=50, bandwidth=3.0, steps=30, batch=20, learning_rate=1e-2, width=4)
STREAMS = KeyedStreams(bytes(range(32)))


def corners(images: torch.Tensor) -> torch.Tensor:
    """Mean brightness of the four corners: (rows, 4)."""
    quarters = [images[:, :, down : down + 8, right : right + 8] for down in (0, 8) for right in (0, 8)]
    return torch.stack([quarter.mean(dim=(1, 2, 3)) for quarter in quarters], dim=1)


def test_the_generator_learns_where_each_class_is_bright_and_only_the_noise_stops_it():
    fitted = fit_mean_embedding(private(200), STREAMS, noise_multiplier=0.5, options=OPTIONS)
    assert np.mean(fitted.losses[-5:]) < 0.5 * fitted.losses[0]
    with torch.no_grad():
        made = fitted.network(torch.zeros(4, 10), torch.eye(4))
    assert corners(made).argmax(dim=1).tolist() == [0, 1, 2, 3]
    drowned = fit_mean_embedding(private(200), STREAMS, noise_multiplier=1e4, options=OPTIONS)
    with torch.no_grad():
        made = drowned.network(torch.zeros(4, 10), torch.eye(4))
    assert corners(made).argmax(dim=1).tolist() != [0, 1, 2, 3]


def test_the_same_key_gives_the_same_generator():
    short = MatchingOptions(frequencies=20, steps=2, batch=8, width=4)
    first, again = (
        fit_mean_embedding(private(40), STREAMS, noise_multiplier=1.0, options=short) for _ in range(2)
    )
    assert first.losses == again.losses
    assert torch.equal(first.network.second.weight, again.network.second.weight)


@pytest.mark.parametrize(("shape", "classes"), [((28, 28, 1), 10), ((30, 33, 3), 0)], ids=["grey", "colour"])
def test_networks_take_any_declared_shape(shape, classes):
    height, width, channels = shape
    generator = ImageGenerator(shape=shape, classes=classes, latent_dimension=5, width=4)
    initialise(generator, STREAMS, Purpose.GENERATOR_INIT)
    made = generator(torch.randn(3, 5, generator=torch.Generator().manual_seed(0)), torch.zeros(3, classes))
    assert made.shape == (3, channels, height, width)
    assert 0 <= made.min() < made.max() <= 1
