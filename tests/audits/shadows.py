"""Shadow models: many small jobs on random halves of one pool, and what each output gives away.

    python -m tests.audits.shadows [--models 64] [--only NAME ...]

Every record of the pool is in a table by its own coin. Outputs of five kinds are attacked with the same two
statistics, the density that the output gives a record and the likeliest hidden value: jobs at epsilon 1 and 10, a twin
with next to no noise, the rows themselves (positive control), and columns drawn independently (negative control) - from
strangers who are in no table, where nothing can be found, and from the table, where rare values still show.
Results go into benchmarks/results/audits/attacks.json.
"""

import argparse
import hashlib
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable, block_starts
from models.idpgan.generator import probabilities
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import KeyedStreams
from models.synthesizer import NullHost
from tests.audits.attacks import exposure, inference, membership
from tests.audits.bounds import Floats
from tests.audits.claims import largest_power, profile
from tests.audits.one_run_jobs import others
from tests.audits.results import cached, commit, keep, remember

POOL, TARGETS, ALARM, DELTA = 400, 32, 0.01, 1e-5
COLUMNS = (1, 3, 5, 6, 7, 9, 14)
"""Of Adult: work class, education, marital status, occupation, relationship, sex, income."""
HIDDEN = 3
"""Occupation, among the columns kept."""
LABEL = 6
LATENTS = 400
SMOOTHING = 0.5
"""Added to every count of the two controls."""
QUIET = 1e-3
"""Noise multiplier of the twin without privacy."""
OPTIONS: dict[str, Any] = {
    "critic_width": 16,
    "generator_width": 48,
    "generator_blocks": 1,
    "latent_dimension": 8,
    "generator_batch_size": 200,
    "expected_batch_size": 100,
    "pretraining_steps": 150,
    "steps": 15,
}

Codes = npt.NDArray[np.int64]
Densities = Callable[[PrivateTable, bytes, Codes], Floats]
"""From a table and a key to (records, values of the hidden column) joint densities of the records' other values."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    cardinalities: tuple[int, ...]
    target_index: int | None = LABEL


@cache
def pool() -> tuple[Codes, tuple[int, ...], Codes]:
    """The pool's records, the columns' cardinalities, and as many strangers as a table has rows."""
    _, table = others()
    chosen = np.random.default_rng(7).choice(len(table.codes), POOL, replace=False)
    rest = np.setdiff1d(np.arange(len(table.codes)), chosen)
    strangers = np.random.default_rng(8).choice(rest, POOL // 2, replace=False)
    codes = table.codes[:, list(COLUMNS)].astype(np.int64)
    return codes[chosen], tuple(table.cardinalities[column] for column in COLUMNS), codes[strangers]


def plan_of(cardinalities: tuple[int, ...], *, epsilon: float) -> Plan:
    """A small plan for half of the pool."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=OPTIONS),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=DELTA),
        declared_size=POOL // 2,
        domain=Shape(cardinalities=cardinalities),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def without_privacy(plan: Plan) -> Plan:
    """The same plan with next to no noise; its epsilons are no longer true, and it exists in this audit alone."""
    assert plan.anchor is not None
    return replace(
        plan,
        anchor=replace(plan.anchor, noise_multiplier=QUIET),
        blocks=tuple(replace(block, noise_multiplier=QUIET) for block in plan.blocks),
    )


def trained(plan: Plan) -> Densities:
    """Densities of the generator that a job publishes, averaged over its latent vectors."""

    def densities(table: PrivateTable, key: bytes, records: Codes) -> Floats:
        made = IdpganSynthesizer().fit(table, plan, KeyedStreams(key), NullHost())
        distribution = made.label_probabilities
        assert distribution is not None
        latent = torch.from_numpy(
            np.random.default_rng(0).standard_normal((LATENTS, made.latent_dimension))
        ).float()
        starts = block_starts(table.cardinalities)
        joint = np.zeros((len(records), table.cardinalities[HIDDEN]))
        for label, share in enumerate(distribution):
            of_label = np.flatnonzero(records[:, LABEL] == label)
            one_hot = torch.zeros(LATENTS, len(distribution))
            one_hot[:, label] = 1.0
            with torch.no_grad():
                shares = probabilities(made.network(latent, one_hot), table.cardinalities).double().numpy()
            known = np.ones((LATENTS, len(of_label)))
            for column in range(len(table.cardinalities)):
                if column not in {HIDDEN, LABEL}:
                    known *= shares[:, starts[column] + records[of_label, column]]
            hidden = shares[:, starts[HIDDEN] : starts[HIDDEN + 1]]
            joint[of_label] = float(share) * known.T @ hidden / LATENTS
        return joint

    return densities


def raw_copy(table: PrivateTable, key: bytes, records: Codes) -> Floats:
    """The rows themselves: shares of exact matches, smoothed."""
    rest = [column for column in range(len(table.cardinalities)) if column != HIDDEN]
    rows = table.codes.astype(np.int64)
    match = (records[:, None, rest] == rows[None, :, rest]).all(2).astype(np.float64)
    return match @ np.eye(table.cardinalities[HIDDEN])[rows[:, HIDDEN]] + SMOOTHING


def independent_columns(table: PrivateTable, key: bytes, records: Codes) -> Floats:
    """As many rows, every column drawn on its own from the table's: products of smoothed shares."""
    rng = np.random.default_rng(int.from_bytes(key[:8], "little"))
    joint = np.ones((len(records), table.cardinalities[HIDDEN]))
    for column, size in enumerate(table.cardinalities):
        drawn = rng.choice(table.codes[:, column], len(table.codes))
        shares = (np.bincount(drawn, minlength=size) + SMOOTHING) / (len(drawn) + SMOOTHING * size)
        joint *= shares[None, :] if column == HIDDEN else shares[records[:, column]][:, None]
    return joint


def independent_strangers(table: PrivateTable, key: bytes, records: Codes) -> Floats:
    """The same, from rows of people who are in no table."""
    strangers = pool()[2]
    rows = replace(
        table, codes=strangers.astype(np.int16), unit_of_record=np.arange(len(strangers), dtype=np.int64)
    )
    return independent_columns(rows, key, records)


def attacked(name: str, densities: Densities, models: int) -> dict[str, Any]:
    """Make the shadow models of one kind and attack them."""
    records, cardinalities, _ = pool()
    shown = cached(f"shadows-{name}".replace(" ", "-"))
    shown = shown.reshape(-1, 3, POOL)
    while len(shown) < models:
        key = hashlib.sha256(f"{name}/{len(shown)}".encode()).digest()
        members = np.random.default_rng([9, len(shown)]).random(POOL) < 0.5
        table = PrivateTable(
            codes=records[members].astype(np.int16),
            unit_of_record=np.arange(members.sum(), dtype=np.int64),
            cardinalities=cardinalities,
            target_index=LABEL,
        )
        joint = densities(table, key, records)
        score = np.log(joint[np.arange(POOL), records[:, HIDDEN]])
        right = joint.argmax(1) == records[:, HIDDEN]
        shown = np.concatenate([shown, np.stack([members, score, right])[None].astype(np.float64)])
        remember(f"shadows-{name}".replace(" ", "-"), shown)
    shown = shown[:models]
    members, right = shown[:, 0] > 0.0, shown[:, 2] > 0.0
    targets = np.argsort(-exposure(records), kind="stable")[:TARGETS]
    found = membership(shown[:, 1][:, targets], members[:, targets], alarm=ALARM)
    return {
        "models": models,
        "pool": POOL,
        "targets": TARGETS,
        "alarm": ALARM,
        "area": asdict(found.area),
        "found": asdict(found.found),
        "inference": asdict(inference(right, members)),
        "inference_on_targets": asdict(inference(right[:, targets], members[:, targets])),
    }


def allowed(plan: Plan) -> dict[str, float]:
    """The largest area and share found that the claim allows any attack."""
    by_delta = profile(plan.mechanism)
    alarms = np.linspace(0.0, 1.0, 1001)
    return {
        "claimed_epsilon": plan.epsilons.reported,
        "delta": DELTA,
        "area_allowed": float(np.trapezoid(largest_power(by_delta, alarms), alarms)),
        "found_allowed": float(largest_power(by_delta, np.array([ALARM]))[0]),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--only", nargs="*", default=None, help="these kinds alone")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    commit()
    _, cardinalities, _ = pool()
    plans = {epsilon: plan_of(cardinalities, epsilon=epsilon) for epsilon in (1.0, 10.0)}
    kinds: dict[str, tuple[Densities, Plan | None]] = {
        "raw copy": (raw_copy, None),
        "independent columns of strangers": (independent_strangers, None),
        "independent columns": (independent_columns, None),
        "no privacy": (trained(without_privacy(plans[10.0])), None),
        "epsilon 10": (trained(plans[10.0]), plans[10.0]),
        "epsilon 1": (trained(plans[1.0]), plans[1.0]),
    }
    for name, (densities, plan) in kinds.items():
        if chosen.only is None or name in chosen.only:
            entry = attacked(name, densities, chosen.models)
            if plan is not None:
                entry |= allowed(plan)
            keep("attacks", kind="outputs", key=name, entry=entry)
            sys.stdout.write(f"{name}: {entry}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
