"""The one-run audit of full-size jobs: Adult with a thousand canaries.

    python -m tests.audits.one_run_jobs [--only NAME ...]

Without the real table, a table of its size whose columns are drawn independently stands in. Results go into
benchmarks/results/audits/one_run.json.
"""

import argparse
import hashlib
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch

from benchmarks.datasets import data_folder, load
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.encoding import PrivateTable
from models.randomness import KeyedStreams
from tests.audits.full_job import Canaries, run
from tests.audits.one_run import audit, ceiling
from tests.audits.results import commit, keep
from tests.audits.twins import QuietStreams, a_quarter_of_the_noise

COUNT = 1000
DELTA = 1e-6
CONFIDENCES = (0.95, 0.999)
SHARES = (0.1, 0.3, 1.0)
STAND_IN = ((20, 9, 20, 16, 16, 7, 15, 6, 5, 2, 17, 17, 22, 42, 2), 14, 32_561)
"""Cardinalities, target and records of the stand-in."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One audited job.

    Args:
        epsilon: of the claim.
        options: of the plan; the others by the public rules.
        every: the adversary reads the gradients of every so many steps.
        quarter: whether it is the twin with a quarter of the noise.
    """

    epsilon: float
    options: dict[str, Any] = field(default_factory=dict)
    every: int = 5
    quarter: bool = False


SHORT = {"steps": 100, "pretraining_steps": 20}
JOBS = {
    "anchor and critic, epsilon 1": Job(epsilon=1.0, options=SHORT),
    "the same with a quarter of the noise": Job(epsilon=1.0, options=SHORT, quarter=True),
    "anchor and critic, epsilon 8": Job(epsilon=8.0, options=SHORT),
    "critic alone, epsilon 8": Job(epsilon=8.0, options={"steps": 100, "anchor": False}, every=4),
}


def others() -> tuple[str, PrivateTable]:
    """The name of the table, and the table without canaries."""
    if (data_folder() / "adult").exists():
        adult = load("adult")
        codes, sizes, target = adult.train_codes, adult.domain.cardinalities, adult.domain.target_index
        name = "adult"
    else:
        sizes, target, count = STAND_IN
        rng = np.random.default_rng(0)
        codes = np.column_stack([rng.binomial(size - 1, 0.3, count) for size in sizes]).astype(np.int16)
        name = "independent columns"
    unit_of_record = np.arange(len(codes), dtype=np.int64)
    return name, PrivateTable(
        codes=codes, unit_of_record=unit_of_record, cardinalities=sizes, target_index=target
    )


def plan_of(job: Job, table: PrivateTable) -> Plan:
    """The plan, from public facts."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=job.options),
        guarantee=PrivacyGuarantee(epsilon=job.epsilon, delta=DELTA),
        declared_size=len(table.codes) + COUNT,
        domain=table,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def measure(name: str, job: Job, table_name: str, table: PrivateTable) -> dict[str, Any]:
    """Run one job and bound its epsilon from below."""
    began = time.process_time()
    plan = plan_of(job, table)
    canaries = Canaries.draw(table, COUNT, seed=1)
    with a_quarter_of_the_noise() if job.quarter else nullcontext():
        sureness = run(
            canaries,
            plan,
            hashlib.sha256(name.encode()).digest(),
            every=job.every,
            make_streams=QuietStreams if job.quarter else KeyedStreams,
        )
    bounds = {}
    for confidence in CONFIDENCES:
        found = audit(sureness, canaries.included, delta=DELTA, confidence=confidence, shares=SHARES)
        bounds[str(confidence)] = {
            "guesses": [asdict(each) for each in found],
            "epsilon_lower": max(each.epsilon for each in found),
            "ceiling": ceiling(delta=DELTA, canaries=COUNT, confidence=confidence),
        }
    return {
        "table": table_name,
        "records": len(table.codes) + int(canaries.included.sum()),
        "canaries": COUNT,
        "claimed_epsilon": plan.epsilons.reported,
        "delta": DELTA,
        "steps": plan.steps,
        "read_every": job.every,
        "sampling_rate": plan.sampling_rate,
        "anchor": plan.anchor is not None,
        "twin": job.quarter,
        "bounds": bounds,
        "cpu_seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", default=None, help="these jobs alone")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    commit()
    table_name, table = others()
    for name, job in JOBS.items():
        if chosen.only is None or name in chosen.only:
            entry = measure(name, job, table_name, table)
            keep("one_run", kind="jobs", key=name, entry=entry)
            sys.stdout.write(f"{name}: {entry}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
