"""The private critic step of tables beside the ordinary one and beside `torch.func.vmap(grad)`, in one run.

`python -m benchmarks.steps.critic_step [--json] [--seconds N] [--out FILE]`

The shapes are those that the public rules choose for a table of so many codes and so many declared rows. The contenders take
turns, one step each a round, so that whatever else the machine does hits all alike. A ratio is the median of the rounds'
ratios: `cpu_ratio` and `wall_ratio` are the private step over the ordinary one, in processor seconds of all threads and
on the clock; `vmap_cpu_ratio` is the step by `vmap` over the private one, in processor seconds.

*Private* is the complete step of `PrivateCritic`: factors, norms, clip, sum, ChaCha20 noise on the grid, division, Adam. Its
noise is drawn on a second thread, whose processor seconds count. *Ordinary* is autograd on the WGAN-GP loss in float32: real
and generated records in one pass, torch's fused Adam. *vmap* makes per-record gradients by `torch.func` in float32, in chunks
that fit the memory, clips and sums them by a product, adds noise by `torch.randn` and takes the same Adam: no
grid, no keyed stream, no allowance for rounding.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

from benchmarks.datasets import HERE
from benchmarks.machine import load_average, machine_facts
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.critic.network import Critic
from models.private_step import ADAM_BETAS, PrivateCritic
from models.randomness import KeyedStreams, Purpose

GP_WEIGHT: Final = 10.0
LEARNING_RATE: Final = 1e-3
STREAMS: Final = KeyedStreams(bytes(range(32)))  # a benchmark has no secret
FEWEST_ROUNDS, MOST_ROUNDS = 9, 61
VMAP_NUMBERS: Final = 1 << 25
"""Numbers of the per-record gradients that `vmap` makes at once."""

Step = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Table:
    """A table's columns, as a plan needs them, and the critic and batch of its training.

    Args:
        cardinalities: codes of every column.
        width: units of a hidden layer.
        batch: expected, and here also realised.
        layers: hidden ones.
    """

    cardinalities: tuple[int, ...]
    width: int
    batch: int
    layers: int = 1
    target_index: int | None = None

    @property
    def cells(self) -> int:
        """Cells of one record in one-hot form."""
        return sum(self.cardinalities)


def declared(name: str) -> tuple[int, ...]:
    """Codes of the columns of a public table."""
    document = json.loads((HERE / "domains" / f"{name}.json").read_text(encoding="utf-8"))
    return TableDomain.from_json(document).cardinalities


def plan_of(table: Table, *, declared_size: int, options: dict[str, Any]) -> Plan:
    """A real plan for such columns; what the options leave out is the rules'."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=options),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=declared_size,
        domain=table,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def by_rules(cardinalities: tuple[int, ...], declared_size: int) -> tuple[Table, Plan]:
    """A table with the critic and batch that the rules choose."""
    plan = plan_of(
        Table(cardinalities, width=1, batch=1), declared_size=declared_size, options={"critic": True}
    )
    options = plan.idpgan_options
    table = Table(cardinalities, options.critic_width, options.expected_batch_size, options.critic_layers)
    return table, plan


def tables() -> Iterator[tuple[tuple[int, ...], int]]:
    """Columns and declared rows: from 16 codes to 4,000, from the smallest batch of the rules to the largest."""
    yield (4,) * 4, 34_133
    yield declared("poker"), 25_010
    for declared_size in (8_533, 32_561, 68_266):
        yield declared("adult"), declared_size
    for declared_size in (8_533, 34_133, 68_266):
        yield (42,) * 14, declared_size
    yield (20,) * 50, 34_133
    yield (40,) * 50, 34_133
    yield (40,) * 100, 34_133


def batch_of(table: Table, count: int | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Cells of real records, the same one-hot, and generated records, one-hot as a training draws them."""
    rows = table.batch if count is None else count
    firsts = torch.tensor((0, *table.cardinalities[:-1])).cumsum(0)

    def drawn(address: int) -> Tensor:
        uniforms = STREAMS.uniforms(Purpose.TEST, address, (rows, len(table.cardinalities)))
        return (torch.from_numpy(uniforms) * torch.tensor(table.cardinalities)).long() + firsts

    def one_hot(cells: Tensor) -> Tensor:
        return torch.zeros(rows, table.cells).scatter_(1, cells, 1.0)

    cells = drawn(rows)
    return cells, one_hot(cells), one_hot(drawn(rows + 1))


def critic_of(table: Table) -> Critic:
    """A fresh critic."""
    return Critic(inputs=table.cells, widths=(table.width,) * table.layers).initialise(STREAMS)


def ordinary_step(critic: Critic, real: Tensor, fake: Tensor) -> Step:
    """WGAN-GP by autograd, not private."""
    adam = torch.optim.Adam(critic.parameters(), lr=LEARNING_RATE, betas=ADAM_BETAS, fused=True)
    count = real.shape[0]

    def step(_: int) -> None:
        between = torch.lerp(fake, real, torch.rand(count, 1)).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (torch.linalg.vector_norm(slope, dim=1) - 1.0).square().mean()
        of_fake, of_real = critic(torch.cat([fake, real])).split(count)
        loss = of_fake.mean() - of_real.mean() + GP_WEIGHT * penalty
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()

    return step


def private_step(plan: Plan, critic: Critic, real: Tensor, fake: Tensor) -> Step:
    """The complete private step."""
    private = PrivateCritic(critic, plan, STREAMS)
    return lambda number: private.step(number, real, fake)


def vmap_step(plan: Plan, critic: Critic, real: Tensor, fake: Tensor) -> Step:
    """A private step as one would write it with torch.func."""
    parameters = {name: value.detach() for name, value in critic.named_parameters()}
    adam = torch.optim.Adam(critic.parameters(), lr=LEARNING_RATE, betas=ADAM_BETAS, fused=True)
    clip, noise_multiplier = plan.idpgan_options.clipping_norm, plan.noise_multiplier_at(0)
    chunk = max(1, VMAP_NUMBERS // sum(value.numel() for value in parameters.values()))

    def loss(weights: dict[str, Tensor], x: Tensor, made: Tensor, mix: Tensor) -> Tensor:
        def score(record: Tensor) -> Tensor:
            return torch.as_tensor(functional_call(critic, weights, (record[None],))).squeeze(0)

        slope = grad(score)(torch.lerp(made, x, mix))
        penalty = (torch.linalg.vector_norm(slope) - 1.0).square()
        return torch.as_tensor(score(made) - score(x) + GP_WEIGHT * penalty)

    per_record = vmap(grad(loss), in_dims=(None, 0, 0, 0))

    def step(_: int) -> None:
        mix = torch.rand(real.shape[0])
        sums = {name: torch.zeros_like(value) for name, value in parameters.items()}
        for first in range(0, real.shape[0], chunk):
            piece = slice(first, first + chunk)
            made = per_record(parameters, real[piece], fake[piece], mix[piece])
            flat = {name: gradients.flatten(1) for name, gradients in made.items()}
            norms = torch.stack([torch.linalg.vector_norm(each, dim=1) for each in flat.values()]).norm(dim=0)
            scale = (clip / norms).clamp_(max=1.0)
            for name, each in flat.items():
                sums[name].view(-1).addmv_(each.T, scale)
        for name, value in critic.named_parameters():
            noise = torch.randn(value.shape).mul_(clip * noise_multiplier)
            value.grad = sums[name].add_(noise).div_(plan.expected_batch_size)
        adam.step()

    return step


def seconds(step: Step, number: int) -> tuple[float, float]:
    """Processor seconds of all threads, and wall-clock seconds, of one step."""
    wall, processor = time.perf_counter(), time.process_time()
    step(number)
    return time.process_time() - processor, time.perf_counter() - wall


def measure(table: Table, plan: Plan, *, budget: float) -> dict[str, Any]:
    """All contenders on one table, in turns.

    Args:
        table: with its critic.
        plan: of it.
        budget: seconds for the private and the ordinary step; a third as many rounds, at least three, have `vmap` too.
    """
    cells, real, fake = batch_of(table)
    steps = {
        "ordinary": ordinary_step(critic_of(table), real, fake),
        "private": private_step(plan, critic_of(table), cells, fake),
        "vmap": vmap_step(plan, critic_of(table), real, fake),
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in steps}
    for step in steps.values():
        step(0)
    warm = {name: seconds(step, 1) for name, step in steps.items()}
    rounds = int(budget / (warm["ordinary"][1] + warm["private"][1]))
    rounds = max(FEWEST_ROUNDS, min(MOST_ROUNDS, rounds))
    for number in range(2, rounds + 2):
        for name, step in steps.items():
            if name != "vmap" or number % max(1, rounds // 3) == 0:
                times[name].append(seconds(step, number))

    def over(name: str, other: str, clock: int) -> float:
        return statistics.median(a[clock] / b[clock] for a, b in zip(times[name], times[other], strict=True))

    def milliseconds(name: str) -> float:
        return round(1e3 * statistics.median(processor for processor, _ in times[name]), 2)

    return {
        "cells": table.cells,
        "width": table.width,
        "batch": table.batch,
        "hidden_layers": table.layers,
        "cpu_ratio": round(over("private", "ordinary", 0), 3),
        "wall_ratio": round(over("private", "ordinary", 1), 3),
        "vmap_cpu_ratio": round(milliseconds("vmap") / milliseconds("private"), 1),
        "private_milliseconds": milliseconds("private"),
        "ordinary_milliseconds": milliseconds("ordinary"),
        "rounds": rounds,
        "vmap_rounds": len(times["vmap"]),
        "threads": torch.get_num_threads(),
        "load_average": load_average(),
    }


def main() -> None:
    """Print a line a shape, or with --json one list of objects."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="print one list, an object a shape")
    parser.add_argument(
        "--out", type=Path, help="also write all of it, with the machine and date, to this file"
    )
    parser.add_argument("--threads", type=int, default=1, help="torch threads; one core per step by default")
    parser.add_argument("--seconds", type=float, default=4.0, help="of one shape, without vmap")
    wanted = parser.parse_args()
    torch.set_num_threads(wanted.threads)
    shapes = []
    for cardinalities, declared_size in tables():
        shape = measure(*by_rules(cardinalities, declared_size), budget=wanted.seconds)
        shapes.append(shape)
        if not wanted.json:
            print(
                f"{shape['cells']:5d} codes, width {shape['width']:4d}, batch {shape['batch']:5d}: "
                f"private {shape['private_milliseconds']:8.2f} ms, ordinary {shape['ordinary_milliseconds']:8.2f} ms, "
                f"ratio {shape['cpu_ratio']:.2f} (wall {shape['wall_ratio']:.2f}); "
                f"vmap / private {shape['vmap_cpu_ratio']:.1f}",
                flush=True,
            )
    if wanted.json:
        print(json.dumps(shapes, indent=1))
    if wanted.out is not None:
        document = {"benchmark": "critic_step", "machine": machine_facts(), "shapes": shapes}
        wanted.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
