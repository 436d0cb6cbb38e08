"""How a generator gets better along its training: scores against seconds, kept beside the final scores.

Curves are looked at often, so they are taken in development only: trained without the held-out images and scored on them,
never on the test.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.images.classifiers import accuracy, train
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.measures import distances
from benchmarks.images.score import FILE
from benchmarks.images.scorer import scorer
from benchmarks.results_file import RESULTS, merge, rounded


class Curve:
    """Points of one training; the time that the measuring itself takes is not counted.

    Args:
        images: the real ones, of the development split.
        name: of the training: data set, method, epsilon, seed.
        tested: also train the perceptron on every point's images and test it on real ones.
        cache: where the scorer is kept.
    """

    def __init__(
        self, images: ImageSet, name: str, *, tested: bool = True, cache: Path | None = None
    ) -> None:
        assert images.development, "the test is looked at once"
        self._images, self._name, self._tested = images, name, tested
        self._scorer = scorer(images, folder=cache)
        self._measuring = 0.0
        self._begun = time.perf_counter()
        self.points: list[dict[str, Any]] = []

    def point(self, step: int, draw: Callable[[], Pictures]) -> None:
        """Measure what the generator makes now.

        Args:
            step: of the training.
            draw: makes images; a few thousand will do.
        """
        arrived = time.perf_counter()
        made = draw()
        scores: dict[str, Any] = distances(self._images, made, self._scorer)
        if self._tested:
            network = train("mlp", made, classes=self._images.classes, seed=0)
            scores["accuracy_mlp"] = accuracy(network, self._images.test)
        seconds = round(arrived - self._begun - self._measuring, 1)
        self.points.append({"step": step, "seconds": seconds, **rounded(scores)})
        self._measuring += time.perf_counter() - arrived

    def keep(self, folder: Path = RESULTS) -> None:
        """Merge the curve into `images.json`."""
        merge(FILE, kind="curves", key=self._name, entry={"points": self.points}, folder=folder)
