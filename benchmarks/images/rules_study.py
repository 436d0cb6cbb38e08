"""Effects of batch, steps and the anchor's share on a critic of images: the small study of docs/rules-study.md.

    python -m benchmarks.images.rules_study noise
    python -m benchmarks.images.rules_study train mnist --epsilon 4 --batch 1024 --steps 150 --share 0.5

`noise` asks the accountant alone, for the declared size of MNIST: nothing is trained. `train` trains a critic of labels on the
development split and says how many held-out images it labels right, and how many the anchor had taught it before it saw
a real one. Keys derive from the seed, so nothing here is private.
"""

import argparse
import hashlib
import itertools
import json
import math
import time
from typing import Any

import numpy as np
import torch

from benchmarks.datasets import HERE
from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import DELTA
from benchmarks.images.idpgan import plan_of
from benchmarks.machine import load_average
from benchmarks.results_file import merge, rounded
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.images import ImageDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.critic.label_network import LabelCritic
from models.idpgan.image_training import ImageTraining
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

FILE = "rules_study"
DECLARED = 60_000
BATCHES, STEPS, EPSILONS = (256, 1024, 2048, 4096), (50, 150, 500, 1500), (1.0, 4.0, 10.0)
_AT_ONCE = 500


def noise_of(epsilon: float, batch: int, steps: int) -> dict[str, Any]:
    """Noise multiplier of a critic of labels with half of the budget, by the accountant.

    `stands_above` is `sqrt(T) B / sigma`: by how much what every gradient of a record agrees on stands above the noise
    of one coordinate after all steps, in units of the clipping norm.
    """
    domain = ImageDomain.from_json(json.loads((HERE / "domains" / "mnist.json").read_text()))
    options = {"critic": True, "expected_batch_size": batch, "steps": steps, "anchor_share": 0.5}
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=DECLARED,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    multiplier = plan.noise_multiplier_at(0)
    return {
        "epsilon": epsilon, "batch": batch, "steps": steps, "noise_multiplier": multiplier,
        "stands_above": math.sqrt(steps) * batch / multiplier, "records": batch * steps,
    }  # fmt: skip


class Judged(ImageTraining):
    """A training whose critic of labels is asked about held-out images, before its first noisy step and after its last.

    Args:
        images: the real ones, of the development split.
        plan: with a critic of labels.
        seed: of everything.
    """

    def __init__(self, images: ImageSet, plan: Plan, *, seed: int) -> None:
        key = hashlib.sha256(f"understudy benchmark, not private, rules {seed}".encode()).digest()
        super().__init__(images.private(), plan, KeyedStreams(key), NullHost())
        self._held_out = images.test
        self.warmed = 0.0

    def _train(self, first: int) -> None:
        self.warmed = self.right()
        super()._train(first)

    def right(self) -> float:
        """Share of the held-out images that the critic labels right now."""
        assert isinstance(self._network, LabelCritic), "the plan has a critic of labels"
        return _right(self._network, self._held_out)


def trained(
    images: ImageSet, *, epsilon: float, batch: int, steps: int, share: float, seed: int
) -> dict[str, Any]:
    """One training and what its critic knows."""
    options = {"critic": True, "expected_batch_size": batch, "steps": steps, "anchor_share": share}
    plan = plan_of(images, epsilon=epsilon, options=options)
    load_before, begun = load_average(), time.process_time()
    training = Judged(images, plan, seed=seed)
    training.run()
    return {
        "dataset": images.name, "epsilon": epsilon, "batch": batch, "steps": steps, "share": share, "seed": seed,
        "noise_multiplier": plan.noise_multiplier_at(0), "warm_steps": plan.idpgan_options.pretraining_steps,
        "learning_rate": plan.idpgan_options.critic_learning_rate, "warmed": training.warmed, "critic": training.right(),
        "processor_seconds": time.process_time() - begun, "load": load_before,
    }  # fmt: skip


def _right(critic: LabelCritic, pictures: Pictures) -> float:
    found = 0
    with torch.no_grad():
        for first in range(0, len(pictures), _AT_ONCE):
            some = pictures.take(slice(first, first + _AT_ONCE))
            pixels = torch.from_numpy(some.pixels.transpose(0, 3, 1, 2).astype(np.float32) / 255.0)
            found += int((critic.logits(pixels).argmax(dim=1).numpy() == some.labels).sum())
    return found / len(pictures)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("noise")
    train = kinds.add_parser("train")
    train.add_argument("name", choices=NAMES)
    train.add_argument("--epsilon", type=float, required=True)
    train.add_argument("--batch", type=int, required=True)
    train.add_argument("--steps", type=int, required=True)
    train.add_argument("--share", type=float, required=True)
    train.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.kind == "noise":
        for epsilon, batch, steps in itertools.product(EPSILONS, BATCHES, STEPS):
            entry = rounded(noise_of(epsilon, batch, steps))
            print(json.dumps(entry), flush=True)
            merge(FILE, kind="noise", key=f"epsilon {epsilon:g} batch {batch} steps {steps}", entry=entry)
        return
    asked = {name: getattr(chosen, name) for name in ("epsilon", "batch", "steps", "share", "seed")}
    entry = rounded(trained(load(chosen.name, development=True), **asked))
    print(json.dumps(entry), flush=True)
    key = " ".join([chosen.name, *(f"{name} {value:g}" for name, value in asked.items())])
    merge(FILE, kind="trained", key=key, entry=entry)


if __name__ == "__main__":
    main()
