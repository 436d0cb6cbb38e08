"""A critic of images that answers "which of the declared labels is this?" instead of "is this real?"."""

import torch
from torch import Tensor

from models.critic.conv_network import ConvCritic


class LabelCritic(ConvCritic):
    """The convolutions of `ConvCritic` as a classifier: the rows of the last layer give the logits of the labels.

    Pixels in [0, 1] are scaled to [-1, 1] first, by public constants: centred inputs balance the first layer's gradients.
    """

    def logits(self, images: Tensor) -> Tensor:
        """(batch, classes) of images (batch, channels, height, width) in [0, 1]."""
        return self.answers(centred(images))

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """Logarithms (batch,) of the probabilities of the labels (batch,) int64."""
        assert labels is not None, "a critic of labels needs labels"
        chosen = torch.log_softmax(self.logits(x), dim=1).gather(1, labels[:, None])
        return chosen.squeeze(1)


def centred(pixels: Tensor) -> Tensor:
    """Pixels in [0, 1] as numbers in [-1, 1]."""
    return pixels * 2.0 - 1.0
