import pytest
import torch

from core.plan.options import IdpganOptions
from models.dp.flat_adam import FlatAdam, ordered_betas
from models.randomness import KeyedStreams, Purpose

STREAMS = KeyedStreams(bytes(range(32)))


@pytest.mark.parametrize("betas", [(0.0, 0.9), (0.5, 0.9), (0.9, 0.999)])
def test_equal_to_torchs_adam(betas: tuple[float, float]) -> None:
    ours = torch.ones(50, dtype=torch.float64)
    theirs = torch.nn.Parameter(ours.clone())
    one = FlatAdam(ours, learning_rate=0.01, betas=betas)
    other = torch.optim.Adam([theirs], lr=0.01, betas=betas)
    for step in range(20):
        gradient = torch.from_numpy(STREAMS.normals(Purpose.TEST, step, 50))
        one.step(gradient)
        theirs.grad = gradient
        other.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-9, atol=1e-12)


def test_an_order_sets_either_decay_and_leaves_the_other_as_it_is() -> None:
    assert ordered_betas(IdpganOptions(), (0.5, 0.9)) == (0.5, 0.9)
    assert ordered_betas(IdpganOptions(adam_beta1=0.0), (0.5, 0.9)) == (0.0, 0.9)
    assert ordered_betas(IdpganOptions(adam_beta2=0.99), (0.9, 0.999)) == (0.9, 0.99)
