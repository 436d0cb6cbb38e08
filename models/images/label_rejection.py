"""Rejection by a critic's answer: the first of a few draws of any label that a label critic assigns the wanted label.

With few labels, draws of any label are tried. So a generated picture has the label that real images taught, not the label it was drawn for, and
differences between the anchor's distributions of two labels (such as noise) reveal nothing about the label: a classifier that learns from such
pictures learns from the critic. This is post-processing of noisy releases.

With many labels most draws of other labels would be wasted; there `models.images.likelihood_rejection` chooses among draws of the wanted label.
"""

import numpy as np
import numpy.typing as npt
import torch
from scipy.special import ndtri
from torch import Tensor, nn

from models.critic.label_network import LabelCritic
from models.images.likelihood_rejection import DRAWS

ANSWERED_LABELS = 2
"""Maximum number of labels for which this helps (docs/rules-study.md)."""


class AnsweredImages(nn.Module):
    """(latent, label one-hot) to images in [0, 1], each one of `DRAWS` draws of a generator.

    The first draws have labels from the label distribution, the last one has the wanted label, so that very few pictures get a label the critic does
    not assign (one in a hundred with two labels and a critic that agrees with 9 of 10 pictures).

    Args:
        critic: critic of the generator's labels, trained on real images.
        distribution: (classes,) label probabilities, positive.
        draw_dimension: size of the generator's latent vector. Its last number does not affect the image: it draws the label.
    """

    lead: Tensor
    own: Tensor
    thresholds: Tensor

    def __init__(
        self,
        generator: nn.Module,
        critic: LabelCritic,
        *,
        distribution: npt.NDArray[np.float64],
        draw_dimension: int,
    ) -> None:
        super().__init__()
        self.generator, self.critic = generator, critic
        self.draw_dimension = draw_dimension
        self.latent_dimension = DRAWS * draw_dimension
        self.register_buffer("lead", torch.arange(DRAWS, 0, -1, dtype=torch.float32))
        self.register_buffer("own", (torch.arange(DRAWS) == DRAWS - 1).float()[:, None])
        upper = ndtri(np.cumsum(distribution / distribution.sum())[:-1])
        self.register_buffer("thresholds", torch.from_numpy(upper.astype(np.float32)))

    def forward(self, latent: Tensor, label: Tensor) -> Tensor:
        """Shapes (rows, latent_dimension) and (rows, classes) to (rows, channels, height, width)."""
        draws = latent.reshape(-1, self.draw_dimension)
        classes = label.shape[1]
        wanted = label[:, None, :].expand(-1, DRAWS, -1)
        drawn = nn.functional.one_hot((draws[:, -1:] > self.thresholds).sum(dim=1), classes).to(label.dtype)
        given = self.own * wanted + (1.0 - self.own) * drawn.reshape(-1, DRAWS, classes)
        pictures = self.generator(draws, given.reshape(-1, classes))
        shares = torch.softmax(self.critic.logits(pictures), dim=1).reshape(-1, DRAWS, classes)
        share = (shares * wanted).sum(dim=2)
        passes = (share >= shares.amax(dim=2)).to(share.dtype)
        # Any earlier passing draw outranks a later one; if none passes, the best one is taken.
        merit = share + passes * (1.0 + self.lead)
        taken = nn.functional.one_hot(merit.argmax(dim=1), DRAWS).to(share.dtype)
        tried = pictures.reshape(-1, DRAWS, *pictures.shape[1:])
        return torch.as_tensor((taken[:, :, None, None, None] * tried).sum(dim=1))
