"""Rejection by a likelihood ratio: the first of a few draws of one label that a label critic accepts.

The anchor's cells overlap more than the classes do, so some of its pictures look like another class than their label, and a classifier learns
wrong things from them. A critic that has learnt the labels of real images, under noise that was paid for, detects these draws; its use on
generated images is post-processing. But a small critic errs, and rejecting every doubtful draw would reject the hard ones. So a draw is accepted
with probability min(1, p_after / p_before), the critic's label probabilities after and before training on real images. Before, the critic knew
the anchor's pictures alone, so only the knowledge from real images decides. This is discriminator rejection sampling (Azadi and others 2019)
with another discriminator and a fixed number of tries.
"""

import math

import torch
from torch import Tensor, nn

from models.critic.label_network import LabelCritic

DRAWS = 4
"""Draws per image: if 11 % are rejected, 0.01 % of the images come from a rejected draw."""


class ChosenImages(nn.Module):
    """(latent, label one-hot) to images in [0, 1], each one of `DRAWS` draws of a generator.

    Args:
        critic: critic of the generator's labels, trained on real images.
        before: the same critic, trained on the generator's images only.
        draw_dimension: size of the generator's latent vector. Its last number does not affect the image: it decides acceptance.
    """

    lead: Tensor

    def __init__(
        self, generator: nn.Module, critic: LabelCritic, before: LabelCritic, *, draw_dimension: int
    ) -> None:
        super().__init__()
        self.generator, self.critic, self.before = generator, critic, before
        self.draw_dimension = draw_dimension
        self.latent_dimension = DRAWS * draw_dimension
        self.register_buffer("lead", torch.arange(DRAWS, 0, -1, dtype=torch.float32))

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to (rows, channels, height, width)."""
        draws = latent.reshape(-1, self.draw_dimension)
        given = label[:, None, :].expand(-1, DRAWS, -1).reshape(-1, label.shape[1])
        pictures = self.generator(draws, given)
        after, before = (
            (torch.log_softmax(critic.logits(pictures), dim=1) * given).sum(dim=1)
            for critic in (self.critic, self.before)
        )
        quotient = (after - before).reshape(-1, DRAWS)
        uniform = (0.5 + 0.5 * torch.erf(draws[:, -1] * math.sqrt(0.5))).reshape(-1, DRAWS)
        passes = (torch.exp(quotient) >= uniform).to(quotient.dtype)
        # Any earlier passing draw outranks a later one; if none passes, the best one is taken.
        merit = torch.sigmoid(quotient) + passes * (1.0 + self.lead)
        taken = nn.functional.one_hot(merit.argmax(dim=1), DRAWS).to(quotient.dtype)
        drawn = pictures.reshape(-1, DRAWS, *pictures.shape[1:])
        return torch.as_tensor((taken[:, :, None, None, None] * drawn).sum(dim=1))


def kept_copy(critic: LabelCritic) -> LabelCritic:
    """A frozen copy of the critic with its current parameters."""
    copy = LabelCritic(
        image=critic.image,
        widths=tuple(geometry.outputs for geometry in critic.geometries),
        classes=critic.classes,
        convolution=critic.geometries[0].convolution,
        activation=critic.activation,
    )
    copy.load_state_dict({name: value.clone() for name, value in critic.state_dict().items()})
    return copy.eval().requires_grad_(requires_grad=False)
