"""Train on synthetic images, test on real ones: three classifiers with one public recipe and named seeds.

* `cnn`: the paper's LeNet-type network;
* `mlp`: two hidden layers;
* `logistic`: multinomial logistic regression on the pixels (lbfgs).

The recipe was fixed on the held-out part of MNIST's training images, with real images; it looks at no score of synthetic
ones. There is no early stopping and no choice among epochs: what the last step leaves is scored.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn import functional

from benchmarks.images.datasets import Pictures
from benchmarks.images.networks import NETWORKS, Classifier, initialise, named_seed

LOGISTIC_ITERATIONS = 100
_CHUNK = 1000
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """Settings of a network's training: Adam with a learning rate that falls linearly to zero.

    Args:
        epochs: passes over the images, each in an order of its own.
        batch: images of a step; the last of an epoch may be smaller.
        learning_rate: of the first step.
        shift: most pixels by which every image is moved each way, anew in every epoch; 0 leaves them where they are.
    """

    epochs: int = 6
    batch: int = 128
    learning_rate: float = 1e-3
    shift: int = 0


CLASSIFIERS = Recipe()
"""The recipe of every classifier in the tables."""
LOGISTIC = "logistic"
KINDS = (*NETWORKS, LOGISTIC)
"""Every classifier of the tables."""


def tensor_of(pixels: npt.NDArray[np.uint8]) -> Tensor:
    """(images, height, width, channels) uint8 to (images, channels, height, width) float32 in [-1, 1]."""
    values = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
    return values.float().div_(127.5).sub_(1.0)


def train(
    kind: str, pictures: Pictures, *, classes: int, seed: int, recipe: Recipe = CLASSIFIERS
) -> Classifier:
    """Train a network; the same arguments give the same weights on the same machine and number of threads.

    Args:
        kind: "cnn" or "mlp".
        pictures: what to learn from; at least one.
        classes: labels.
        seed: names the weights' and the orders' draws.
        recipe: how.
    """
    height, width, channels = pictures.pixels.shape[1:]
    network = NETWORKS[kind]((height, width, channels), classes)
    generator = torch.Generator().manual_seed(named_seed("classifier", kind, seed))
    initialise(network, generator)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    labels = torch.from_numpy(pictures.labels.astype(np.int64))
    steps_of_epoch = -(-len(labels) // recipe.batch)
    optimizer = torch.optim.Adam(network.parameters(), lr=recipe.learning_rate)
    total = recipe.epochs * steps_of_epoch
    falling = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 - step / total)
    for _ in range(recipe.epochs):
        order = torch.randperm(len(labels), generator=generator)
        for batch in torch.split(order, recipe.batch):
            images = moved(tensor_of(pictures.pixels[batch.numpy()]), recipe.shift, generator)
            optimizer.zero_grad()
            loss = functional.cross_entropy(
                network(images.contiguous(memory_format=torch.channels_last)), labels[batch]
            )
            torch.autograd.backward(loss)
            optimizer.step()
            falling.step()
    return network.eval()


def moved(images: Tensor, most: int, generator: torch.Generator) -> Tensor:
    """Every image moved by up to `most` pixels along each axis; what comes in from outside is black (-1)."""
    if most == 0:
        return images
    height, width = images.shape[-2:]
    wide = functional.pad(images, (most, most, most, most), value=-1.0)
    down, right = torch.randint(0, 2 * most + 1, (2, len(images), 1), generator=generator)
    rows = (down + torch.arange(height))[:, None, :, None]
    columns = (right + torch.arange(width))[:, None, None, :]
    images_index = torch.arange(len(images))[:, None, None, None]
    channels_index = torch.arange(images.shape[1])[None, :, None, None]
    return wide[images_index, channels_index, rows, columns]


def probabilities(network: Classifier, pixels: npt.NDArray[np.uint8]) -> Floats:
    """(images, classes) float64 probabilities."""
    return _in_chunks(lambda images: torch.softmax(network(images).double(), dim=1), pixels)


def features(network: Classifier, pixels: npt.NDArray[np.uint8]) -> Floats:
    """(images, features) float64 outputs of the last hidden layer."""
    return _in_chunks(lambda images: network.body(images).double(), pixels)


def accuracy(network: Classifier, pictures: Pictures) -> float:
    """Share of the images whose most probable class is their label."""
    answers = probabilities(network, pictures.pixels).argmax(axis=1)
    return float(np.mean(answers == pictures.labels))


def train_on_synthetic_test_on_real(
    made: Pictures,
    real: Pictures,
    *,
    classes: int,
    seed: int,
    recipe: Recipe = CLASSIFIERS,
    kinds: Sequence[str] = KINDS,
) -> dict[str, float]:
    """Train classifiers on `made` and test them on `real`.

    Returns:
        Of each of `kinds` its accuracy: `accuracy_cnn`, `accuracy_mlp` and `accuracy_logistic`.
    """
    return {
        f"accuracy_{kind}": _logistic(made, real)
        if kind == LOGISTIC
        else accuracy(train(kind, made, classes=classes, seed=seed, recipe=recipe), real)
        for kind in kinds
    }


def _logistic(made: Pictures, real: Pictures) -> float:
    """Accuracy of logistic regression; it draws nothing, so it has no seed."""
    inputs, tested = (part.pixels.reshape(len(part), -1) / np.float32(255.0) for part in (made, real))
    if len(np.unique(made.labels)) == 1:
        return float(np.mean(real.labels == made.labels[0]))
    model = LogisticRegression(max_iter=LOGISTIC_ITERATIONS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, made.labels)
    return float(np.mean(model.predict(tested) == real.labels))


def _in_chunks(answer: Callable[[Tensor], Tensor], pixels: npt.NDArray[np.uint8]) -> Floats:
    with torch.no_grad():
        parts = [
            answer(tensor_of(pixels[first : first + _CHUNK]).contiguous(memory_format=torch.channels_last))
            for first in range(0, len(pixels), _CHUNK)
        ]
    found: Floats = torch.cat(parts).numpy()
    return found
