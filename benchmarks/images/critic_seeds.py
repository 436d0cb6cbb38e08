"""Critics without an anchor on held-out images, over seeds, lengths of training and critic steps per generator step.

    python -m benchmarks.images.critic_seeds mnist --epsilon 10 --seeds 10 --critic-steps 1 5 50 adaptive [--device cuda]
    python -m benchmarks.images.critic_seeds mnist --epsilon 4 --seeds 3 --efforts standard long --made 60000

Trained on the training images without the held-out ones. A small network learns from the made images, on the same device as
the training, and is tested on the held-out ones; the test file is not looked at. That is quicker than the scores of
`benchmarks.images.score` and not comparable with them. Results are kept in `benchmarks/results/critic_seeds.json`.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.images.datasets import NAMES, ImageSet, Pictures, load
from benchmarks.images.drawing import drawn
from benchmarks.images.idpgan import plan_of, training_key
from benchmarks.results_file import RESULTS, merge, rounded
from benchmarks.steps.gpu_step import repeatable
from core.plan.images.defaults import STEPS_BY_EFFORT
from models.devices.placement import Placement, placed, settle
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost

FILE = "critic_seeds"
MADE = 20_000
EPOCHS, BATCH, CHUNK = 6, 256, 2_000
ALONE = {"anchor": False}


def run(
    images: ImageSet, *, epsilon: float, options: dict[str, Any], seed: int, made: int, placement: Placement
) -> dict[str, Any]:
    """One training, and what its images teach.

    Args:
        images: of development.
        epsilon: of the whole order.
        options: of the order, beside `ALONE`.
        seed: of the training's key and of the draws.
        made: images.
        placement: where it is trained.
    """
    plan = plan_of(images, epsilon=epsilon, options=ALONE | options)
    begun = time.perf_counter()
    with repeatable():
        trained = IdpganSynthesizer(placement).fit(
            images.private(), plan, KeyedStreams(training_key(seed)), NullHost()
        )
    seconds = time.perf_counter() - begun
    distribution = trained.label_probabilities
    assert distribution is not None, "the sets of the benchmarks have labels"
    trained.network.to("cpu")
    pictures = drawn(
        trained.network, distribution, images, seed=seed, latent=trained.latent_dimension, count=made
    )
    return {
        "dataset": images.name, "epsilon": epsilon, "seed": seed, "options": options, "steps": plan.steps,
        "spent_epsilon": plan.epsilons.reported, "made": made, "device": placement.kind,
        **rounded({"accuracy": taught(pictures, images, placement.main), "seconds": seconds}),
    }  # fmt: skip


def taught(made: Pictures, images: ImageSet, device: torch.device) -> float:
    """Share of the held-out images that a small network labels right, which the made images taught.

    `benchmarks.images.classifiers` trains on the CPU, where forty runs would take longer than their trainings on a GPU.
    """
    torch.manual_seed(0)
    height, width, channels = made.pixels.shape[1:]
    network = nn.Sequential(
        nn.Conv2d(channels, 32, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * (height // 4) * (width // 4), 256),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(256, images.classes),
    ).to(device)
    adam = torch.optim.Adam(network.parameters(), lr=1e-3)
    pixels, labels = (part.to(device) for part in _tensors(made))
    for _ in range(EPOCHS):
        for batch in torch.split(torch.randperm(len(pixels), device=device), BATCH):
            adam.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(network(pixels[batch]), labels[batch]))
            adam.step()
    network.eval()
    right = 0
    with torch.no_grad():
        for some, true in zip(*(torch.split(part, CHUNK) for part in _tensors(images.test)), strict=True):
            right += int((network(some.to(device)).argmax(dim=1).cpu() == true).sum())
    return right / len(images.test)


def _tensors(pictures: Pictures) -> tuple[Tensor, Tensor]:
    """(images, channels, height, width) float32 in [0, 1] and (images,) int64 labels."""
    pixels = torch.from_numpy(pictures.pixels).permute(0, 3, 1, 2).float().div(255)
    return pixels, torch.from_numpy(pictures.labels.astype(np.int64))


def name_of(entry: dict[str, Any]) -> str:
    """The key of an entry: data set, epsilon, what was ordered, seed."""
    ordered = ", ".join(f"{name} {value}" for name, value in sorted(entry["options"].items()))
    return f"{entry['dataset']} epsilon {entry['epsilon']:g} {ordered} seed {entry['seed']}"


def critic_steps(word: str) -> int | str:
    """Critic steps per generator step, as an order has them."""
    return word if word == "adaptive" else int(word)


def main(words: list[str] | None = None, *, folder: Path = RESULTS) -> None:
    """Run what the command line asks for.

    Args:
        words: the command line without the program, or None for this process's.
        folder: of the results.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--epsilon", type=float, required=True)
    parser.add_argument("--efforts", choices=STEPS_BY_EFFORT, nargs="+", default=["standard"])
    parser.add_argument("--critic-steps", type=critic_steps, nargs="+", default=[1])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--made", type=int, default=MADE, help="images that teach")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    chosen = parser.parse_args(words)
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # the training child's; read with the first product
    torch.set_num_threads(1)
    placement = placed(chosen.device, "float32")
    settle(placement)
    images = load(chosen.name, development=True)
    for seed in range(chosen.seeds):
        for effort in chosen.efforts:
            for steps in chosen.critic_steps:
                entry = run(
                    images,
                    epsilon=chosen.epsilon,
                    options={"effort": effort, "critic_steps": steps},
                    seed=seed,
                    made=chosen.made,
                    placement=placement,
                )
                merge(FILE, kind="runs", key=name_of(entry), entry=entry, folder=folder)
                print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main()
