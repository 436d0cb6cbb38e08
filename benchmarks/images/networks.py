"""The networks that score images, with weights drawn from a named seed.

`lenet` is the "LeNet-type CNN" of the paper, which prints no layers but cites the Deep Learning Tutorials (its
reference 17), whose chapter "Convolutional Neural Networks (LeNet)" has: 20 filters of 5x5, 2x2 maxima, tanh; 50 filters
of 5x5, 2x2 maxima, tanh; 500 units, tanh; one unit per class.
"""

import hashlib
from collections.abc import Callable

import torch
from torch import Tensor, nn

Shape = tuple[int, int, int]
FEATURES = 500
"""Units of the last hidden layer, where distances of features are taken."""
_GAIN = 5.0 / 3.0  # of tanh


class Classifier(nn.Module):
    """Images to the logits of the classes.

    Args:
        body: (images, channels, height, width) to (images, features).
        features: units of its output.
        classes: labels.
    """

    def __init__(self, body: nn.Module, *, features: int, classes: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(features, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Shapes (images, channels, height, width) to (images, classes)."""
        return torch.as_tensor(self.head(self.body(images)))


def lenet(shape: Shape, classes: int) -> Classifier:
    """The paper's network for images of this height, width and number of channels."""
    height, width, channels = shape
    left = [((side - 4) // 2 - 4) // 2 for side in (height, width)]
    body = nn.Sequential(
        nn.Conv2d(channels, 20, 5),
        nn.MaxPool2d(2),
        nn.Tanh(),
        nn.Conv2d(20, 50, 5),
        nn.MaxPool2d(2),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(50 * left[0] * left[1], FEATURES),
        nn.Tanh(),
    )
    return Classifier(body, features=FEATURES, classes=classes)


def perceptron(shape: Shape, classes: int) -> Classifier:
    """Two hidden layers of 256 units on the pixels."""
    height, width, channels = shape
    body = nn.Sequential(
        nn.Flatten(), nn.Linear(height * width * channels, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh()
    )
    return Classifier(body, features=256, classes=classes)


NETWORKS: dict[str, Callable[[Shape, int], Classifier]] = {"cnn": lenet, "mlp": perceptron}


def named_seed(*words: object) -> int:
    """A 63-bit seed that is a hash of what the draw is for."""
    digest = hashlib.sha256(
        "/".join(["understudy benchmark, not private", *map(str, words)]).encode()
    ).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def initialise(network: nn.Module, generator: torch.Generator) -> None:
    """Draw weights as Glorot and Bengio (2010) for tanh, and set biases to zero."""
    for parameter in network.parameters():
        if parameter.ndim > 1:
            nn.init.xavier_uniform_(parameter, gain=_GAIN, generator=generator)
        else:
            nn.init.zeros_(parameter)
