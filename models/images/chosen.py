"""Pictures that a critic of labels agrees with: of a few draws of one label, the first that it would call so.

The anchor's cells overlap more than the classes do, so some of its pictures look like another class than the one they are
made for, and a classifier learns from them what is wrong. A critic that has learnt the labels of real images, under
noise that was paid for, tells these draws apart; what it does with made ones is post-processing. It is rejection
sampling by a discriminator (Azadi and others 2019) with another discriminator and a fixed number of tries.
"""

import torch
from torch import Tensor, nn

from models.critic.label_network import LabelCritic

DRAWS = 4
"""Draws for one picture: 13 % wrong ones leave 0.03 %."""


class ChosenImages(nn.Module):
    """(latent, label one-hot) to images in [0, 1], each one of `DRAWS` draws of a generator.

    Args:
        generator: what draws.
        critic: of the generator's labels.
        draw_dimension: numbers of the generator's latent vector.
    """

    lead: Tensor

    def __init__(self, generator: nn.Module, critic: LabelCritic, *, draw_dimension: int) -> None:
        super().__init__()
        self.generator, self.critic = generator, critic
        self._draw_dimension = draw_dimension
        self.latent_dimension = DRAWS * draw_dimension
        self.register_buffer("lead", torch.arange(DRAWS, 0, -1, dtype=torch.float32))

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to (rows, channels, height, width)."""
        given = label[:, None, :].expand(-1, DRAWS, -1).reshape(-1, label.shape[1])
        pictures = self.generator(latent.reshape(-1, self._draw_dimension), given)
        chances = torch.softmax(self.critic.logits(pictures), dim=1)
        own = (chances * given).sum(dim=1)
        agreed = (own >= chances.amax(dim=1)).to(own.dtype)
        # Earlier draws lead by more than a probability can make up for; without any agreement the likeliest is taken.
        merit = own.reshape(-1, DRAWS) + agreed.reshape(-1, DRAWS) * (1.0 + self.lead)
        taken = nn.functional.one_hot(merit.argmax(dim=1), DRAWS).to(own.dtype)
        drawn = pictures.reshape(-1, DRAWS, *pictures.shape[1:])
        return torch.as_tensor((taken[:, :, None, None, None] * drawn).sum(dim=1))


def kept_copy(critic: LabelCritic) -> LabelCritic:
    """The critic with parameters of their own, as they are now, never trained again."""
    copy = LabelCritic(
        image=critic.image,
        widths=tuple(geometry.outputs for geometry in critic.geometries),
        classes=critic.classes,
        convolution=critic.geometries[0].convolution,
        activation=critic.activation,
    )
    copy.load_state_dict({name: value.clone() for name, value in critic.state_dict().items()})
    return copy.eval().requires_grad_(requires_grad=False)
