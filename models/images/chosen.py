"""Rejection by a likelihood ratio: of a few draws of one label, the first that a critic of labels accepts.

The anchor's cells overlap more than the classes do, so some of its pictures look like another class than the one they are
made for, and a classifier learns from them what is wrong. A critic that has learnt the labels of real images, under
noise that was paid for, tells these draws apart; what it does with made ones is post-processing. Yet a small critic is
wrong at times, and throwing away whatever it doubts throws away what is hard. So it is heard against itself: as it
was before its first real image, when it knew the anchor's pictures alone. A draw passes with the quotient of its label's
probabilities after real images and before them, at most one, so only what they taught decides. It is rejection sampling
by a discriminator (Azadi and others 2019) with another discriminator and a fixed number of tries.
"""

import math

import torch
from torch import Tensor, nn

from models.critic.label_network import LabelCritic

DRAWS = 4
"""Draws for one image: if 11 % are rejected, 0.01 % of the images come from a rejected draw."""


class ChosenImages(nn.Module):
    """(latent, label one-hot) to images in [0, 1], each one of `DRAWS` draws of a generator.

    Args:
        generator: makes the draws.
        critic: of the generator's labels, trained on real images.
        before: the same critic, after it had seen the generator's images only.
        draw_dimension: numbers of the generator's latent vector. The last one does not affect the image: it is the coin.
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
        # Earlier draws rank higher than any difference in sigmoids; if none passes, the best one is taken.
        merit = torch.sigmoid(quotient) + passes * (1.0 + self.lead)
        taken = nn.functional.one_hot(merit.argmax(dim=1), DRAWS).to(quotient.dtype)
        drawn = pictures.reshape(-1, DRAWS, *pictures.shape[1:])
        return torch.as_tensor((taken[:, :, None, None, None] * drawn).sum(dim=1))


def kept_copy(critic: LabelCritic) -> LabelCritic:
    """A frozen copy of the critic with its present parameters."""
    copy = LabelCritic(
        image=critic.image,
        widths=tuple(geometry.outputs for geometry in critic.geometries),
        classes=critic.classes,
        convolution=critic.geometries[0].convolution,
        activation=critic.activation,
    )
    copy.load_state_dict({name: value.clone() for name, value in critic.state_dict().items()})
    return copy.eval().requires_grad_(requires_grad=False)
