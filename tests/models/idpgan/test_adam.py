"""Adam of lists of tensors: the same bits as torch's, also when it goes on from a checkpoint."""

import pytest
import torch
from torch import Tensor, nn

from models.idpgan.adam import Adam

STEPS = 40
SHAPES = [(7, 5), (5,), (3, 7), (1,)]


def parameters() -> list[nn.Parameter]:
    generator = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def loss_of(learnt: list[nn.Parameter], step: int) -> Tensor:
    return sum(((value * (index + step % 3) - 1).square()).mean() for index, value in enumerate(learnt))  # type: ignore[return-value]


def rate_at(step: int) -> float:
    return 1e-2 * (1 - step / STEPS)


@pytest.mark.parametrize("betas", [(0.5, 0.99), (0.9, 0.999)])
def test_the_parameters_are_those_of_torchs_adam(betas: tuple[float, float]) -> None:
    ours, theirs = parameters(), parameters()
    adam, peer = Adam(ours, betas=betas), torch.optim.Adam(theirs, betas=betas, foreach=True)
    for step in range(STEPS):
        adam.descend(loss_of(ours, step), rate=rate_at(step))
        peer.param_groups[0]["lr"] = rate_at(step)
        peer.zero_grad()
        loss_of(theirs, step).backward()
        peer.step()
        assert all(torch.equal(own, other) for own, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("stop", [0, 1, 17])
def test_a_restored_one_goes_on_as_if_nothing_had_happened(stop: int) -> None:
    whole, first = parameters(), parameters()
    adam = Adam(whole)
    for step in range(STEPS):
        adam.descend(loss_of(whole, step), rate=rate_at(step))
    adam = Adam(first)
    for step in range(stop):
        adam.descend(loss_of(first, step), rate=rate_at(step))
    second = [nn.Parameter(value.detach().clone()) for value in first]
    resumed = Adam(second)
    resumed.descend(loss_of(second, 0), rate=0.0)  # of state that is overwritten
    resumed.restore({name: value.clone() for name, value in adam.tensors().items()})
    for step in range(stop, STEPS):
        resumed.descend(loss_of(second, step), rate=rate_at(step))
    assert all(torch.equal(own, other) for own, other in zip(whole, second, strict=True))
