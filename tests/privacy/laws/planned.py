"""What a job should have drawn and released, worked out again from its plan and the formulas of the design."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from core.plan.plan import Plan
from core.plan.stages import AnchorPlan
from models import private_step
from models.dp.clipping import Partition
from models.dp.discrete import discrete_gaussian
from models.dp.noise import NoisePlan
from models.encoding import PrivateTable
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import PIECE, KeyedStreams, Purpose
from models.synthesizer import NullHost
from models.tables.anchor import FIRST_ROUND, GRID, SECOND_ROUND
from models.tables.code_groups import Groups, group_counts
from models.tables.measurement.second_round import groups_of
from tests.models.coded_tables import small_table
from tests.models.idpgan.jobs import small_plan
from tests.privacy.laws.listening import CountedStreams, Listener, flat

KEY = bytes(range(32))


@dataclass(frozen=True)
class Job:
    """A job that ran: its plan, its table, all it opened and released, and the groups of every step."""

    plan: Plan
    table: PrivateTable
    streams: CountedStreams
    listener: Listener
    partitions: list[Partition]
    sigmas: list[float]


def run_job(
    patch: pytest.MonkeyPatch, *, key: bytes = KEY, table: PrivateTable | None = None, **options: Any
) -> Job:
    """Train a small job, listening."""
    table = small_table() if table is None else table
    partitions: list[Partition] = []
    sigmas: list[float] = []
    noise_plan = private_step.noise_plan

    def noted(partition: Partition, *, noise_multiplier: float, max_batch: int) -> NoisePlan:
        partitions.append(partition)
        sigmas.append(noise_multiplier)
        return noise_plan(partition, noise_multiplier=noise_multiplier, max_batch=max_batch)

    plan, listener = small_plan(table, **options), Listener()
    streams = CountedStreams(key, releases=listener)
    with patch.context() as inside:
        inside.setattr(private_step, "noise_plan", noted)
        IdpganSynthesizer().fit(table, plan, streams, NullHost())
    return Job(plan, table, streams, listener, partitions, sigmas)


def formula_stds(sigma: float, partition: Partition) -> Tensor:
    """`s_j^2 = sigma^2 (c_j / sqrt d_j) sum_k c_k sqrt d_k` of every coordinate, in float64."""
    d = torch.zeros(len(partition.thresholds), dtype=torch.float64)
    d.index_add_(
        0, torch.tensor(partition.group_of_block), torch.tensor(partition.sizes, dtype=torch.float64)
    )
    c = torch.tensor(partition.thresholds, dtype=torch.float64)
    by_group = sigma * torch.sqrt(c / d.sqrt() * (c * d.sqrt()).sum())
    by_block = by_group[torch.tensor(partition.group_of_block)]
    return torch.repeat_interleave(by_block, torch.tensor(partition.sizes))


def words_for(counts: tuple[int, ...]) -> int:
    """Bytes that numbers take, block by block, in pieces of the sampler, each made even."""
    pieces = [min(PIECE, count - first) for count in counts for first in range(0, count, PIECE)]
    return 8 * sum(piece + piece % 2 for piece in pieces)


def normals(purpose: Purpose, step: int, counts: tuple[int, ...]) -> Tensor:
    """The numbers of an address, block by block, from streams of our own."""
    reader = KeyedStreams(KEY).reader(purpose, step)
    made = []
    for count in counts:
        for first in range(0, count, PIECE):
            size = min(PIECE, count - first)
            words = reader.words_into(np.empty(size + size % 2, dtype=np.uint64))
            u, angle = words.reshape(2, -1)
            radius = np.sqrt(-2.0 * np.log((u + 0.5) * 2.0**-64))
            turn = angle.view(np.int64) * (2.0 * math.pi * 2.0**-64)
            made.append(np.concatenate([radius * np.cos(turn), radius * np.sin(turn)])[:size])
    return torch.from_numpy(np.concatenate(made))


def gradient_faults(job: Job) -> list[str]:
    """What is wrong with the gradient's noise: once per step, by its own numbers, at the formula's size."""
    plan, faults = job.plan, []
    if job.sigmas != [plan.noise_multiplier_at(step) for step in range(plan.steps)]:
        faults.append("the noise multipliers are not the plan's")
    if job.streams.steps(Purpose.GRADIENT_NOISE) != list(range(plan.steps)):
        faults.append("a step has no noise, or the noise has another step")
    for step, partition in enumerate(job.partitions):
        opened = job.streams.opened[int(Purpose.GRADIENT_NOISE), step]
        if [each.taken for each in opened] != [words_for(partition.sizes)]:
            faults.append(f"step {step} does not draw one number for each coordinate, once")
        release = job.listener.heard[int(Purpose.GRADIENT_NOISE), step]
        (noisy,) = release.noisy
        total = flat(release.exact)[0]
        stds = formula_stds(plan.noise_multiplier_at(step), partition)
        expected = (
            total + stds * normals(Purpose.GRADIENT_NOISE, step, partition.sizes)
        ) / plan.expected_batch_size
        # The release is a float32; the grid and the room for its rounding are far below.
        if not bool(
            (
                (noisy.double() - expected).abs()
                <= 2.0**-22 * (expected.abs() + stds / plan.expected_batch_size)
            ).all()
        ):
            faults.append(f"step {step} releases something else than the sum and its own noise")
    return faults


def histogram_faults(job: Job) -> list[str]:
    """What is wrong with the noise of the histograms of norms: `s_h` on every bin, by its own numbers."""
    acts, faults = job.plan.acts, []
    for (purpose, step), release in job.listener.heard.items():
        if purpose == Purpose.ACTS_NOISE and acts is not None:
            total, _ = flat(release.exact)
            drawn = acts.noise_multiplier * normals(Purpose.ACTS_NOISE, step, (total.numel(),))
            if not torch.allclose(
                release.noisy[0].flatten(), total + drawn, rtol=0.0, atol=2.0**-35 * acts.noise_multiplier
            ):
                faults.append(f"the histograms of step {step} have other noise")
    return faults


def anchor_faults(job: Job) -> list[str]:
    """What is wrong with the anchor's noise: that of each table's weight, by its own numbers, on the public grid."""
    if job.plan.anchor is None:
        return []
    return column_faults(job) + table_faults(job)


def column_faults(job: Job) -> list[str]:
    """The first round: the squared weights of columns share out `w^2 k` by the codes to the power 2/3."""
    plan, cardinalities = job.plan.anchor, job.table.cardinalities
    assert isinstance(plan, AnchorPlan)
    release = job.listener.heard[int(Purpose.ANCHOR_NOISE), FIRST_ROUND]
    pieces = torch.split(
        normals(Purpose.ANCHOR_NOISE, 2**32, (sum(cardinalities),)).double(), list(cardinalities)
    )
    whole = sum(codes ** (2 / 3) for codes in cardinalities)
    faults = []
    for column, (codes, (exact, _), noisy) in enumerate(
        zip(cardinalities, release.exact, release.noisy, strict=True)
    ):
        weight = plan.diagonal_weight * math.sqrt(len(cardinalities) * codes ** (2 / 3) / whole)
        gap = noisy - exact - pieces[column] * plan.noise_std / weight
        if noisy.shape != (codes,) or bool((gap.abs() > 0.6 * GRID).any()):
            faults.append(f"the counts of column {column} have other noise")
    return faults


def table_faults(job: Job) -> list[str]:
    """The second round: squared weights average one and go by the root of a table's cells; twice with the target."""
    plan, target = job.plan.anchor, job.table.target_index
    assert isinstance(plan, AnchorPlan)
    release = job.listener.heard[int(Purpose.ANCHOR_NOISE), SECOND_ROUND]
    (pairs, _), (ones, std) = release.exact
    by_class = bool(ones.numel())
    groups = group_counts(released_groups(job))
    sizes = [(size, column == target) for column, size in enumerate(groups)]
    sizes = [each for each in sizes if not (by_class and each[1])]
    starts = np.cumsum([0, *(size for size, _ in sizes)])
    shares = {
        (i, j): math.sqrt(sizes[i][0] * sizes[j][0]) * (2.0 if sizes[i][1] or sizes[j][1] else 1.0)
        for j in range(len(sizes))
        for i in range(j)
    }
    if by_class:
        shares |= {(i, i): math.sqrt(size) for i, (size, _) in enumerate(sizes)}
    unit, faults = len(shares) / math.fsum(shares.values()), []
    for index in range(len(pairs)):
        drawn = plan.noise_std * normals(Purpose.ANCHOR_NOISE, index, (int(starts[-1]) ** 2,)).double()
        drawn = drawn.view(int(starts[-1]), -1)
        for (i, j), share in shares.items():
            weight = math.sqrt(unit * share)
            rows, columns = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            if i == j:
                exact, noise = ones[index, rows] * std / weight * plan.noise_std, drawn.diagonal()[rows]
                noisy = release.noisy[1][index, rows]
            else:
                exact, noise = pairs[index, rows, columns] / weight, drawn[rows, columns]
                noisy = release.noisy[0][index, rows, columns]
            if bool(((noisy - exact - noise / weight).abs() > 0.6 * GRID).any()):
                faults.append(f"the counts of table {i}, {j} in slice {index} have other noise")
    return faults


def released_groups(job: Job) -> tuple[Groups, ...]:
    """The groups that the first round's release gives."""
    released = job.listener.heard[int(Purpose.ANCHOR_NOISE), FIRST_ROUND].noisy
    return groups_of([counts.numpy() for counts in released], job.table, job.plan)


def faults_of(job: Job) -> list[str]:
    """Everything that is wrong with the noise of a job."""
    return gradient_faults(job) + histogram_faults(job) + anchor_faults(job) + other_faults(job)


def other_faults(job: Job) -> list[str]:
    """The same for histograms of norms, anchor, labels, coins and choices; and no address serves twice."""
    plan, streams, faults = job.plan, job.streams, []
    faults += [f"{name} was opened {len(r)} times" for name, r in streams.opened.items() if len(r) != 1]
    refreshes = [step for step in range(plan.steps) if plan.is_refresh(step)]
    expected: dict[Purpose, dict[int, int]] = {
        Purpose.GRADIENT_NOISE: {s: words_for(p.sizes) for s, p in enumerate(job.partitions)},
        Purpose.ACTS_NOISE: {
            step: words_for((plan.acts.groups * (plan.acts.bins + 2),)) for step in refreshes if plan.acts
        },
        Purpose.POISSON: dict.fromkeys(range(plan.steps), 8 * job.table.units),
        Purpose.RECORD_CHOICE: dict.fromkeys(range(plan.steps), 8 * job.table.units),
        Purpose.ANCHOR_NOISE: _anchor_words(job),
        Purpose.LABEL_NOISE: _label_bytes(job),
    }
    for purpose, of_steps in expected.items():
        taken = {
            step: sum(r.taken for r in streams.opened[int(purpose), step]) for step in streams.steps(purpose)
        }
        if taken != of_steps:
            faults.append(f"{purpose.name} drew {taken}, not {of_steps}")
    return faults


def _anchor_words(job: Job) -> dict[int, int]:
    if job.plan.anchor is None:
        return {}
    pairs, _ = job.listener.heard[int(Purpose.ANCHOR_NOISE), SECOND_ROUND].noisy
    slices, cells, _ = pairs.shape
    columns = {2**32: words_for((sum(job.table.cardinalities),))}
    return dict.fromkeys(range(slices), words_for((cells**2,))) | columns


def _label_bytes(job: Job) -> dict[int, int]:
    """As many exact draws as there are classes."""
    if job.plan.label_histogram is None:
        return {}
    assert job.table.target_index is not None
    own = CountedStreams(KEY)
    reader = own.reader(Purpose.LABEL_NOISE, 0)
    for _ in range(job.table.cardinalities[job.table.target_index]):
        discrete_gaussian(reader, Fraction(job.plan.label_histogram.noise_multiplier) ** 2)
    return {0: own.taken(Purpose.LABEL_NOISE, 0)}
