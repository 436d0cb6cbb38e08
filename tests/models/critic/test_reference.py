import pytest
import torch

from models.critic.network import LeakyReLU
from tests.models.critic.hard_tanh import HardTanh
from tests.models.critic.reference import Reference
from tests.models.critic.test_closed_form import layout_of, make_critic, records


@pytest.mark.parametrize("activation", [LeakyReLU(), HardTanh()])
def test_the_mean_gradient_is_that_of_plain_autograd(activation: LeakyReLU | HardTanh) -> None:
    critic = make_critic(7, (6, 5), activation, torch.float64)
    layout = layout_of(critic, "layers")
    real, fake, mix = records(9, 7, 1, torch.float64)
    between = torch.lerp(fake, real, mix[:, None].double()).requires_grad_()
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    loss = (critic(fake) - critic(real)).sum() + 10.0 * (slope.norm(dim=1) - 1).square().sum()
    loss.backward()
    layers = critic.linear_layers()
    expected = torch.cat(
        [*(layer.weight.grad.flatten() for layer in layers), *(layer.bias.grad for layer in layers)]  # type: ignore[union-attr, misc]
    )
    summed = Reference(critic, layout, gp_weight=10.0, max_batch=10).gradients(real, fake, mix).sum(dim=0)
    torch.testing.assert_close(summed, expected, rtol=1e-10, atol=1e-10)


def test_an_empty_batch_has_no_gradients() -> None:
    critic = make_critic(7, (6, 5), LeakyReLU(), torch.float64)
    layout = layout_of(critic, "flat")
    assert Reference(critic, layout, gp_weight=10.0, max_batch=10).gradients(
        *records(0, 7, 1, torch.float64)
    ).shape == (
        0,
        layout.coordinates,
    )
