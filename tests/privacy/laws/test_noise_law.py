"""The law of (released - exact) over its formula: normal in every group, independent of everything else.

What a job of 300 steps releases, seen at the seam. Bounds are exact for normal numbers; the shares of the false alarm
are in `alarm.py`. Power: each wrong law at the end rings at the same sizes.
"""

import itertools
import math
from functools import cache

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from core.plan.stages import ActsPlan, anchor_plan
from models.acts import AdaptiveThresholds
from models.encoding import PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import FIRST_ROUND, SECOND_ROUND, MomentLayout, noisy_columns, noisy_moments
from tests.privacy.laws.alarm import Alarm, alarm
from tests.privacy.laws.listening import Listener, flat
from tests.privacy.laws.planned import KEY, formula_stds, run_job

STEPS = 300
SORTED = 400_000
"""Of a group's numbers, those whose distribution is looked at; variance and mean are of all."""
OTHER_KEY = bytes(range(1, 33))


@cache
def trained(key: bytes = KEY) -> tuple[Tensor, tuple[int, ...]]:
    """(steps, coordinates) whitened noise of a job with three groups of 1,024 numbers or more, and their sizes."""
    with pytest.MonkeyPatch.context() as patch:
        job = run_job(patch, key=key, steps=STEPS, critic_width=1024, critic_layers=1, grouping="layers",
                      anchor=False, generator_batch_size=32)  # fmt: skip
    rows = []
    for step, partition in enumerate(job.partitions):
        release = job.listener.heard[int(Purpose.GRADIENT_NOISE), step]
        noise = release.noisy[0].double() * job.plan.expected_batch_size - flat(release.exact)[0]
        rows.append(noise / formula_stds(job.plan.noise_multiplier_at(step), partition))
    return torch.stack(rows), job.partitions[0].sizes


def judge_law(judge: Alarm, name: str, z: Tensor) -> None:
    """Variance, mean and distribution of numbers that should be standard normal; three comparisons."""
    n, reach = z.numel(), float(stats.norm.isf(judge.side))
    judge.within(
        f"{name}: squares",
        float(z.square().sum()),
        stats.chi2(n).ppf(judge.side),
        stats.chi2(n).isf(judge.side),
    )
    judge.within(f"{name}: mean", float(z.sum()) / math.sqrt(n), -reach, reach)
    some = z.flatten()[:SORTED]
    distance = stats.kstest(some.numpy(), "norm", method="asymp").statistic
    judge.below(f"{name}: distribution", distance, math.sqrt(math.log(1 / judge.side) / (2 * some.numel())))


def judge_groups(z: Tensor, sizes: tuple[int, ...]) -> list[str]:
    judge = alarm("gradient noise", 3 * len(sizes))
    for index, group in enumerate(torch.split(z, list(sizes), dim=1)):
        judge_law(judge, f"group {index}", group)
    return judge.rung


def judge_product(judge: Alarm, name: str, one: Tensor, other: Tensor) -> None:
    """`a . b / |a|` is standard normal when `b` is, whatever `a`."""
    reach = float(stats.norm.isf(judge.side))
    judge.within(name, float((one * other).sum() / one.norm()), -reach, reach)


def judge_steps(z: Tensor) -> list[str]:
    """No two steps hang together: every pair of steps on its own, and neighbours all together."""
    pairs = len(z) * (len(z) - 1) // 2
    judge = alarm("independence", 4, cases=4)
    products = torch.triu(z @ z.T, 1) / z.norm(dim=1, keepdim=True)
    judge.below("any two steps", float(products.abs().max()), float(stats.norm.isf(judge.side / (2 * pairs))))
    for lag in (1, 2, 5):
        order = torch.arange(len(z) - lag).reshape(-1)
        firsts = order[(order // lag) % 2 == 0]  # disjoint pairs
        judge_product(judge, f"lag {lag}", z[firsts], z[firsts + lag])
    return judge.rung


def judge_across(vectors: dict[str, Tensor]) -> list[str]:
    """No two of these hang together, at their first numbers and at their last."""
    pairs = list(itertools.combinations(vectors, 2))
    judge = alarm("independence", 2 * len(pairs), cases=4)
    for one, other in pairs:
        a, b = vectors[one].flatten(), vectors[other].flatten()
        size = min(a.numel(), b.numel())
        judge_product(judge, f"{one}, {other}: first", a[:size], b[:size])
        judge_product(judge, f"{one}, {other}: last", a[-size:], b[-size:])
    return judge.rung


def test_the_noise_of_every_group_is_normal_with_the_formulas_variance() -> None:
    z, sizes = trained()
    assert min(sizes) * STEPS > 2.9e5
    assert judge_groups(z, sizes) == []


def test_no_two_steps_hang_together() -> None:
    assert judge_steps(trained()[0]) == []


def histograms(streams: KeyedStreams) -> Tensor:
    """Whitened noise of ten refreshes of 64 histograms."""
    plan = ActsPlan(interval=1, groups=64, noise_multiplier=3.7, lowest_edge=1e-3, edge_ratio=1.1, bins=510)
    release = AdaptiveThresholds(plan, smoothing=0.5).release
    empty = torch.zeros(0, plan.groups, dtype=torch.float64)
    return (
        torch.stack([release(empty, streams, step).flatten() for step in range(10)]) / plan.noise_multiplier
    )


def anchor(key: bytes) -> dict[str, Tensor]:
    """Whitened noise of both rounds of an anchor over 800 cells, taken per class and not."""
    made = {}
    for by_class, widths in ((False, (400, 400)), (True, (2, 400, 400))):
        plan = anchor_plan(len(widths), diagonal_weight=1.5, noise_multiplier=4.0)
        layout = MomentLayout(cardinalities=widths, target_index=0, by_class=by_class)
        nobody = PrivateTable(codes=np.zeros((0, len(widths)), dtype=np.int16), unit_of_record=np.zeros(0, dtype=np.int64),
                              cardinalities=widths, target_index=0)  # fmt: skip
        listener = Listener()
        streams = KeyedStreams(key, releases=listener)
        noisy_columns(nobody, plan, streams)
        noisy_moments(nobody, layout, plan, streams)
        pairs, ones = listener.heard[int(Purpose.ANCHOR_NOISE), SECOND_ROUND].noisy
        # Squared weights go by the root of a table's cells, 400^2 in a pair, and average one.
        unit = 3 / (20 + 20 + 400) if by_class else 1 / 400
        whole = sum(width ** (2 / 3) for width in widths)
        columns = [
            counts * 1.5 * math.sqrt(len(widths) * width ** (2 / 3) / whole)
            for width, counts in zip(widths, listener.heard[int(Purpose.ANCHOR_NOISE), FIRST_ROUND].noisy, strict=True)
        ]  # fmt: skip
        weighted = [
            pairs[:, :400, 400:].flatten() * math.sqrt(unit * 400),
            ones.flatten() * math.sqrt(unit * 20),
            *columns,
        ]
        made[f"anchor, {'by class' if by_class else 'whole'}"] = torch.cat(weighted) / plan.noise_std
    return made


def test_histograms_and_anchor_have_their_own_normal_noise() -> None:
    found = {"histograms": histograms(KeyedStreams(KEY)), **anchor(KEY)}
    judge = alarm("released noise", 3 * len(found))
    for name, z in found.items():
        assert z.numel() > 1.5e5
        judge_law(judge, name, z)
    assert judge.rung == []


def test_groups_purposes_keys_and_jobs_hang_together_in_nothing() -> None:
    z, sizes = trained()
    groups = {f"group {index}": part for index, part in enumerate(torch.split(z, list(sizes), dim=1))}
    other_job = {"another key": trained(OTHER_KEY)[0]}
    # The whole and the by-class anchor of one key are two jobs' and share an address, so one of them has another key.
    anchors = {
        "anchor": anchor(KEY)["anchor, whole"],
        "another key's anchor": anchor(OTHER_KEY)["anchor, by class"],
    }
    label = KeyedStreams(KEY).normals(Purpose.LABEL_NOISE, 0, 10**5)
    vectors = (
        groups
        | other_job
        | anchors
        | {"histograms": histograms(KeyedStreams(KEY)), "labels": torch.from_numpy(label)}
    )
    assert judge_across(vectors) == []


WRONG_GROUPS = {
    "variance 3 % larger in one group": lambda z, ends: torch.cat(
        [z[:, :-1025], z[:, -1025:] * 1.03**0.5], dim=1
    ),
    "variance 3 % smaller in one group": lambda z, ends: torch.cat(
        [z[:, :-1025], z[:, -1025:] * 0.97**0.5], dim=1
    ),
    "no noise on one of a hundred numbers": lambda z, ends: z * (torch.arange(z.shape[1]) % 100 != 0),
    "a mean": lambda z, ends: z + 0.02,
    "Laplace's law": lambda z, ends: z.sign() * -torch.special.erfc(z.abs() / 2**0.5).log() / 2**0.5,
}


@pytest.mark.parametrize("wrong", WRONG_GROUPS)
def test_a_wrong_law_is_detected(wrong: str) -> None:
    z, sizes = trained()
    assert judge_groups(WRONG_GROUPS[wrong](z, sizes), sizes)


WRONG_STEPS = {
    "neighbours correlated by 1 %": lambda z: torch.cat([z[:1], (z[1:] + 0.01 * z[:-1]) / (1 + 1e-4) ** 0.5]),
    "one step's noise again": lambda z: torch.cat([z[:200], z[17:18], z[201:]]),
    "a tenth of one step's noise again": lambda z: torch.cat(
        [z[:200], torch.cat([z[17:18, :1650], z[200:201, 1650:]], dim=1), z[201:]]
    ),
    "something common to all steps": lambda z: z + 0.1 * z[0],
}  # fmt: skip


@pytest.mark.parametrize("wrong", WRONG_STEPS)
def test_correlated_steps_are_detected(wrong: str) -> None:
    assert judge_steps(WRONG_STEPS[wrong](trained()[0]))


def test_a_mechanism_that_reuses_another_ones_numbers_is_detected() -> None:
    z, _ = trained()
    assert judge_across({"a": z[0], "b": z[1], "c": torch.cat([z[0, :5000], z[2, 5000:]])})
