"""IDPGAN on real images: anchor only, critic only, and both, scored and kept beside the baselines.

    python -m benchmarks.images.idpgan mnist --parts anchor critic both --epsilon 1 4 10 [--development]

With `--development` the held-out part of the training images scores, and nothing is written; the test is for final scores.
"""

import argparse
import hashlib
import json
import os
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import DELTA, drawn
from benchmarks.images.grids import write_grid
from benchmarks.images.measures import HEADLINE, MADE, Effort
from benchmarks.images.score import record
from benchmarks.machine import load_average
from benchmarks.steps.gpu_step import PRECISIONS, repeatable
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.devices.placement import HOST, Placement, placed, settle
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

SHORT: dict[str, Any] = {
    "steps": 400,
    "expected_batch_size": 600,
    "critic_steps": 1,
    "generator_batch_size": 64,
    "generator_width": 16,
}
"""Budget of a critic alone that fits into 20 minutes of one core with its scores; by the rule it takes longer."""
PARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "anchor": ("anchor only", {"critic": False}),
    "critic": ("critic only", {"anchor": False, **SHORT}),
    "critic-standard": ("critic only, standard", {"anchor": False, "effort": "standard"}),
    "critic-long": ("critic only, long", {"anchor": False, "effort": "long"}),
    "both": ("anchor and critic", {"critic": True}),
}
"""What runs, as the tables name it, and the options that say so."""


def plan_of(images: ImageSet, *, epsilon: float, options: dict[str, Any]) -> Plan:
    """The plan by the public rules, of the true size as the declared one."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=len(images.train),
        domain=images.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def training_key(seed: int) -> bytes:
    """The key of a training, derived from its seed, so that nothing here is private."""
    return hashlib.sha256(f"understudy benchmark, not private, idpgan {seed}".encode()).digest()


def idpgan(images: ImageSet, plan: Plan, *, seed: int, placement: Placement = HOST) -> Pictures:
    """Images made under a plan, as many as are scored; trained where the placement says, drawn on the CPU."""
    with repeatable():
        made = IdpganSynthesizer(placement).fit(
            images.private(), plan, KeyedStreams(training_key(seed)), NullHost()
        )
    assert made.label_probabilities is not None, "the sets of the benchmarks have labels"
    return drawn(
        made.network,
        made.label_probabilities,
        images,
        seed=seed,
        latent=made.latent_dimension,
        count=MADE,
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--parts", choices=PARTS, nargs="+", default=["anchor", "critic", "both"])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[1.0, 4.0, 10.0])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where it trains")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default="float32",
        help="of products on a GPU; the method's name says another",
    )
    parser.add_argument("--development", action="store_true", help="nothing is written")
    parser.add_argument(
        "--headline", action="store_true", help="train the paper's network alone on what is made"
    )
    parser.add_argument("--set", default="{}", help="more options, as JSON")
    parser.add_argument(
        "--grids", type=Path, help="write a picture of the images of every run into this folder"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # the training child's; read with the first product
    placement = placed(chosen.device, chosen.precision)
    settle(placement)
    effort = Effort(discriminator=None) if chosen.development else None
    effort = HEADLINE if chosen.headline else effort
    images, more = load(chosen.name, development=chosen.development), json.loads(chosen.set)
    rounded = f", {chosen.precision.upper()}" if chosen.precision != "float32" else ""
    for part in chosen.parts:
        named, options = PARTS[part]
        method = named + rounded
        for epsilon in chosen.epsilon:
            for seed in range(chosen.first_seed, chosen.first_seed + chosen.seeds):
                load_before, begun = load_average(), time.perf_counter()
                plan = plan_of(images, epsilon=epsilon, options=options | more)
                made = idpgan(images, plan, seed=seed, placement=placement)
                if chosen.grids is not None:
                    write_grid(
                        made,
                        chosen.grids / f"{chosen.name}-{part}-{epsilon:g}-{seed}.png",
                        classes=images.classes,
                        rows=4,
                        columns=20,
                    )
                facts = {
                    "seconds": round(time.perf_counter() - begun, 1),
                    "load": load_before,
                    "threads": chosen.threads,
                    "options": options | more,
                    "steps": plan.steps,
                    "spent_epsilon": plan.epsilons.reported,
                    "brightness": "kept",
                }
                if placement.data_parallel:
                    facts["device"] = placement.kind
                entry = record(
                    images,
                    made,
                    method=method,
                    epsilon=epsilon,
                    delta=DELTA,
                    seed=seed,
                    facts=facts,
                    effort=effort,
                )
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
