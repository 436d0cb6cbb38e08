import numpy as np
import pytest
import torch
from torch import nn

from benchmarks.baselines.networks import ImageGenerator, initialise
from benchmarks.images.wasserstein_gan import LOWEST_RATE, Settings, critic_loss, sample, train_wgan_gp
from models.critic.conv_network import ConvCritic
from models.randomness import KeyedStreams, Purpose
from tests.benchmarks.images.pictures import squares

STREAMS = KeyedStreams(bytes(range(32)))


class Linear(nn.Module):
    """`D(x, y) = slope of y . x`."""

    def __init__(self, slopes):
        super().__init__()
        self.slopes = nn.Parameter(torch.tensor(slopes))

    def forward(self, images, labels):
        return (images.flatten(1) * self.slopes[labels]).sum(dim=1)


def test_the_critic_s_loss_of_a_linear_critic_is_known():
    critic = Linear([[3.0, 4.0], [0.0, 1.0]])
    real = torch.tensor([[[[1.0, 0.0]]], [[[0.0, 1.0]]]])
    fake = torch.tensor([[[[0.0, 1.0]]], [[[0.0, 0.5]]]])
    loss = critic_loss(critic, real, fake, torch.tensor([0, 1]), torch.rand(2, 1, 1, 1), gp_weight=10.0)
    # Slopes of norm 5 and 1, so penalties 10 * 16 and 0; scores 4 - 3 and 0.5 - 1.
    assert loss.item() == pytest.approx(((1 + 160) + (-0.5 + 0)) / 2)


def networks():
    generator = ImageGenerator(shape=(16, 16, 1), classes=4, latent_dimension=4, width=4)
    critic = ConvCritic(image=(1, 16, 16), widths=(16,), classes=4).initialise(STREAMS)
    initialise(generator, STREAMS, Purpose.GENERATOR_INIT)
    return generator, critic


def trained(steps, **changed):
    generator, critic = networks()
    seen = []
    averaged = train_wgan_gp(
        squares(200), generator, critic, classes=4, latent_dimension=4, seed=0,
        settings=Settings(generator_steps=steps, batch=16, critic_steps=2, learning_rate=3e-3, ema_decay=0.9, **changed),
        watch=lambda step, _: seen.append(step),
    )  # fmt: skip
    return averaged, generator, seen


@pytest.mark.long
def test_it_learns_where_each_class_is_bright():
    averaged, _, seen = trained(60, watch_every=25)
    made = sample(averaged, torch.arange(4).repeat(10), classes=4, latent_dimension=4, seed=1)
    corners = np.stack(
        [made.pixels[:, d : d + 8, r : r + 8].mean(axis=(1, 2, 3)) for d in (0, 8) for r in (0, 8)], axis=1
    )
    assert (corners.argmax(axis=1) == made.labels).mean() > 0.9
    assert seen == [25, 50]


def test_the_same_seed_gives_the_same_generator_and_the_average_lags():
    first, latest, _ = trained(2)
    again, _, _ = trained(2)
    assert torch.equal(first.second.weight, again.second.weight)
    assert not torch.equal(first.second.weight, latest.second.weight)


@pytest.mark.parametrize(("falling", "share"), [(False, 1.0), (True, LOWEST_RATE + (1 - LOWEST_RATE) / 2)])
def test_the_generator_has_a_rate_of_its_own_that_may_fall(monkeypatch, falling, share):
    made = []

    class Watched(torch.optim.Adam):
        def __init__(self, parameters, **rates):
            super().__init__(parameters, **rates)
            made.append(self)

    rates = []
    monkeypatch.setattr(torch.optim, "Adam", Watched)
    train_wgan_gp(
        squares(40), *networks(), classes=4, latent_dimension=4, seed=0,
        settings=Settings(
            generator_steps=4, batch=8, critic_steps=1, learning_rate=1e-3, generator_rate=2e-3, first_decay=0.5,
            falling=falling, watch_every=1,
        ),
        watch=lambda *_: rates.append([adam.param_groups[0]["lr"] for adam in made]),
    )  # fmt: skip
    assert rates[1] == pytest.approx([1e-3, 2e-3 * share])
    assert rates[-1] == pytest.approx([1e-3, 2e-3 * (LOWEST_RATE if falling else 1.0)])
    assert [adam.param_groups[0]["betas"] for adam in made] == [(0.5, 0.9)] * 2


def test_samples_are_bytes_of_the_asked_labels():
    generator, _ = networks()
    labels = torch.tensor([3, 0, 3])
    made = sample(generator, labels, classes=4, latent_dimension=4, seed=0)
    assert (made.pixels.shape, made.pixels.dtype) == ((3, 16, 16, 1), np.uint8)
    assert made.labels.tolist() == [3, 0, 3]
    assert not np.array_equal(made.pixels[0], made.pixels[2])
