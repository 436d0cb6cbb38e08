"""A job whose domain is learnt, from sealed rows to a verified release, and the reports about it."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.bundle import unpack
from core.data.sealing import SealedWriter
from core.data.stored_rows import open_writer, rows_context
from core.db.tables import Dataset
from core.dp.adjacency import PrivacyUnit
from core.dp.charge import UNBOUNDED_MICROS
from core.plan.domain.schema import storage_schema
from core.plan.domain.table import TableDomain
from core.plan.learning import RECORDS
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.platform.settings import Settings
from core.platform.stored_objects import bundle_key, measurement_key
from models.reports import public_side
from tests.workers.support import CANARY, ROWS, SMALL, Workshop, small_plan
from tests.workers.test_owner_reports import html_of, ordered, reporter, row_of
from tests.workers.utility_jobs import manifest_digest, plan_about, report_of
from workers import training_child

LEARNT: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "bounds": "learn", "bins": "learn"},
        {"name": "colour", "kind": "categorical", "categories": "learn", "most": 8},
        {"name": "sick", "kind": "boolean"},
    ],
}
DOMAIN = TableDomain.from_json(LEARNT)
RARE = "of-one-row-alone"


def learnt_plan(**options: Any) -> Plan:
    declared = small_plan()
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=SMALL | options),
        guarantee=declared.guarantee.__class__(epsilon=20.0, delta=1e-6),
        declared_size=ROWS,
        domain=DOMAIN,
        adjacency=declared.adjacency,
        privacy_unit=declared.privacy_unit,
    )


class LearntWorkshop(Workshop):
    """The workshop's dataset with a domain that leaves bounds, bins and categories to be learnt."""

    declared, rare = DOMAIN, RARE

    def dataset_row(self) -> Dataset:
        dataset = super().dataset_row()
        dataset.domain = LEARNT
        return dataset

    def store_rows(self, rows_key: str, **_colours: Any) -> None:
        numbers = np.random.default_rng(5).integers(20, 60, ROWS)
        words = [("red", "green", CANARY)[number % 3] for number in numbers[:-1]]
        values = [pa.array(numbers), pa.array([*words, self.rare]), pa.array(numbers > 45)]
        schema = storage_schema(self.declared)
        batch = pa.RecordBatch.from_arrays(
            [value.cast(field.type) for value, field in zip(values, schema, strict=True)], schema=schema
        )
        path = self.settings.scratch_folder / "rows.sealed"
        with (
            path.open("wb") as raw,
            SealedWriter(raw, key=self.data_key, context=rows_context(rows_key)) as sealed,
            open_writer(sealed, self.declared) as writer,
        ):
            writer.write_batch(batch)
        self.store.put_file(rows_key, path)


@pytest.fixture
def workshop(settings: Settings) -> Iterator[LearntWorkshop]:
    made = LearntWorkshop(settings)
    yield made
    made.close()


def test_a_job_learns_its_domain_and_its_release_verifies(workshop, tmp_path):
    plan = learnt_plan()
    job_id = workshop.order(plan)
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None
    packed = workshop.store.get_bytes(release.bundle_key)
    workshop.verified(packed, tmp_path / "bundle.zip")

    found = TableDomain.from_json(unpack(packed).domain)
    assert not found.learnt
    age, colour, _sick = found.modelled
    # Chance decides how far the bounds reach beyond the values: in one of twenty trainings the upper one is above 128.
    assert age.lower <= 20
    assert 59 <= age.upper < DOMAIN.modelled[0].upper
    assert set(colour.labels) == {"red", "green", CANARY}
    assert RARE.encode() not in packed
    assert workshop.reservation(job_id).reserved.rdp_micros == (UNBOUNDED_MICROS,) * 6
    assert release.certificate["executed"]["releases"]["learning"] == [[0, 1, 3]]


def test_a_resumed_job_learns_the_same_and_stages_the_same_bytes(workshop):
    job_id = workshop.order(learnt_plan(steps=20))
    workshop.settings = workshop.settings.model_copy(
        update={"lease_seconds": 0.01, "checkpoint_seconds": 0.001}
    )
    staged = []
    for fence in (1, 2):
        workshop.claim(job_id)
        training_child.attempt(
            workshop.settings, database=workshop.database, store=workshop.store, job_id=job_id, fence=fence
        )
        staged.append(workshop.store.get_bytes(bundle_key(job_id, fence)))
    assert staged[0] == staged[1]


@pytest.mark.long
def test_reports_read_the_rows_by_the_domain_of_their_release(workshop, monkeypatch):
    monkeypatch.setattr(public_side, "TREES", 2)
    job_id = workshop.order(learnt_plan())
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None

    sealed = ordered(workshop, release.id)
    reporter(workshop).report(sealed)
    html = html_of(workshop, row_of(workshop, sealed))
    assert CANARY in html
    assert RARE not in html

    packed = workshop.store.get_bytes(release.bundle_key)
    charged = workshop.order(plan_about(release.id, manifest_digest(packed)))
    workshop.claim(charged)
    training_child.attempt(
        workshop.settings, database=workshop.database, store=workshop.store, job_id=charged, fence=1
    )
    assert workshop.store.exists(measurement_key(charged, 1))
    assert report_of(workshop, charged) is None, "staged, and not yet signed"


PATIENTS = TableDomain.from_json(
    LEARNT
    | {
        "privacy_unit": "patient",
        "columns": [
            {"name": "age", "kind": "numeric", "type": "integer", "lower": 20, "upper": 59},
            {"name": "sick", "kind": "boolean"},
            {"name": "patient", "kind": "unit", "records": "learn"},
        ],
    }
)


class PatientsWorkshop(Workshop):
    """The workshop's dataset with five records of every patient, and a domain that leaves to be learnt how many count."""

    def dataset_row(self) -> Dataset:
        dataset = super().dataset_row()
        dataset.domain = PATIENTS.to_json()
        dataset.privacy_unit = "patient"
        return dataset

    def store_rows(self, rows_key: str, **_colours: Any) -> None:
        numbers = np.random.default_rng(5).integers(20, 60, ROWS)
        patients = [f"{CANARY}-{number // 5}" for number in range(ROWS)]
        batch = pa.RecordBatch.from_arrays(
            [pa.array(numbers), pa.array(numbers > 45), pa.array(patients)], schema=storage_schema(PATIENTS)
        )
        path = self.settings.scratch_folder / "rows.sealed"
        with (
            path.open("wb") as raw,
            SealedWriter(raw, key=self.data_key, context=rows_context(rows_key)) as sealed,
            open_writer(sealed, PATIENTS) as writer,
        ):
            writer.write_batch(batch)
        self.store.put_file(rows_key, path)


def test_a_job_learns_how_many_records_of_a_unit_count_and_its_release_verifies(settings, tmp_path):
    workshop = PatientsWorkshop(settings)
    declared = small_plan()
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={"critic": False, "pretraining_steps": 20}),
        guarantee=declared.guarantee.__class__(epsilon=20.0, delta=1e-6),
        declared_size=ROWS,
        domain=PATIENTS,
        adjacency=declared.adjacency,
        privacy_unit=PrivacyUnit(column="patient"),
    )
    job_id = workshop.order(plan)
    workshop.train(job_id)
    release = workshop.release(job_id)
    assert release is not None
    packed = workshop.store.get_bytes(release.bundle_key)
    workshop.verified(packed, tmp_path / "bundle.zip")
    bound = TableDomain.from_json(unpack(packed).domain).records_per_unit
    assert bound in RECORDS
    assert bound > 1, "sixty patients have five records each, and there is little noise"
    assert CANARY.encode() not in packed
    workshop.close()


WIDE: dict[str, Any] = LEARNT | {
    "columns": [
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 10_000_000},
        {"name": "colour", "kind": "categorical", "categories": ["red", "green", CANARY], "other": True},
        {"name": "sick", "kind": "boolean"},
    ]
}
WIDE_DOMAIN = TableDomain.from_json(WIDE)


class WideWorkshop(LearntWorkshop):
    """The workshop's dataset with bounds that are far wider than its rows."""

    declared, rare = WIDE_DOMAIN, "red"

    def dataset_row(self) -> Dataset:
        dataset = super().dataset_row()
        dataset.domain = WIDE
        return dataset


@pytest.fixture
def wide(settings: Settings) -> Iterator[WideWorkshop]:
    made = WideWorkshop(settings)
    yield made
    made.close()


def wide_plan() -> Plan:
    declared = small_plan()
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options={}),
        guarantee=declared.guarantee.__class__(epsilon=20.0, delta=1e-6),
        declared_size=ROWS,
        domain=WIDE_DOMAIN,
        adjacency=declared.adjacency,
        privacy_unit=declared.privacy_unit,
        checks_bounds=True,
    )


def test_a_job_checks_declared_bounds_and_its_release_verifies(wide, tmp_path):
    job_id = wide.order(wide_plan())
    wide.train(job_id)
    release = wide.release(job_id)
    assert release is not None
    packed = wide.store.get_bytes(release.bundle_key)
    wide.verified(packed, tmp_path / "bundle.zip")

    age = TableDomain.from_json(unpack(packed).domain).modelled[0]
    assert 0 <= age.lower <= 20
    assert 59 <= age.upper < 1000
    assert release.certificate["executed"]["releases"]["learning"] == [[0, 1, 1]]
    assert UNBOUNDED_MICROS not in wide.reservation(job_id).reserved.rdp_micros


def test_a_resumed_job_finds_the_same_bins_and_stages_the_same_bytes(wide):
    job_id = wide.order(wide_plan())
    wide.settings = wide.settings.model_copy(update={"lease_seconds": 0.01, "checkpoint_seconds": 0.001})
    staged = []
    for fence in (1, 2):
        wide.claim(job_id)
        training_child.attempt(
            wide.settings, database=wide.database, store=wide.store, job_id=job_id, fence=fence
        )
        staged.append(wide.store.get_bytes(bundle_key(job_id, fence)))
    assert staged[0] == staged[1]


def test_reports_read_the_rows_by_the_bins_that_a_check_found(wide, monkeypatch):
    monkeypatch.setattr(public_side, "TREES", 2)
    job_id = wide.order(wide_plan())
    wide.train(job_id)
    release = wide.release(job_id)
    assert release is not None
    packed = wide.store.get_bytes(release.bundle_key)
    assert unpack(packed).domain != WIDE_DOMAIN.to_json()

    sealed = ordered(wide, release.id)
    reporter(wide).report(sealed)
    assert "age" in html_of(wide, row_of(wide, sealed))
    charged = wide.order(plan_about(release.id, manifest_digest(packed)))
    wide.claim(charged)
    training_child.attempt(wide.settings, database=wide.database, store=wide.store, job_id=charged, fence=1)
    assert wide.store.exists(measurement_key(charged, 1))
