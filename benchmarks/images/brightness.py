"""Images summed about their noisy brightness, about grey and from black, on real sets and on their negatives.

    python -m benchmarks.images.brightness [--seeds 2] [--ways brightness grey black]

The default order's anchor alone, planned for 12,000 images. Development data: the held-out part of the training images scores. `error` is the mean
distance of a pixel's mean in a label from the real one, over the range; `accuracy` is that of logistic regression that learnt from made
images. Keys derive from the seed, so nothing here is private.
"""

import argparse
import dataclasses

import numpy as np
from sklearn.linear_model import LogisticRegression

from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import drawn
from benchmarks.images.idpgan import plan_of, training_key
from benchmarks.results_file import merge
from core.dp.calibration import round_up
from core.plan.images.anchor import IMAGE_NORM, ImageAnchorPlan
from core.plan.plan import Plan
from models.devices.placement import HOST
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

NAME = "brightness"
IMAGES = 12_000
EPSILONS = (1.0, 4.0)
WAYS = ("brightness", "grey", "black")
"""What images are summed about: in today's plans, in those before, and in the first."""
GREY_NORM = 0.5
"""Clipping norm about grey over the norm of white."""


def negative(pictures: Pictures) -> Pictures:
    """The same pictures with black and white exchanged."""
    return dataclasses.replace(pictures, pixels=255 - pictures.pixels)


def earlier(plan: Plan, way: str) -> Plan:
    """The plan that sums images about grey or from black, with today's noise; the plan itself for "brightness"."""
    anchor = plan.anchor
    assert isinstance(anchor, ImageAnchorPlan)
    if way == "brightness":
        return plan
    norm = anchor.image_norm if way == "black" else round_up(GREY_NORM / IMAGE_NORM * anchor.image_norm)
    changed = dataclasses.replace(
        anchor, brightness_noise_multiplier=None, about_grey=way == "grey", image_norm=norm
    )
    return dataclasses.replace(plan, anchor=changed)


def scores(images: ImageSet, plan: Plan, seed: int) -> dict[str, float]:
    """Train, draw as many images as there are, and score them on the held-out ones."""
    made = IdpganSynthesizer(HOST).fit(images.private(), plan, KeyedStreams(training_key(seed)), NullHost())
    assert made.label_probabilities is not None
    synthetic = drawn(
        made.network, made.label_probabilities, images, seed=seed, latent=made.latent_dimension, count=IMAGES
    )
    real, learnt = (one.pixels.reshape(len(one), -1) / 255 for one in (images.test, synthetic))
    errors = [
        np.abs(
            learnt[synthetic.labels == label].mean(axis=0) - real[images.test.labels == label].mean(axis=0)
        )
        for label in np.unique(synthetic.labels)
    ]
    classifier = LogisticRegression(max_iter=100, C=0.01).fit(learnt, synthetic.labels)
    return {
        "error": round(float(np.mean(errors)), 4),
        "accuracy": round(float(classifier.score(real, images.test.labels)), 4),
    }


def main() -> None:
    """Measure every set, epsilon and seed each way."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--ways", choices=WAYS, nargs="+", default=WAYS)
    chosen = parser.parse_args()
    for name in NAMES:
        loaded = load(name, development=True)
        few = dataclasses.replace(loaded, train=loaded.train.take(slice(IMAGES)))
        turned = dataclasses.replace(few, train=negative(few.train), test=negative(few.test))
        for title, images in ((name, few), (f"{name}, negative", turned)):
            for epsilon in EPSILONS:
                plan = plan_of(images, epsilon=epsilon, options={"critic": False})
                for way in chosen.ways:
                    for seed in range(chosen.seeds):
                        entry = {"images": title, "epsilon": epsilon, "from": way, "seed": seed}
                        entry |= scores(images, earlier(plan, way), seed)
                        key = f"{title} epsilon {epsilon:g} {way} seed {seed}"
                        merge(NAME, kind="runs", key=key, entry=entry)
                        print(key, entry["error"], entry["accuracy"], flush=True)


if __name__ == "__main__":
    main()
