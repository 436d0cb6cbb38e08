"""The private step of a critic of images beside the ordinary one, in one run.

`python -m benchmarks.steps.conv_step [--json] [--out FILE] [--batches 64 256 ...]`

*Private* is the complete step of `PrivateCritic` with a `ConvCritic`: factors, norms, clip, sum, ChaCha20 noise on the grid,
division, Adam. *Ordinary* is plain autograd on the WGAN-GP loss of the same network made of torch's own layers, with
torch's Adam; it is built with both layouts of memory and the faster one counts. Each round takes all contenders in turn, so
that whatever else the machine does hits all alike.

Ratios are of processor seconds, the private step's noise on its second thread included, and of wall-clock seconds:
of medians over the rounds, and of the fastest rounds. *Drawn* has the private step work on batches of the sizes that Poisson
sampling gives (five quantiles of it), which do not fill their last chunk, against the ordinary step on the expected size.
"""

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.machine import load_average, machine_facts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.critic.conv_form import conv_microbatch_size
from models.critic.conv_network import ConvCritic
from models.private_step import ADAM_BETAS, PrivateCritic
from models.randomness import KeyedStreams, Purpose

CRITICS: tuple[tuple[tuple[int, int, int], tuple[int, ...], int], ...] = (
    ((1, 28, 28), (16, 32), 10),
    ((1, 28, 28), (32, 64, 128), 10),
    ((1, 32, 32), (16, 32), 2),
    ((1, 32, 32), (32, 64, 128), 2),
)
"""Image, channels, classes."""
BATCHES = (64, 256, 1024)
QUANTILES = (-1.28, -0.52, 0.0, 0.52, 1.28)
"""Quantiles of the normal distribution, in the middle of five equal shares."""
LEARNING_RATE = 1e-4
GP_WEIGHT = 10.0
STREAMS = KeyedStreams(bytes(range(32)))  # a benchmark has no secret

Step = Callable[[int], None]


@dataclasses.dataclass(frozen=True)
class Shape:
    """Facts of a domain that a plan needs; the plan's own critic is not used."""

    cardinalities: tuple[int, ...] = (2, 2)
    target_index: int | None = None


@dataclasses.dataclass(frozen=True)
class Batch:
    """Records of one step: (n, channels, height, width) twice, (n,) labels."""

    real: Tensor
    fake: Tensor
    labels: Tensor


def plan_of(batch: int) -> Plan:
    """A real plan with this expected batch."""
    options = {
        "anchor": False,
        "critic_learning_rate": LEARNING_RATE,
        "expected_batch_size": batch,
        "grouping": "flat",
        "gp_weight": GP_WEIGHT,
        "steps": 2000,
    }
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=4.0, delta=1e-6),
        declared_size=50 * batch,
        domain=Shape(),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def batch_of(image: tuple[int, int, int], classes: int, count: int) -> Batch:
    """Random pixels and labels."""
    real, fake = STREAMS.torch_uniforms(Purpose.TEST, count, (2, count, *image))
    return Batch(real, fake, torch.from_numpy(STREAMS.integers(Purpose.TEST, count + 1, classes, count)))


def torch_critic(critic: ConvCritic) -> nn.Module:
    """The same network of torch's layers."""
    layers: list[nn.Module] = []
    for geometry in critic.geometries:
        constants = geometry.convolution
        layers += [
            nn.Conv2d(
                geometry.channels,
                geometry.outputs,
                constants.kernel,
                constants.stride,
                constants.padding,
            ),
            nn.LeakyReLU(0.2),
        ]
    last = critic.linear_layers()[-1]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(last.in_features, last.out_features))


def ordinary_step(critic: ConvCritic, batch: Batch, layout: torch.memory_format) -> Step:
    """WGAN-GP by autograd, not private."""
    network = torch_critic(critic).to(memory_format=layout)  # type: ignore[call-overload]
    real, fake = (images.contiguous(memory_format=layout) for images in (batch.real, batch.fake))
    adam = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, betas=ADAM_BETAS)
    rows = batch.labels[:, None]

    def step(number: int) -> None:
        mix = STREAMS.torch_uniforms(Purpose.INTERPOLATION, number, real.shape[0])
        between = torch.lerp(fake, real, mix[:, None, None, None]).requires_grad_()
        (slope,) = torch.autograd.grad(network(between).gather(1, rows).sum(), between, create_graph=True)
        penalty = (slope.flatten(1).norm(dim=1) - 1.0).square().mean()
        loss = network(fake).gather(1, rows).mean() - network(real).gather(1, rows).mean()
        adam.zero_grad(set_to_none=True)
        (loss + GP_WEIGHT * penalty).backward()
        adam.step()

    return step


def private_step(private: PrivateCritic, batches: list[Batch]) -> Step:
    """The complete private step, on each of the batches in turn."""

    def step(number: int) -> None:
        batch = batches[number % len(batches)]
        private.step(number, batch.real, batch.fake, batch.labels)

    return step


def seconds(step: Step, number: int) -> tuple[float, float]:
    """Wall-clock and processor seconds of one step."""
    wall, processor = time.perf_counter(), time.process_time()
    step(number)
    return time.perf_counter() - wall, time.process_time() - processor


def measure(
    image: tuple[int, int, int], widths: tuple[int, ...], classes: int, batch: int, rounds: int
) -> dict[str, Any]:
    """All contenders on one shape, alternating; rounds of as many steps as there are drawn sizes."""
    critic = ConvCritic(image=image, widths=widths, classes=classes).initialise(STREAMS)
    microbatch_size = conv_microbatch_size(critic)
    records = batch_of(image, classes, batch)
    drawn = [batch_of(image, classes, round(batch + z * batch**0.5)) for z in QUANTILES]
    private = PrivateCritic(critic, plan_of(batch), STREAMS)
    contenders = {
        "ordinary": ordinary_step(critic, records, torch.contiguous_format),
        "ordinary_channels_last": ordinary_step(critic, records, torch.channels_last),
        "private": private_step(private, [records]),
        "drawn": private_step(private, drawn),
    }
    for step in contenders.values():
        step(0)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    for number in range(rounds * len(QUANTILES)):
        for name, step in contenders.items():
            times[name].append(seconds(step, number))

    def best(name: str, clock: int) -> float:
        return min(pair[clock] for pair in times[name])

    def median(name: str, clock: int) -> float:
        return statistics.median(pair[clock] for pair in times[name])

    def of_drawn(clock: int) -> float:
        by_size = (times["drawn"][size :: len(QUANTILES)] for size in range(len(QUANTILES)))
        return statistics.mean(statistics.median(pair[clock] for pair in some) for some in by_size)

    ordinary = ("ordinary", "ordinary_channels_last")
    wall, processor = 0, 1
    median_ordinary = [min(median(name, clock) for name in ordinary) for clock in (wall, processor)]
    best_ordinary = [min(best(name, clock) for name in ordinary) for clock in (wall, processor)]
    return {
        "image": image,
        "channels": widths,
        "classes": classes,
        "batch": batch,
        "records_of_a_chunk": microbatch_size,
        "private_over_ordinary": round(median("private", processor) / median_ordinary[processor], 3),
        "private_over_ordinary_best": round(best("private", processor) / best_ordinary[processor], 3),
        "private_over_ordinary_wall": round(median("private", wall) / median_ordinary[wall], 3),
        "drawn_over_ordinary": round(of_drawn(processor) / median_ordinary[processor], 3),
        "private_milliseconds": round(1e3 * median("private", processor), 2),
        "ordinary_milliseconds": round(1e3 * median("ordinary", processor), 2),
        "ordinary_channels_last_milliseconds": round(1e3 * median("ordinary_channels_last", processor), 2),
        "steps": rounds * len(QUANTILES),
        "threads": torch.get_num_threads(),
        "load_average": load_average(),
    }


def measurements(batches: tuple[int, ...], work: float) -> Iterator[dict[str, Any]]:
    """One object per shape; more rounds where a step is short."""
    for image, widths, classes in CRITICS:
        for batch in batches:
            size = batch * sum(widths) / (1024 * 224)
            rounds = max(1, min(9, round(work / size)))
            yield measure(image, widths, classes, batch, rounds)


def main() -> None:
    """Print one line, or with --json one object, per shape."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per shape")
    parser.add_argument(
        "--out", type=Path, help="also write all of it, with the machine and date, to this file"
    )
    parser.add_argument("--threads", type=int, default=1, help="torch threads; one core per step by default")
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--work", type=float, default=2.0, help="rounds of the largest shape")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    shapes = []
    for shape in measurements(tuple(chosen.batches), chosen.work):
        shapes.append(shape)
        if chosen.json:
            print(json.dumps(shape), flush=True)
        else:
            print(
                f"{shape['image']} channels {shape['channels']} batch {shape['batch']:5d}: "
                f"private {shape['private_milliseconds']:8.2f} ms, ordinary {shape['ordinary_milliseconds']:8.2f} ms "
                f"(channels last {shape['ordinary_channels_last_milliseconds']:8.2f}); "
                f"ratio {shape['private_over_ordinary']:.2f}, best {shape['private_over_ordinary_best']:.2f}, "
                f"wall {shape['private_over_ordinary_wall']:.2f}, drawn sizes {shape['drawn_over_ordinary']:.2f}",
                flush=True,
            )
    if chosen.out is not None:
        document = {"benchmark": "conv_step", "machine": machine_facts(), "shapes": shapes}
        chosen.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
