"""Progress of a generator along its training: scores against seconds, kept beside the final scores.

Curves are looked at often, so they are taken in development only: trained without the held-out images and scored on them,
never on the test. The classifier is trained for fewer passes than that of the tables, on fewer images: its accuracies are lower than
theirs.
"""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.images.classifiers import Recipe, accuracy, train
from benchmarks.images.datasets import ImageSet, Pictures
from benchmarks.images.measures import distances
from benchmarks.images.score import FILE
from benchmarks.images.scorer import scorer
from benchmarks.machine import load_average
from benchmarks.results_file import RESULTS, merge, rounded

RECIPE = Recipe(epochs=3)
"""Recipe of the classifier, the paper's network."""
FIRST_LOOK, LATER = 2.0, 2.0
"""Processor seconds of the first point, and the ratio of a point's seconds to those of the one before."""


class Curve:
    """Points of one training; the time that the measuring itself takes is not counted.

    Args:
        images: the real ones, of the development split.
        name: of the training: data set, method, epsilon, seed.
        tested: also train the paper's network on every point's images and test it on real ones.
        cache: where the scorer is kept.
    """

    def __init__(
        self, images: ImageSet, name: str, *, tested: bool = True, cache: Path | None = None
    ) -> None:
        assert images.development, "the test is looked at once"
        self._images, self._name, self._tested = images, name, tested
        self._scorer = scorer(images, folder=cache)
        self._next_look = FIRST_LOOK
        self._load = load_average()
        self._not_training = Clocks.now()
        self.points: list[dict[str, Any]] = []

    def restart(self) -> None:
        """Begin the clocks again: what follows is another training, whose points join the others."""
        self._not_training = Clocks.now()

    def due(self) -> bool:
        """Whether it is time for another point: they come in a geometric row."""
        return (Clocks.now() - self._not_training).processor >= self._next_look

    def point(self, step: int, draw: Callable[[], Pictures]) -> None:
        """Measure what the generator makes now, if another point is due.

        Args:
            step: of the training.
            draw: makes images; a few thousand will do.
        """
        if self.due():
            self.measure(step, draw)

    def measure(self, step: int, draw: Callable[[], Pictures]) -> None:
        """Measure in any case: what a training ends with."""
        arrived = Clocks.now()
        spent = arrived - self._not_training
        made = draw()
        scores: dict[str, Any] = distances(self._images, made, self._scorer)
        if self._tested:
            network = train("cnn", made, classes=self._images.classes, seed=0, recipe=RECIPE)
            scores["accuracy_cnn"] = accuracy(network, self._images.test)
        clocks = {"seconds": round(spent.wall, 1), "processor_seconds": round(spent.processor, 1)}
        self.points.append({"step": step, "made": len(made), **clocks, **rounded(scores)})
        self._next_look = LATER * spent.processor
        self._not_training += Clocks.now() - arrived

    def keep(self, folder: Path = RESULTS, *, facts: Mapping[str, Any] | None = None) -> None:
        """Merge the curve into `images.json`.

        Args:
            folder: of the results.
            facts: more to keep, such as what the training was asked for.
        """
        entry = {"points": self.points, "load": self._load, **(facts or {})}
        merge(FILE, kind="curves", key=self._name, entry=entry, folder=folder)


class Clocks:
    """Seconds of the wall's clock and of the processor, all threads together.

    Args:
        wall: seconds.
        processor: seconds.
    """

    def __init__(self, wall: float, processor: float) -> None:
        self.wall, self.processor = wall, processor

    @classmethod
    def now(cls) -> "Clocks":
        """The clocks at this moment."""
        return cls(time.perf_counter(), time.process_time())

    def __sub__(self, other: "Clocks") -> "Clocks":
        """Time that passed between two readings."""
        return Clocks(self.wall - other.wall, self.processor - other.processor)

    def __add__(self, other: "Clocks") -> "Clocks":
        """Both times together."""
        return Clocks(self.wall + other.wall, self.processor + other.processor)
