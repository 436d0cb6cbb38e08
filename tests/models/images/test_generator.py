"""The generator at its start draws the anchor's distribution."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.special import ndtri

from models.images.anchor import noisy_image_moments
from models.images.generator import ImageGenerator, bounded
from models.images.mixture import Mixture, mixture_of, plain_mixture
from models.randomness import KeyedStreams
from tests.models.images.pictures import SHAPE, pictures, small_plan

KEY = bytes(range(32))


def mixture(*, classes: int = 3, shape: tuple[int, int, int] = SHAPE, cells: int = 2) -> Mixture:
    images = pictures(count=400, classes=classes, shape=shape)
    plan = small_plan(cells=cells, rounds=int(cells > 1))
    return mixture_of(noisy_image_moments(images, plan, KeyedStreams(KEY)), plan, shape)


def generator(distribution: Mixture) -> ImageGenerator:
    made = ImageGenerator(distribution, width=8, extra=5)
    made.initialise(KeyedStreams(KEY))
    return made.eval()


def inputs(made: ImageGenerator, rows: int, classes: int) -> tuple[torch.Tensor, torch.Tensor]:
    latent = KeyedStreams(bytes(32)).torch_normals(99, 0, (rows, made.latent_dimension))
    return latent, torch.eye(max(classes, 1))[torch.arange(rows) % max(classes, 1)][:, :classes]


def still_and_plain(distribution: Mixture) -> Mixture:
    return replace(
        distribution, moves=np.zeros_like(distribution.moves), texture=np.zeros_like(distribution.texture)
    )


@pytest.mark.parametrize("cells", [1, 2])
@pytest.mark.parametrize("classes", [0, 3])
def test_at_the_start_it_draws_the_mixture(classes, cells):
    distribution = still_and_plain(mixture(classes=classes, cells=cells))
    made = generator(distribution)
    latent, label = inputs(made, 60, classes)
    with torch.no_grad():
        images = made(latent, label).numpy()
    assert images.shape == (60, 1, 9, 8)
    inside, tail = distribution.centres.shape[2], len(distribution.tail)
    for row in range(60):
        kind = row % max(classes, 1)
        upper = ndtri(np.cumsum(distribution.weights[kind])[:-1])
        cell = int((latent[row, 0].numpy() > upper).sum())
        z = latent[row, 1 : 1 + inside].numpy()
        place = distribution.centres[kind, cell] + distribution.factors[kind, cell] @ z
        beyond = distribution.tail * latent[row, 1 + inside : 1 + inside + tail].numpy()
        plain = np.clip(
            distribution.means[kind] + distribution.basis @ np.concatenate([place, beyond]), 0.0, 1.0
        )
        assert np.abs(images[row].ravel() - plain).max() < 1e-4


def test_cells_come_in_their_shares():
    distribution = mixture()
    made = generator(distribution)
    latent, label = inputs(made, 20_000, 3)
    cell = (latent[:, :1] > label @ made.thresholds).sum(dim=1).numpy()
    for kind in range(3):
        share = (cell[kind::3] == 0).mean()
        # 6 deviations of a share of 6,667: a false alarm in 10^8 for a random key; the key is fixed.
        assert abs(share - distribution.weights[kind, 0]) < 6 * 0.5 / np.sqrt(6667)


def test_moves_move_a_picture_by_what_they_say():
    distribution = mixture()
    moves = np.zeros_like(distribution.moves)
    moves[..., 4, 4] = 2.0 / 8.0  # one pixel to the side for a draw of one
    still, moving = (
        generator(still_and_plain(distribution)),
        generator(replace(still_and_plain(distribution), moves=moves)),
    )
    latent, label = inputs(still, 30, 3)
    first = still.moves_start
    latent[:, first : first + 6] = torch.tensor([0.0, 0, 0, 0, 1, 0])
    with torch.no_grad():
        before, after = still(latent, label), moving(latent, label)
    assert (after[..., :-1] - before[..., 1:]).abs().max() < 1e-4


def test_only_the_decoder_learns_and_its_start_comes_from_the_key():
    distribution = mixture()
    one, again = generator(distribution), generator(distribution)
    assert {name.split(".")[0] for name, _ in one.named_parameters()} == {"enter", "first", "second", "leave"}
    for mine, other in zip(one.parameters(), again.parameters(), strict=True):
        assert torch.equal(mine, other)
    latent, label = inputs(one, 16, 3)
    loss = (one(latent, label) - 0.3).square().mean()
    torch.autograd.backward(loss)
    assert one.leave.weight.grad is not None
    assert one.leave.weight.grad.abs().max() > 0


def test_pixels_that_one_bad_step_made_black_come_back():
    made = ImageGenerator(plain_mixture(SHAPE, 3), width=8, extra=5)
    made.initialise(KeyedStreams(KEY))
    with torch.no_grad():
        made.leave.bias.fill_(-2.0)
    latent, label = inputs(made, 12, 3)
    assert not made(latent, label).any()
    descent = torch.optim.Adam(made.parameters(), lr=0.05)
    for _ in range(60):
        descent.zero_grad()
        torch.autograd.backward((made(latent, label) - 0.5).square().mean())
        descent.step()
    assert (made(latent, label) - 0.5).abs().mean() < 0.2


def test_no_gradient_moves_a_pixel_further_out():
    pixels = torch.tensor([-1.0, -1.0, 0.5, 2.0, 2.0], requires_grad=True)
    images = bounded(pixels)
    assert torch.equal(images, torch.tensor([0.0, 0.0, 0.5, 1.0, 1.0]))
    torch.autograd.backward((images * torch.tensor([1.0, -1.0, 1.0, 1.0, -1.0])).sum())
    assert torch.equal(pixels.grad, torch.tensor([0.0, -1.0, 1.0, 1.0, 0.0]))
