"""Curves of every method: what its images are worth after so many seconds of training.

    python -m benchmarks.images.curve_runs mnist [--epsilon 4] [--methods real anchor critic both mean-embedding wgan-gp]

Development data throughout, see `benchmarks.images.curves`. A method that trains is looked at on its way: what it would leave if
it ended there. The anchor alone is done when it has measured, so it has one point. The mean embedding cannot be
looked at on its way: each of its points is a training of its own to that length. As many real images are the ceiling. Keys derive from the seed, so none of
it is private.
"""

import argparse
import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import torch

from benchmarks.baselines.matching import MatchingOptions, fit_mean_embedding
from benchmarks.images.baselines import METHODS, WATCHED, wgan_gp
from benchmarks.images.curves import Curve
from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import DELTA, drawn
from benchmarks.images.idpgan import PARTS, plan_of
from benchmarks.results_file import RESULTS
from core.dp.calibration import gaussian_noise_multiplier
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan
from models.idpgan.image_training import ImageTraining
from models.randomness import KeyedStreams
from models.synthesizer import NullHost, TrainedImageGenerator

MATCHING_STEPS = (50, 150, 500, 1500)
"""Lengths of the trainings of the mean embedding; the last is that of the tables."""
CHOICES = ("real", *PARTS, "mean-embedding", "wgan-gp")
Options = dict[str, Any]


class WatchedTraining(ImageTraining):
    """A training that is looked at where it would keep a checkpoint: what it would leave if it ended there is measured.

    Args:
        curve: to add to.
        images: the real ones.
        plan: of the training.
        seed: of the training and of the draws.
    """

    def __init__(self, curve: Curve, images: ImageSet, plan: Plan, *, seed: int) -> None:
        super().__init__(images.private(), plan, streams_of(seed), NullHost())
        self._curve, self._real, self._seed = curve, images, seed

    def _keep(self, *, pretrained: int, trained: int) -> None:
        del pretrained
        self._curve.point(trained, self._draw)

    def _draw(self) -> Pictures:
        made = self._made(copy.deepcopy(self._refinement.average).eval().requires_grad_(requires_grad=False))
        return watched(made, self._real, seed=self._seed)


def trained(images: ImageSet, curve: Curve, plan: Plan, *, seed: int) -> None:
    """The points of one training under a plan."""
    made = WatchedTraining(curve, images, plan, seed=seed).run()
    curve.measure(plan.steps, lambda: watched(made, images, seed=seed))


def watched(made: TrainedImageGenerator, images: ImageSet, *, seed: int) -> Pictures:
    """Images of one point."""
    distribution = made.label_probabilities
    assert distribution is not None, "the sets of the benchmarks have labels"
    return drawn(made.network, distribution, images, seed=seed, latent=made.latent_dimension, count=WATCHED)


def matched(images: ImageSet, curve: Curve, *, epsilon: float, seed: int, steps: int) -> None:
    """The point of one training of the mean embedding."""
    multiplier = gaussian_noise_multiplier(PrivacyGuarantee(epsilon=epsilon, delta=DELTA))
    fitted = fit_mean_embedding(
        images.private(), streams_of(seed), noise_multiplier=multiplier, options=MatchingOptions(steps=steps)
    )
    network, distribution = fitted.network, fitted.embedding.distribution
    latent = network.latent_dimension
    curve.measure(
        steps, lambda: drawn(network, distribution, images, seed=seed, latent=latent, count=WATCHED)
    )


def run(
    images: ImageSet, method: str, *, epsilon: float, seed: int, options: Options, folder: Path = RESULTS
) -> None:
    """One curve, kept under its name.

    Args:
        images: of the development split.
        method: one of `CHOICES`.
        epsilon: of the private ones.
        seed: of the training and the draws.
        options: of the synthesizer, or of wgan-gp; the mean embedding has none.
        folder: of the results.
    """
    if method == "wgan-gp":
        wgan_gp(images, seed=seed, options=options)
        return
    if method == "real":
        curve = Curve(images, f"{images.name} real images seed {seed}")
        curve.measure(0, lambda: images.train.take(slice(WATCHED)))
        curve.keep(folder)
        return
    if method in PARTS:
        title, part = PARTS[method]
        curve = Curve(images, f"{images.name} {title} epsilon {epsilon:g} seed {seed}")
        plan = plan_of(images, epsilon=epsilon, options=part | options)
        trained(images, curve, plan, seed=seed)
        asked = {
            "options": part | options,
            "steps": plan.steps,
            "expected_batch_size": plan.expected_batch_size,
        }
        curve.keep(folder, facts=asked)
        return
    curve = Curve(images, f"{images.name} {METHODS[method]} epsilon {epsilon:g} seed {seed}")
    for steps in MATCHING_STEPS:
        curve.restart()
        matched(images, curve, epsilon=epsilon, seed=seed, steps=steps)
    curve.keep(folder)


def streams_of(seed: int) -> KeyedStreams:
    """All randomness of the trainings of a seed; nobody keeps its key secret."""
    return KeyedStreams(hashlib.sha256(f"understudy benchmark, not private, curve {seed}".encode()).digest())


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--methods", choices=CHOICES, nargs="+", default=CHOICES)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--set", default="{}", help="more options of the method, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    images = load(chosen.name, development=True)
    for method in chosen.methods:
        run(images, method, epsilon=chosen.epsilon, seed=chosen.seed, options=json.loads(chosen.set))
        print(f"{chosen.name} {method}: done", flush=True)


if __name__ == "__main__":
    main()
