"""Rows for the benchmarks of the service: a dataset, jobs that run, and a key of the dataset's owner."""

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from benchmarks.service.quote import HERE
from benchmarks.service.servers import Stack
from core.clock import SystemClock
from core.db.session import Database
from core.db.tables import Dataset, Job
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.ledger import governance
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role

DECLARED_SIZE = 32_561


@dataclass(frozen=True)
class Seeded:
    """Key and jobs of a filled database.

    Args:
        key: The owner's API key.
        job_ids: Jobs that run on the owner's dataset.
    """

    key: str
    job_ids: list[UUID]


def plan() -> Plan:
    """A plan of Adult's declared domain at epsilon 1, with a critic: the default one has none, and its jobs no steps to show."""
    domain = TableDomain.from_json(json.loads((HERE / "domains" / "adult.json").read_text()))
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"steps": 1000}),
        guarantee=PrivacyGuarantee(epsilon=1.0, delta=1e-6),
        declared_size=DECLARED_SIZE,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def seed_jobs(stack: Stack, *, count: int, step: int | None = None) -> Seeded:
    """A dataset of one owner with this many running jobs, all at one step or each at another."""
    clock = SystemClock()
    directory = KeyDirectory(
        pepper=pepper_from(bytes.fromhex(stack.master_key)), clock=clock, entropy=os.urandom
    )
    made = plan()
    document, digest, now = made.to_json(), made.digest(), clock.now()
    database = Database(stack.database_url)
    with database.transaction() as session:
        row, key = directory.issue(session, name="bench", roles=[Role.OWNER])
        population_id = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
        dataset = Dataset(
            population_id=population_id, owner_id=row.principal_id, name="bench", domain={}, state="declared",
            adjacency="add-or-remove", declared_size=DECLARED_SIZE, created_at=now,
        )  # fmt: skip
        session.add(dataset)
        session.flush()
        jobs = [
            Job(
                id=uuid4(), dataset_id=dataset.id, ordered_by=uuid4(), state="running", plan=document, plan_digest=digest,
                fence=1, attempts=1, shown_stage="train", shown_step=number % made.steps if step is None else step,
                sealed_randomness_key=b"sealed", created_at=now, sent_at=now, started_at=now,
                lease_expires_at=now + timedelta(days=1),
            )
            for number in range(count)
        ]  # fmt: skip
        session.add_all(jobs)
    database.close()
    return Seeded(key=key.text, job_ids=[job.id for job in jobs])
