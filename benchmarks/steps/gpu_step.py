"""The private step on a GPU beside the ordinary one, in one run.

`python -m benchmarks.steps.gpu_step [--out FILE] [--batches 512 ...] [--precisions tf32 bf16 float32]` on a machine with a GPU; elsewhere it refuses.

*Private* is the complete step of `PrivateCritic` on the device: factors, norms, clip, exact sum, noise from the keyed stream
made on the device, division, Adam. *Ordinary* is autograd on the WGAN-GP loss of the same network made of torch's own layers,
with torch's fused Adam and uniform numbers of torch's own generator; for a critic of labels it is the cross entropy of a
classifier. Both find their batch on the device. The ordinary step's products are in TF32, but in float32 beside a
private one of float32. The private step runs as in a training child, which takes repeatable kernels alone; the ordinary one takes any.
`recorded` says whether the private step replayed CUDA graphs. *Played* is the ordinary step captured as a whole
and replayed as one CUDA graph, which few ordinary trainings do and any could: the harder comparison. Both are measured in two layouts of
memory where there are images, and the faster one counts. Rounds take both in turn, after steps that warm them up; a step's time
ends when the device has finished it. *Drawn* has the private step work on batches of sizes that Poisson sampling gives, which do
not fill their last microbatch, against the ordinary step on the expected size. A shape that the device is refused for, or has no memory for, is
written down as such, and the others are measured.
"""

import argparse
import copy
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.machine import machine_facts
from benchmarks.steps import conv_step, cost_steps, critic_step
from core.errors import UnderstudyError
from models.critic.conv_network import ConvCritic
from models.critic.label_network import LabelCritic
from models.critic.network import Critic
from models.devices.cuda_graph import captured
from models.devices.placement import Placement, Precision, settle
from models.private_step import ADAM_BETAS, PrivateCritic

BATCHES = (512, 1024, 2048, 4096, 8192)
WIDTHS = (256, 512)
IMAGES = (conv_step.CRITICS[1], conv_step.CRITICS[3])
LABELS = (conv_step.CRITICS[1],)
PRECISIONS: tuple[Precision, ...] = ("tf32", "bf16", "float32")
WARM_UP = 3
REFUSAL = "no CUDA device here: nothing was measured"

Step = Callable[[int], None]
Batch = tuple[Tensor, Tensor, Tensor | None]


def laid_out(network: nn.Module, batch: Batch, layout: torch.memory_format) -> tuple[nn.Module, Batch]:
    """A copy of a network of images and its batch in a layout of memory."""
    real, fake, labels = batch
    network = copy.deepcopy(network).to(memory_format=layout)  # type: ignore[call-overload]
    return network, (real.contiguous(memory_format=layout), fake.contiguous(memory_format=layout), labels)


def ordinary_step(network: nn.Module, batch: Batch) -> Step:
    """WGAN-GP by autograd, not private."""
    real, fake, labels = batch
    fused = real.device.type == "cuda"
    adam = torch.optim.Adam(
        network.parameters(), lr=conv_step.LEARNING_RATE, betas=ADAM_BETAS, fused=fused, capturable=fused
    )

    def score(records: Tensor) -> Tensor:
        made: Tensor = network(records)
        return made.squeeze(1) if labels is None else made.gather(1, labels[:, None]).squeeze(1)

    def step(number: int) -> None:
        del number
        mix = torch.rand(len(real), *(1,) * (real.dim() - 1), device=real.device)
        between = torch.lerp(fake, real, mix).requires_grad_()
        (slope,) = torch.autograd.grad(score(between).sum(), between, create_graph=True)
        penalty = (slope.flatten(1).norm(dim=1) - 1.0).square().mean()
        adam.zero_grad(set_to_none=True)
        (score(fake).mean() - score(real).mean() + conv_step.GP_WEIGHT * penalty).backward()
        adam.step()

    return step


def ordinary_classifier(network: nn.Module, batch: Batch) -> Step:
    """A classifier by autograd, not private."""
    real, _, labels = batch
    assert labels is not None, "a classifier needs labels"
    fused = real.device.type == "cuda"
    adam = torch.optim.Adam(network.parameters(), lr=conv_step.LEARNING_RATE, fused=fused, capturable=fused)

    def step(number: int) -> None:
        del number
        adam.zero_grad(set_to_none=True)
        torch.autograd.backward(nn.functional.cross_entropy(network(real * 2.0 - 1.0), labels))
        adam.step()

    return step


def private_step(private: PrivateCritic, batches: list[Batch]) -> Step:
    """The complete private step, on each of the batches in turn."""

    def step(number: int) -> None:
        real, fake, labels = batches[number % len(batches)]
        with repeatable():
            private.step(number, real, fake, labels)

    return step


def again(play: Callable[[], None], number: int) -> None:
    """A step that is played, whatever its number."""
    del number
    play()


@contextmanager
def repeatable() -> Iterator[None]:
    """Make operations inside the block repeatable, as a training child does (`workers.runner`)."""
    torch.use_deterministic_algorithms(mode=True)
    torch.backends.cudnn.deterministic = True
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(mode=False)
        torch.backends.cudnn.deterministic = False


def seconds(step: Step, number: int, device: torch.device) -> float:
    """Wall-clock seconds of one step, until the device is done."""
    begun = time.perf_counter()
    step(number)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - begun


def contenders(name: str, batch: int, placement: Placement) -> tuple[dict[str, Step], PrivateCritic]:
    """The steps of one critic at one batch size, and what takes the private ones."""
    device = placement.main
    sizes = [batch, *(round(batch + z * batch**0.5) for z in conv_step.QUANTILES)]
    if name.startswith("linear"):
        width = int(name.split()[1])
        case = cost_steps.Case(network="linear", width=width, batch=batch)
        table, plan = cost_steps.table_of(case), cost_steps.plan_of(case, {})
        critic: Critic | ConvCritic = critic_step.critic_of(table)
        given = [critic_step.batch_of(table, size) for size in sizes]
        cells: list[Batch] = [(real.to(device), fake.to(device), None) for real, _, fake in given]
        ordinary: Batch = (given[0][1].to(device), given[0][2].to(device), None)
        network = nn.Sequential(
            nn.Linear(table.cells, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, width),
            nn.LeakyReLU(0.2),
            nn.Linear(width, 1),
        )
        batches = cells
    else:
        asked = LabelCritic if name.startswith("labels") else ConvCritic
        image, widths, classes = next(each for each in (*IMAGES, *LABELS) if name.endswith(name_of(*each)))
        critic = asked(image=image, widths=widths, classes=classes).initialise(conv_step.STREAMS)
        plan = conv_step.plan_of(batch)
        drawn = [conv_step.batch_of(image, classes, size) for size in sizes]
        batches = [(each.real.to(device), each.fake.to(device), each.labels.to(device)) for each in drawn]
        ordinary = batches[0]
        network = nn.Sequential(conv_step.torch_critic(critic))
    private = PrivateCritic(critic, plan, conv_step.STREAMS, placement=placement)
    without = ordinary_classifier if isinstance(critic, LabelCritic) else ordinary_step
    network = network.to(device)
    layouts = {"": torch.contiguous_format}
    if not name.startswith("linear"):
        layouts[" channels last"] = torch.channels_last
    return {
        **{
            f"{kind}{layout}": without(*laid_out(network, ordinary, form))
            for kind in ("ordinary", "played")
            for layout, form in layouts.items()
        },
        "private": private_step(private, batches[:1]),
        "drawn": private_step(private, batches[1:]),
    }, private


def name_of(image: tuple[int, int, int], widths: tuple[int, ...], classes: int) -> str:
    """Name of a critic of images."""
    del classes
    return f"of images {'x'.join(map(str, image))}, channels {' '.join(map(str, widths))}"


def measure(name: str, batch: int, placement: Placement, rounds: int) -> dict[str, Any]:
    """All contenders on one shape, alternating."""
    settle(placement)
    device = placement.main
    with repeatable():
        steps, private = contenders(name, batch, placement)
    whole = dict(steps)  # kept, because a CUDA graph does not keep the tensors it works on
    steps |= {
        each: partial(again, captured(partial(step, 0), device))
        for each, step in whole.items()
        if each.startswith("played")
    }
    number = 0
    for step in steps.values():
        for _ in range(WARM_UP):
            seconds(step, number, device)
            number += 1
    times: dict[str, list[float]] = {each: [] for each in steps}
    for _ in range(rounds * len(conv_step.QUANTILES)):
        for each, step in steps.items():
            times[each].append(seconds(step, number, device))
        number += 1
    median = {each: statistics.median(some) for each, some in times.items()}
    for kind in ("ordinary", "played"):
        faster = min((each for each in times if each.startswith(kind)), key=lambda each: median[each])
        median[kind], times[kind] = median[faster], times[faster]
    return {
        "critic": name,
        "batch": batch,
        "precision": placement.precision,
        "records_of_a_unit": private.microbatch_size,
        "recorded": private.replays_graphs,
        "private_over_ordinary": round(median["private"] / median["ordinary"], 3),
        "private_over_ordinary_best": round(min(times["private"]) / min(times["ordinary"]), 3),
        "drawn_over_ordinary": round(median["drawn"] / median["ordinary"], 3),
        "private_over_played": round(median["private"] / median["played"], 3),
        "private_milliseconds": round(1e3 * median["private"], 3),
        "ordinary_milliseconds": round(1e3 * median["ordinary"], 3),
        "played_milliseconds": round(1e3 * median["played"], 3),
        "steps": rounds * len(conv_step.QUANTILES),
    }


def measurements(
    batches: tuple[int, ...], device: torch.device, precisions: tuple[Precision, ...], rounds: int
) -> Iterator[dict[str, Any]]:
    """One object per shape and precision."""
    names = [f"linear {width}" for width in WIDTHS]
    names += [name_of(*each) for each in IMAGES] + [f"labels {name_of(*each)}" for each in LABELS]
    for name in names:
        for batch in batches:
            for precision in precisions:
                placement = Placement(devices=(device,), data_parallel=True, precision=precision)
                try:
                    yield measure(name, batch, placement, rounds)
                except (UnderstudyError, torch.OutOfMemoryError) as error:
                    code = error.code if isinstance(error, UnderstudyError) else "out-of-memory"
                    yield {"critic": name, "batch": batch, "precision": precision, "refused": code}


def device_facts(device: torch.device) -> dict[str, Any]:
    """Facts of the machine, the day and the GPU."""
    facts = machine_facts()
    if device.type == "cuda":
        seen = torch.cuda.get_device_properties(device)
        facts["gpu"] = {
            "name": seen.name,
            "memory_gib": round(seen.total_memory / 2**30),
            "cuda": torch.version.cuda,
        }
    return facts


def main(words: list[str] | None = None) -> int:
    """Print one line per shape; the exit status is 2 where there is no GPU, and 1 where a shape could not be measured.

    Args:
        words: the command line without the program, or None for this process's.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, help="write all of it, with machine, GPU and date, to this file")
    parser.add_argument(
        "--device", default="cuda", help="cpu tries the benchmark out; it measures nothing of a GPU"
    )
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--precisions", choices=PRECISIONS, nargs="+", default=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=6, help="of five steps each")
    chosen = parser.parse_args(words)
    device = torch.device(chosen.device, 0) if chosen.device == "cuda" else torch.device(chosen.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print(REFUSAL, file=sys.stderr)
        return 2
    os.environ.setdefault(
        "CUBLAS_WORKSPACE_CONFIG", ":4096:8"
    )  # the training child's; read with the first product
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    document: dict[str, Any] = {"benchmark": "gpu_step", "machine": device_facts(device), "shapes": []}
    shapes: list[dict[str, Any]] = document["shapes"]
    for shape in measurements(tuple(chosen.batches), device, tuple(chosen.precisions), chosen.rounds):
        shapes.append(shape)
        print(json.dumps(shape), flush=True)
        if chosen.out is not None:  # after every shape: a GPU may be lent for less time than all of them take
            chosen.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return int(any("refused" in shape for shape in shapes))


if __name__ == "__main__":
    sys.exit(main())
