"""The critic of DPACGAN: one score of being real and, beside it, a classifier of the labels (Odena, Olah and Shlens 2017)."""

from torch import Tensor
from torch.nn import functional

from models.critic.conv_network import ConvCritic


class AuxiliaryCritic(ConvCritic):
    """The convolutions of the product's critic under another last layer: row 0 says "real", row `1 + y` says "label y".

    Called like the product's critic, it gives what a generator wants to raise, `log P(real | x) + log P(y | x)`, so that
    the product's generator step (`models.idpgan.image_refinement`) is that of an auxiliary-classifier network, with the
    loss that does not saturate.

    Args:
        image: channels, height and width.
        widths: channels of the convolution layers.
        labels: of the classifier, at least two.

    Raises:
        ValueError: there is no such critic, or there is nothing to classify.
    """

    def __init__(self, *, image: tuple[int, int, int], widths: tuple[int, ...], labels: int) -> None:
        if labels < 2:
            raise ValueError("an auxiliary classifier needs at least two labels")
        super().__init__(image=image, widths=widths, classes=1 + labels)

    def layered(self, images: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Inputs and outputs of every layer, so that gradients can be formed layer by layer.

        Args:
            images: (batch, channels, height, width).

        Returns:
            Inputs: (batch, height, width, channels) of the convolutions, (batch, features) of the last layer. Outputs,
            before the activation: (batch, outputs, rows, columns), and the (batch, 1 + labels) logits.
        """
        *hidden, last = self.linear_layers()
        inputs: list[Tensor] = []
        outputs: list[Tensor] = []
        for geometry, layer in zip(self.geometries, hidden, strict=True):
            inputs.append(images.permute(0, 2, 3, 1))
            made = geometry.convolved(images, layer.weight, layer.bias)
            outputs.append(made)
            images = self.activation(made)
        inputs.append(images.permute(0, 2, 3, 1).flatten(1))
        outputs.append(last(inputs[-1]))
        return inputs, outputs

    def forward(self, x: Tensor, labels: Tensor | None = None) -> Tensor:
        """`log P(real | x) + log P(y | x)` (batch,) of images (batch, channels, height, width) and their labels (batch,)."""
        assert labels is not None, "a classifier needs labels"
        logits = self.layered(x)[1][-1]
        return functional.logsigmoid(logits[:, 0]) + log_likelihood(logits, labels)


def log_likelihood(logits: Tensor, labels: Tensor) -> Tensor:
    """(batch,) logarithm of the probability that the classifier gives the label."""
    chosen = functional.log_softmax(logits[:, 1:], dim=1).gather(1, labels[:, None])
    return chosen.squeeze(1)


def record_losses(logits_real: Tensor, logits_fake: Tensor, labels: Tensor) -> Tensor:
    """(batch,) loss of every real record with its generated partner: all four terms of the method.

        -log P(real | x) - log P(y | x) - log(1 - P(real | x~)) - log P(y~ | x~)

    Args:
        logits_real: (batch, 1 + labels).
        logits_fake: alike.
        labels: (batch,) int64 of both, or (batch, 2) where the partner has a label of its own.
    """
    of_both = labels.view(len(labels), -1)
    real = -functional.logsigmoid(logits_real[:, 0]) - log_likelihood(logits_real, of_both[:, 0])
    fake = -functional.logsigmoid(-logits_fake[:, 0]) - log_likelihood(logits_fake, of_both[:, -1])
    return real + fake
