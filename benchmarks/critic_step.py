"""The private critic step beside the ordinary one and beside `torch.func.vmap(grad)`, in one run.

`python -m benchmarks.critic_step [--json] [--rounds N] [--out FILE]`

Each shape is measured in rounds that alternate the contenders, so that whatever else the machine does hits all alike;
the ratio is the median of the rounds' ratios. *Private* is the complete step of `PrivateCritic`: factors, norms, clip,
sum, ChaCha20 noise on the grid, division, Adam; its noise is drawn on a second core while the step's matrix products run
on the first, so `--threads 1` means one core for everything else, and on a machine whose other cores are busy the
ratio is higher. *Ordinary* is plain autograd on the WGAN-GP loss with torch's Adam.
*vmap* makes per-record gradients by `torch.func`, clips and sums them, in chunks that fit the memory; no noise, no Adam.
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
from torch import Tensor

from benchmarks.machine import load_average, machine_facts
from core.privacy.adjacency import Adjacency, PrivacyUnit
from core.privacy.guarantee import PrivacyGuarantee
from core.synthesis.plan import Plan, make_plan
from core.synthesis.spec import SynthesisSpec
from models.critic.network import Critic
from models.critic.reference import Reference
from models.dp.clipping import each_block_alone
from models.dp.private_step import ADAM_BETAS, PrivateCritic
from models.randomness import KeyedStreams, Purpose

COLUMNS, CODES = 14, 42  # 588 cells, as many as the Adult table has
CELLS = COLUMNS * CODES
WIDTHS = (128, 256, 512)
BATCHES = (256, 512, 1024, 2048)
HIDDEN_LAYERS = 2
LEARNING_RATE = 1e-4
GP_WEIGHT = 10.0
STREAMS = KeyedStreams(bytes(range(32)))  # a benchmark has no secret

Step = Callable[[int], None]


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a plan needs to know of a domain: columns of equally many codes."""

    cardinalities: tuple[int, ...] = (CODES,) * COLUMNS
    target_index: int | None = None


def plan_of(width: int, batch: int, grouping: str) -> Plan:
    """A real plan with this critic and batch."""
    options = {
        "anchor": False,
        "critic_width": width,
        "critic_layers": HIDDEN_LAYERS,
        "critic_learning_rate": LEARNING_RATE,
        "expected_batch_size": batch,
        "grouping": grouping,
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


def batch_of(batch: int) -> tuple[Tensor, Tensor, Tensor]:
    """Cells of the real records, the same one-hot, and generated records that sum to one per column."""
    codes = torch.from_numpy(STREAMS.integers(Purpose.TEST, batch, CODES, (batch, COLUMNS)))
    cells = codes + CODES * torch.arange(COLUMNS)
    logits = STREAMS.torch_normals(Purpose.TEST, batch + 1, (batch, COLUMNS, CODES))
    return (
        cells,
        torch.zeros(batch, CELLS).scatter_(1, cells, 1.0),
        torch.softmax(2.0 * logits, dim=2).flatten(1),
    )


def critic_of(width: int) -> Critic:
    """A fresh critic."""
    return Critic(inputs=CELLS, widths=(width,) * HIDDEN_LAYERS).initialise(STREAMS)


def ordinary_step(width: int, real: Tensor, fake: Tensor) -> Step:
    """WGAN-GP by autograd, not private."""
    critic = critic_of(width)
    adam = torch.optim.Adam(critic.parameters(), lr=LEARNING_RATE, betas=ADAM_BETAS)

    def step(number: int) -> None:
        mix = STREAMS.torch_uniforms(Purpose.INTERPOLATION, number, real.shape[0])
        between = torch.lerp(fake, real, mix[:, None]).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1.0).square().mean()
        loss = critic(fake).mean() - critic(real).mean() + GP_WEIGHT * penalty
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()

    return step


def private_step(plan: Plan, width: int, real: Tensor, fake: Tensor) -> Step:
    """The complete private step."""
    private = PrivateCritic(critic_of(width), plan, STREAMS)

    def step(number: int) -> None:
        private.step(number, real, fake)

    return step


def vmap_step(plan: Plan, width: int, real: Tensor, fake: Tensor) -> Step:
    """Per-record gradients by torch.func in chunks of at most 256 MiB, clipped and summed."""
    critic = critic_of(width)
    layout = PrivateCritic(critic_of(width), plan, STREAMS).layout
    partition = each_block_alone(layout.sizes, [0.1] * layout.blocks)
    chunk = max(1, 2**26 // layout.coordinates)
    reference = Reference(
        critic, layout, gp_weight=GP_WEIGHT, max_batch=plan.max_sampled_batch, at_once=chunk
    )

    def step(number: int) -> None:
        mix = STREAMS.torch_uniforms(Purpose.INTERPOLATION, number, real.shape[0])
        for part in torch.arange(real.shape[0]).split(chunk):  # type: ignore[no-untyped-call]
            reference.clipped_sum(real[part], fake[part], mix[part], partition)

    return step


def seconds(step: Step, number: int) -> float:
    """Wall-clock of one step."""
    start = time.perf_counter()
    step(number)
    return time.perf_counter() - start


def measure(width: int, batch: int, *, rounds: int, vmap_rounds: int) -> dict[str, Any]:
    """All contenders on one shape, alternating."""
    cells, real, fake = batch_of(batch)
    plan = plan_of(width, batch, "flat")
    contenders = {
        "ordinary": ordinary_step(width, real, fake),
        "private": private_step(plan, width, cells, fake),
        "private_rows": private_step(plan_of(width, batch, "rows"), width, cells, fake),
        "private_vectors": private_step(plan, width, real, fake),
    }
    for step in contenders.values():
        step(0)
        step(1)
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(2, rounds + 2):
        for name, step in contenders.items():
            times[name].append(seconds(step, number))
    vmap = vmap_step(plan, width, real, fake)
    pairs = [(seconds(vmap, n), seconds(contenders["private"], n)) for n in range(vmap_rounds)]

    def over_ordinary(name: str) -> float:
        return statistics.median(a / b for a, b in zip(times[name], times["ordinary"], strict=True))

    return {
        "width": width,
        "batch": batch,
        "inputs": CELLS,
        "hidden_layers": HIDDEN_LAYERS,
        "private_over_ordinary": round(over_ordinary("private"), 3),
        "vmap_over_private": round(statistics.median(a / b for a, b in pairs), 1),
        "private_rows_over_ordinary": round(over_ordinary("private_rows"), 3),
        "private_vectors_over_ordinary": round(over_ordinary("private_vectors"), 3),
        "private_milliseconds": round(1e3 * statistics.median(times["private"]), 2),
        "ordinary_milliseconds": round(1e3 * statistics.median(times["ordinary"]), 2),
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "load_average": load_average(),
    }


def measurements(
    widths: tuple[int, ...], batches: tuple[int, ...], budget_seconds: float, vmap_rounds: int
) -> Iterator[dict[str, Any]]:
    """One object per shape; more rounds where a step is short."""
    for width in widths:
        for batch in batches:
            work = width * batch / (512 * 2048)
            rounds = max(9, min(101, round(budget_seconds / work)))
            yield measure(width, batch, rounds=rounds, vmap_rounds=vmap_rounds)


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
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--batches", type=int, nargs="+", default=BATCHES)
    parser.add_argument("--work", type=float, default=12.0, help="rounds of the largest shape")
    parser.add_argument("--vmap-rounds", type=int, default=3, help="rounds of the slow contender")
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    shapes = []
    for shape in measurements(tuple(chosen.widths), tuple(chosen.batches), chosen.work, chosen.vmap_rounds):
        shapes.append(shape)
        if chosen.json:
            print(json.dumps(shape), flush=True)
        else:
            print(
                f"width {shape['width']:4d} batch {shape['batch']:5d}: "
                f"private {shape['private_milliseconds']:8.2f} ms, ordinary {shape['ordinary_milliseconds']:8.2f} ms, "
                f"ratio {shape['private_over_ordinary']:.2f} (by rows {shape['private_rows_over_ordinary']:.2f}, "
                f"vectors {shape['private_vectors_over_ordinary']:.2f}); vmap / private {shape['vmap_over_private']:.0f}",
                flush=True,
            )
    if chosen.out is not None:
        document = {"benchmark": "critic_step", "machine": machine_facts(), "shapes": shapes}
        chosen.out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
