"""A classifier trained on the real images with differentially private gradients (DP-SGD), for reference.

    python -m benchmarks.images.private_classifier mnist --epsilon 1 4 10

What the same budget gives to somebody who wants one classifier and no synthetic images. Poisson sampling, one clip of
every image's whole gradient, Gaussian noise on the sum, the public expected batch as divisor, Adam; noise calibrated by
the product's accountant. Keys derive from seeds, so the result is NOT PRIVATE.
"""

import argparse
import hashlib
import json
import math
import time
from dataclasses import dataclass

import numpy as np
import torch

from benchmarks.images.classifiers import tensor_of
from benchmarks.images.clipped_network import CHUNK, ClippedNetwork
from benchmarks.images.datasets import NAMES, ImageSet, load
from benchmarks.images.score import FILE, key_of
from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from core.dp import gaussian
from core.dp.calibration import sampled_gaussian_guess, smallest_scale
from core.dp.guarantee import PrivacyGuarantee
from core.dp.mechanism import Gaussian, PoissonSampled, Repeated
from models.dp.poisson import UnitSampler
from models.randomness import KeyedStreams, Purpose

DELTA = 1e-5
METHOD = "DP-SGD on real images"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Public constants, chosen on the held-out part of MNIST's training images.

    Args:
        steps: noisy updates.
        expected_batch: images of a step, expected; also the divisor.
        clipping_norm: bound of one image's gradient.
        learning_rate: of Adam.
    """

    steps: int = 150
    expected_batch: int = 2048
    clipping_norm: float = 0.1
    learning_rate: float = 1e-2


def noise_multiplier(settings: Settings, *, guarantee: PrivacyGuarantee, size: int) -> float:
    """The least noise that keeps all steps within the guarantee.

    Args:
        settings: steps and batch.
        guarantee: epsilon and delta.
        size: public number of images.
    """
    rate = settings.expected_batch / size

    def build(scale: float) -> Repeated:
        step = PoissonSampled(sampling_rate=rate, mechanism=Gaussian(noise_multiplier=scale))
        return Repeated(mechanism=step, count=settings.steps)

    guess = sampled_gaussian_guess(
        sampling_rate=rate,
        squares=lambda scale: settings.steps * math.expm1(min(scale**-2, 700.0)),
        mu=gaussian.largest_mu(guarantee),
    )
    return smallest_scale(build, guarantee=guarantee, guess=guess, slope=1.0)


def train_privately(
    images: ImageSet, settings: Settings, *, noise_multiplier: float, streams: KeyedStreams
) -> ClippedNetwork:
    """Run all steps.

    Args:
        images: whose training part is private.
        settings: public.
        noise_multiplier: standard deviation of the noise over the clipping norm.
        streams: of the run.
    """
    private = images.private()
    network = ClippedNetwork(private.shape, images.classes, streams)
    sampler = UnitSampler(
        private.unit_of_record,
        sampling_rate=settings.expected_batch / len(images.train),
        max_sampled_batch=2 * settings.expected_batch + 100,
    )
    optimizer = torch.optim.Adam(network.parameters, lr=settings.learning_rate)
    sizes = [parameter.numel() for parameter in network.parameters]
    for step in range(settings.steps):
        chosen = sampler.draw(streams, step)
        sums = [torch.zeros_like(parameter) for parameter in network.parameters]
        for first in range(0, len(chosen), CHUNK):
            some = images.train.take(chosen[first : first + CHUNK])
            labels = torch.from_numpy(some.labels.astype(np.int64))
            found = network.clipped_sum(tensor_of(some.pixels), labels, clipping_norm=settings.clipping_norm)
            sums = [total + part for total, part in zip(sums, found, strict=True)]
        noise = streams.torch_normals(Purpose.GRADIENT_NOISE, step, sum(sizes))
        noise *= noise_multiplier * settings.clipping_norm
        for parameter, total, drawn in zip(network.parameters, sums, torch.split(noise, sizes), strict=True):
            parameter.grad = (total + drawn.reshape(parameter.shape)) / settings.expected_batch
        optimizer.step()
    return network


def run(images: ImageSet, settings: Settings, *, epsilon: float, seed: int) -> dict[str, object]:
    """Calibrate, train and test once; the entry of results."""
    scale = noise_multiplier(
        settings, guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA), size=len(images.train)
    )
    key = hashlib.sha256(f"understudy benchmark, not private, classifier {seed}".encode()).digest()
    load_before, begun = load_average(), time.perf_counter()
    network = train_privately(images, settings, noise_multiplier=scale, streams=KeyedStreams(key))
    seconds = time.perf_counter() - begun
    return {
        "dataset": images.name, "method": METHOD, "epsilon": epsilon, "delta": DELTA, "seed": seed,
        "development": images.development, "threads": torch.get_num_threads(), "load": load_before,
        "steps": settings.steps, "expected_batch": settings.expected_batch, "noise_multiplier": scale,
        **rounded({"accuracy_cnn": network.accuracy(images.test), "seconds": seconds}),
    }  # fmt: skip


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--development", action="store_true", help="nothing is written")
    parser.add_argument("--set", default="{}", help="other settings, as JSON")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    images = load(chosen.name, development=chosen.development)
    settings = Settings(**json.loads(chosen.set))
    for epsilon in chosen.epsilon:
        for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
            entry = run(images, settings, epsilon=epsilon, seed=seed)
            print(json.dumps(entry), flush=True)
            if not images.development:
                merge(FILE, kind="runs", key=key_of(entry), entry=entry)


if __name__ == "__main__":
    main()
