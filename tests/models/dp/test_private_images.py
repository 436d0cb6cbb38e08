"""The private step with a critic of images, end to end."""

from typing import Any

import pytest
import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, Purpose
from tests.models.dp.plans import small_plan

STREAMS = KeyedStreams(bytes(range(32)))
IMAGE, CLASSES = (1, 8, 8), 2
OPTIONS: dict[str, dict[str, Any]] = {
    "flat": {},
    "layers, ACTS": {"acts": True},
    "rows": {"grouping": "rows"},
}


def fresh(plan: Any) -> tuple[ConvCritic, PrivateCritic]:
    critic = ConvCritic(image=IMAGE, widths=(16, 16), classes=CLASSES).initialise(STREAMS)
    return critic, PrivateCritic(critic, plan, STREAMS)


def batch(count: int, step: int) -> tuple[Tensor, Tensor, Tensor]:
    real, fake = STREAMS.torch_uniforms(Purpose.TEST, step, (2, count, *IMAGE))
    labels = torch.from_numpy(STREAMS.integers(Purpose.TEST, 50 + step, CLASSES, count))
    return 0.5 * real * (1 + labels.view(-1, 1, 1, 1)), 0.1 * fake, labels


def trained(private: PrivateCritic, first: int, steps: int) -> None:
    for step in range(first, first + steps):
        private.step(step, *batch((5 * step) % 23, step))  # step 0 is an empty batch


@pytest.mark.parametrize("chosen", OPTIONS.values(), ids=OPTIONS)
def test_a_resumed_critic_is_byte_identical(chosen: dict[str, Any]) -> None:
    plan = small_plan(**chosen)
    (_, whole), (_, half), (_, other) = fresh(plan), fresh(plan), fresh(plan)
    trained(whole, 0, 9)
    trained(half, 0, 5)
    other.load_state_dict({name: value.clone() for name, value in half.state_dict().items()})
    trained(other, 5, 4)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, other.state_dict()[name]), name


def test_training_with_little_noise_tells_real_from_fake() -> None:
    plan = small_plan(critic_learning_rate=1e-2, clipping_norm=1e3)
    object.__setattr__(plan.blocks[0], "noise_multiplier", 1e-3)
    critic, private = fresh(plan)
    real, fake, labels = batch(16, 70)
    before = critic(real, labels).mean() - critic(fake, labels).mean()
    for step in range(20):
        private.step(step, real, fake, labels)
    after = critic(real, labels).mean() - critic(fake, labels).mean()
    assert float(after) > float(before) + 0.1


def test_a_critic_of_another_kind_has_no_form() -> None:
    class Other(torch.nn.Module):
        linear_layers, public_groups = ConvCritic.linear_layers, ConvCritic.public_groups

        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.ModuleList([torch.nn.Linear(3, 1)])

    with pytest.raises(TypeError, match="closed form"):
        PrivateCritic(Other(), small_plan(), STREAMS)
