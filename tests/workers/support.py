"""A dataset with sealed rows and jobs ordered on it: what a worker finds, made by the real parts."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pyarrow as pa
from sqlalchemy.orm import Session

from core.artifacts.signing import keyring
from core.clock import Clock, SystemClock
from core.data.boards import Board
from core.data.objects import ObjectStore, open_store
from core.data.sealing import SealedWriter, new_data_key, seal_bytes, wrap
from core.data.stored_rows import open_writer, rows_context
from core.db.session import Database
from core.db.tables import Dataset, Job, Release
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.jobs import claims, endings, repository
from core.jobs.leases import Claim
from core.jobs.orders import place_order
from core.jobs.queue import Queue
from core.jobs.states import JobState
from core.ledger import governance, ledger_queries
from core.ledger.reservation import EntryKind, Reservation
from core.plan.devices import DEVICES, Device, Wish
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.joint_plan import JointPlan, joint_plan
from core.plan.several_owners.owners import DataOwner
from core.plan.spec import SynthesisSpec
from core.platform.settings import Settings
from tests.memory_queue import MemoryQueue
from tests.workers.in_process import InProcessTrainer, words_of
from understudy.verifying.verification import Outcome, Report, verify_bundle
from workers.training import Trainer

ROWS = 300
CANARY = "canary-7f3a"
"""A category that some rows hold; it may stand in no log, row or object outside a seal, save the declared domain."""
DOCUMENT: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9},
        {"name": "colour", "kind": "categorical", "categories": ["red", "green", CANARY]},
        {"name": "sick", "kind": "boolean"},
    ],
}
SMALL = {
    "steps": 60,
    "expected_batch_size": 64,
    "critic_width": 16,
    "critic_layers": 1,
    "generator_width": 16,
    "generator_blocks": 1,
    "latent_dimension": 8,
    "generator_batch_size": 64,
    "pretraining_steps": 60,
    "critic_steps": 2,
}


@cache
def small_plan(epsilon: float = 2.0, **options: Any) -> Plan:
    """A plan that trains in a second or two."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=SMALL | options),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=ROWS,
        domain=TableDomain.from_json(DOCUMENT),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


@cache
def planned(declared_size: int, **options: Any) -> Plan:
    """A plan of a generator that is trained on counts alone."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": False} | options),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=declared_size,
        domain=TableDomain.from_json(DOCUMENT),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def environment_of(settings: Settings) -> dict[str, str]:
    """The environment of a process with these settings."""
    plain = settings.model_dump(mode="json", exclude={"master_key", "previous_master_key"}, exclude_none=True)
    told = {
        f"UNDERSTUDY_{name.upper()}": json.dumps(value) if isinstance(value, list) else str(value)
        for name, value in plain.items()
    }
    told["UNDERSTUDY_MASTER_KEY"] = settings.master_key.get_secret_value()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")}
    return kept | told


class Workshop:
    """One population, one dataset with rows, and jobs on it."""

    def __init__(
        self,
        settings: Settings,
        *,
        queue: Queue | None = None,
        clock: Clock | None = None,
        randomness: Mapping[UUID, bytes] | None = None,
    ) -> None:
        self.settings = settings
        self.database = Database(settings.database_url)
        self.store: ObjectStore = open_store(settings.storage_url)
        self.queue = queue or MemoryQueue()
        self.clock = clock or SystemClock()
        self.data_key = new_data_key()
        self.dataset_id = uuid4()
        self._randomness = dict(randomness or {})
        with self.database.transaction() as session:
            self.population_id = self._new_population(session)
            session.add(self.dataset_row())

    def dataset_row(self) -> Dataset:
        rows_key = f"datasets/{self.dataset_id}/rows.sealed"
        self.store_rows(rows_key)
        return Dataset(
            id=self.dataset_id,
            population_id=self.population_id,
            owner_id=uuid4(),
            name="tiny",
            domain=DOCUMENT,
            adjacency="add-or-remove",
            privacy_unit=None,
            declared_size=ROWS,
            state="ready",
            rows_key=rows_key,
            intake_report={"schema": "understudy.intake-report/1"},
            wrapped_data_key=wrap(
                self.settings.master_key_bytes, self.data_key, context=f"dataset:{self.dataset_id}"
            ),
            created_at=self.clock.now(),
        )

    def store_rows(
        self, rows_key: str, *, colours: Sequence[str | None] = ("red", "green", CANARY), rows: int = ROWS
    ) -> None:
        domain = TableDomain.from_json(DOCUMENT)
        numbers = np.random.default_rng(5).integers(0, 10, ROWS)[:rows]
        words = pa.array([colours[number % len(colours)] for number in numbers], pa.string())
        schema = storage_schema(domain)
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array(numbers).cast(schema.field("age").type),
                words.cast(schema.field("colour").type),
                pa.array(numbers > 5).cast(schema.field("sick").type),
            ],
            schema=schema,
        )
        path = self.settings.scratch_folder / "rows.sealed"
        with (
            path.open("wb") as raw,
            SealedWriter(raw, key=self.data_key, context=rows_context(rows_key)) as sealed,
            open_writer(sealed, domain) as writer,
        ):
            writer.write_batch(batch)
        self.store.put_file(rows_key, path)

    def order(
        self,
        plan: Plan | None = None,
        *,
        randomness: bytes | None = None,
        job_id: UUID | None = None,
        by: UUID | None = None,
        device: Device | None = None,
        wish: Wish | None = None,
        board: Board | None = None,
    ) -> UUID:
        job_id = job_id or uuid4()
        with self.database.transaction() as session:
            place_order(
                session,
                dataset=session.get_one(Dataset, self.dataset_id),
                plan=plan or small_plan(),
                ordered_by=by or uuid4(),
                job_id=job_id,
                grant_id=None,
                sealed_randomness_key=seal_bytes(
                    self.data_key, randomness or os.urandom(32), context=f"job:{job_id}"
                ),
                queue=self.queue,
                clock=self.clock,
                device=device,
                device_wish=wish,
                sealed_federation=None if board is None else board.seal(self.data_key, job_id),
            )
        return job_id

    def _new_population(self, session: Session) -> UUID:
        population_id = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=self.clock)
        amounts: dict[str, Any] = {"epsilon": 50.0, "delta": 1e-4, "by": "admin", "reason": None}
        governance.set_cap(session, population_id, **amounts, clock=self.clock)
        return population_id

    def neighbour(self, **rows: Any) -> "Workshop":
        """Another owner's workshop in the same service: a population, a key and rows of the same domain."""
        other = Workshop.__new__(Workshop)
        other.__dict__ = self.__dict__ | {"data_key": new_data_key(), "dataset_id": uuid4()}
        with self.database.transaction() as session:
            other.population_id = self._new_population(session)
            row = other.dataset_row()
            session.add(row)
        if rows:
            assert row.rows_key is not None
            other.store_rows(row.rows_key, **rows)
        return other

    def order_together(
        self, plan: Plan | ModelPlan, others: Sequence["Workshop"], *, randomness: bytes | None = None
    ) -> tuple[UUID, JointPlan | ModelPlan]:
        """Order a job over this dataset and others. Returns its id and the plan with its owners."""
        shops = sorted([self, *others], key=lambda shop: shop.population_id)
        owners = tuple(
            DataOwner(
                dataset_id=str(shop.dataset_id), population_id=str(shop.population_id), declared_size=ROWS
            )
            for shop in shops
        )
        job_id = uuid4()
        plan = joint_plan(plan, owners) if isinstance(plan, Plan) else replace(plan, owners=owners)
        with self.database.transaction() as session:
            first, *further = (session.get_one(Dataset, shop.dataset_id) for shop in shops)
            place_order(
                session,
                dataset=first,
                plan=plan,
                ordered_by=uuid4(),
                job_id=job_id,
                grant_id=None,
                sealed_randomness_key=seal_bytes(
                    shops[0].data_key, randomness or os.urandom(32), context=f"job:{job_id}"
                ),
                queue=self.queue,
                clock=self.clock,
                further=[(each, None) for each in further],
            )
        return job_id, plan

    def train(self, job_id: UUID, *, in_child: bool = False) -> None:
        """Train a job to its end, in this process or in a child process like a worker's."""
        parts: dict[str, Any] = {
            "database": self.database,
            "store": self.store,
            "queue": self.queue,
            "clock": self.clock,
            "environment": environment_of(self.settings),
        }
        if in_child:
            Trainer(self.settings, **parts).train(job_id)
            return
        patient = self.settings.model_copy(update={"lease_seconds": 600.0})
        InProcessTrainer(patient, command=words_of, **parts).train(job_id)

    def claim(self, job_id: UUID, *, devices: Collection[str] = DEVICES) -> Claim:
        with self.database.transaction() as session:
            claim = claims.claim(
                session,
                job_id,
                clock=self.clock,
                lease_seconds=self.settings.lease_seconds,
                max_attempts=self.settings.job_attempts,
                devices=devices,
            )
        assert claim is not None
        return claim

    def advance(self, claim: Claim, *, stage: str, step: int) -> None:
        with self.database.transaction() as session:
            claims.advance(session, claim, stage=stage, step=step, total=claim.plan.steps)

    def cancel(self, job_id: UUID) -> JobState:
        with self.database.transaction() as session:
            return endings.cancel(session, job_id, clock=self.clock)

    def job(self, job_id: UUID) -> Job:
        with self.database.read_only() as session:
            job = repository.find(session, job_id)
            session.expunge(job)
            return job

    def release(self, job_id: UUID) -> Release | None:
        with self.database.read_only() as session:
            release = session.query(Release).filter_by(job_id=job_id).one_or_none()
            if release is not None:
                session.expunge(release)
            return release

    def reservation(self, job_id: UUID) -> Reservation:
        with self.database.read_only() as session:
            return ledger_queries.reservation_of(session, job_id)

    def movements(self, job_id: UUID) -> list[EntryKind]:
        with self.database.read_only() as session:
            entries = ledger_queries.statement(session, self.population_id).entries
        movements = (entry.movement for entry in entries if entry.movement is not None)
        return [movement.kind for movement in movements if movement.job_id == job_id]

    def verified(self, bundle: bytes, path: Path) -> Report:
        """The report on a bundle, written to a file, that verifies with the keys of this service."""
        path.write_bytes(bundle)
        with self.database.read_only() as session:
            keys = keyring.public_keys(session)
        report = verify_bundle(path, public_keys=keys.values())
        assert report.outcome is Outcome.VERIFIED, report.refusals
        return report

    def close(self) -> None:
        self.database.close()
