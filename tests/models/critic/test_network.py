import pytest
import torch

from models.critic.network import Activation, Critic, LeakyReLU
from models.randomness import KeyedStreams
from tests.models.critic.hard_tanh import HardTanh

STREAMS = KeyedStreams(bytes(range(32)))


@pytest.mark.parametrize("activation", [LeakyReLU(), LeakyReLU(0.0), HardTanh()])
def test_slopes_and_values_agree_with_autograd(activation: Activation) -> None:
    z = torch.tensor([-3.0, -1.0, -0.5, 0.0, 0.5, 1.0, 3.0], dtype=torch.float64, requires_grad=True)
    value = activation(z)
    (slope,) = torch.autograd.grad(value.sum(), z)
    ours = activation.apply_(z.detach().clone())
    assert torch.equal(ours, value.detach())
    cotangent = torch.full_like(ours, 2.0)
    chained = activation.chain_(cotangent, ours)
    assert chained is cotangent
    assert torch.equal(chained, 2.0 * slope)


@pytest.mark.parametrize("slope", [-0.1, 1.0])
def test_a_slope_that_hides_the_sign_is_refused(slope: float) -> None:
    with pytest.raises(ValueError, match="slope"):
        LeakyReLU(slope)


def test_the_critic_is_initialised_by_the_stream_alone() -> None:
    one = Critic(inputs=50, widths=(40, 30)).initialise(STREAMS)
    two = Critic(inputs=50, widths=(40, 30)).initialise(STREAMS)
    for a, b in zip(one.parameters(), two.parameters(), strict=True):
        assert torch.equal(a, b)
    first, second, last = one.linear_layers()
    assert float(first.weight.detach().std()) == pytest.approx((2 / 50) ** 0.5, rel=0.1)
    assert float(second.weight.detach().std()) == pytest.approx((2 / 40) ** 0.5, rel=0.1)
    assert float(last.weight.detach().std()) == pytest.approx((1 / 30) ** 0.5, rel=0.5)
    assert not torch.equal(next(one.initialise(STREAMS, step=1).parameters()), next(two.parameters()))


def test_scores_are_one_number_a_record() -> None:
    critic = Critic(inputs=5, widths=(4,)).initialise(STREAMS)
    assert critic(torch.ones(7, 5)).shape == (7,)
    assert critic(torch.ones(0, 5)).shape == (0,)


@pytest.mark.parametrize(("inputs", "widths"), [(0, (3,)), (3, ()), (3, (0,))])
def test_an_empty_critic_is_refused(inputs: int, widths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="hidden layer"):
        Critic(inputs=inputs, widths=widths)
