"""A utility report from order to publication: measured once, signed, the same when run again, cancelled, refused."""

import json
from dataclasses import replace
from typing import ClassVar
from uuid import uuid4

import numpy as np
import pytest
import torch

from core.artifacts.errors import ExecutionDiffers
from core.artifacts.reports.utility import report_id_of
from core.artifacts.reports.utility_form import SCHEMA
from core.artifacts.signing import keyring
from core.artifacts.signing.contexts import CHARGED_REPORT
from core.artifacts.signing.errors import SignatureInvalid
from core.artifacts.signing.signed import SignedDocument, verify
from core.data.private_rows import open_private_rows
from core.dp.charge import charge_of
from core.errors import BudgetRefused
from core.jobs import endings
from core.ledger.reservation import NOTHING, EntryKind
from core.platform.stored_objects import measurement_key
from models.randomness import KeyedStreams, Purpose
from models.reports import public_side
from models.reports import utility as mechanism
from tests.models.coded_tables import small_table, without_unit
from tests.models.reports.sides import public_side_of
from tests.workers.support import CANARY, Workshop
from tests.workers.utility_jobs import plan_about, publish, report_of
from workers import measuring, training_child
from workers.assignment import read_assignment
from workers.child import AttemptEnded, ExitCode
from workers.measuring import UtilityRecord
from workers.publishing import sign_utility_report


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """In this process; a child has them all."""
    monkeypatch.setattr(public_side, "TREES", 2)


def attempted(workshop: Workshop, job_id, fence: int = 1) -> bytes:
    """Run an attempt in this process; what it staged."""
    training_child.attempt(
        workshop.settings, database=workshop.database, store=workshop.store, job_id=job_id, fence=fence
    )
    return workshop.store.get_bytes(measurement_key(job_id, fence))


def refused(workshop: Workshop, job_id, fence: int = 1) -> ExitCode:
    with pytest.raises(AttemptEnded) as ended:
        attempted(workshop, job_id, fence)
    return ended.value.code


def test_a_job_becomes_a_signed_report_that_is_paid_for(workshop):
    plan = plan_about(*publish(workshop))
    job_id = workshop.order(plan)

    workshop.train(job_id)

    job, report = workshop.job(job_id), report_of(workshop, job_id)
    assert report is not None
    assert job.state == "succeeded"
    assert report.id == report_id_of(job_id)
    assert report.release_id == plan.release_id
    document = report.document
    assert document["schema"] == SCHEMA
    assert document["plan_digest"] == job.plan_digest == plan.digest()
    assert document["issued_at"] == job.created_at.isoformat()
    # One price everywhere: what the plan says, what the ledger took, and what the report states.
    assert document["epsilon"] == plan.epsilons.to_json()
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    charge = workshop.reservation(job_id).reserved
    assert charge == charge_of(plan.mechanism, delta=1e-6)
    assert document["charge"] == charge.to_json()
    with workshop.database.read_only() as session:
        keys = keyring.public_keys(session)
    signed = SignedDocument.from_json(document)
    assert verify(signed, context=CHARGED_REPORT, public_keys=keys) == signed.document
    with pytest.raises(SignatureInvalid):
        verify(
            replace(signed, document={**signed.document, "declared_size": 1}),
            context=CHARGED_REPORT,
            public_keys=keys,
        )
    results = document["results"]
    assert [row["name"] for row in results["columns"]] == ["age", "colour", "sick"]
    assert [row["names"] for row in results["pairs"]] == [
        ["age", "colour"],
        ["age", "sick"],
        ["colour", "sick"],
    ]
    assert results["score"]["target"] == "sick"
    assert job.sealed_randomness_key is None, "the randomness key is destroyed"
    assert not workshop.store.exists(measurement_key(job_id, 1)), "what was staged is deleted"
    assert CANARY not in json.dumps(document), "no value of a category is named"


def test_run_again_it_measures_the_same_to_the_byte_and_spends_once(workshop):
    workshop.settings = workshop.settings.model_copy(update={"lease_seconds": 0.01})
    job_id = workshop.order(plan_about(*publish(workshop)))
    workshop.claim(job_id)
    first = attempted(workshop, job_id)
    assert refused(workshop, job_id, 2) is ExitCode.LEASE_LOST
    workshop.claim(job_id)
    assert attempted(workshop, job_id, 2) == first
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    told = json.loads(first)
    assert {kind: len(values) for kind, values in told["terms"].items()} == {
        "columns": 3,
        "pairs": 3,
        "score": 1,
    }


def test_another_job_about_the_same_release_has_other_noise_and_a_price_of_its_own(workshop):
    plan = plan_about(*publish(workshop))
    told = []
    for job_id in (workshop.order(plan), workshop.order(plan)):
        workshop.claim(job_id)
        told.append(json.loads(attempted(workshop, job_id)))
        assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    first, second = told
    assert first["references"] == second["references"], "what is public is the same"
    assert all(
        one != other
        for kind in first["terms"]
        for one, other in zip(first["terms"][kind], second["terms"][kind], strict=True)
    )


def test_rows_are_opened_after_the_mark_and_only_then_is_it_charged(workshop, monkeypatch):
    plan = plan_about(*publish(workshop))
    job_id = workshop.order(plan)
    workshop.claim(job_id)
    seen = []

    def opened(*given):
        seen.append(workshop.job(job_id).stage)
        return open_private_rows(*given)

    monkeypatch.setattr(training_child, "open_private_rows", opened)
    assert endings.begun_charge(workshop.job(job_id)) == NOTHING
    attempted(workshop, job_id)
    assert seen == ["measure"]
    assert endings.begun_charge(workshop.job(job_id)) == charge_of(plan.mechanism, delta=1e-6)


def test_cancelled_before_it_measures_it_opens_no_row(workshop, monkeypatch):
    job_id = workshop.order(plan_about(*publish(workshop)))
    workshop.claim(job_id)
    workshop.cancel(job_id)
    monkeypatch.setattr(training_child, "open_private_rows", lambda *_: pytest.fail("rows were opened"))
    assert refused(workshop, job_id) is ExitCode.CANCELLED
    assert endings.begun_charge(workshop.job(job_id)) == NOTHING, "no mark outlives a cancel"


@pytest.mark.parametrize("wrong", ["manifest", "release", "dataset", "object", "damaged"])
def test_a_release_that_is_not_the_one_that_was_ordered_about_is_never_compared(workshop, monkeypatch, wrong):
    release_id, digest = publish(workshop)
    if wrong == "dataset":
        other = Workshop(workshop.settings)
        release_id, digest = publish(other)
        other.close()
    if wrong == "manifest":
        digest = "0" * 64
    if wrong == "release":
        release_id = uuid4()
    if wrong == "object":
        workshop.store.delete(f"releases/{release_id}/bundle-1.zip")
    if wrong == "damaged":
        workshop.store.put_bytes(f"releases/{release_id}/bundle-1.zip", b"PK")
    monkeypatch.setattr(training_child, "open_private_rows", lambda *_: pytest.fail("rows were opened"))
    job_id = workshop.order(plan_about(release_id, digest))
    workshop.claim(job_id)
    assert refused(workshop, job_id) is ExitCode.MACHINERY
    assert endings.begun_charge(workshop.job(job_id)) == NOTHING


def test_a_failure_among_the_rows_is_visible_to_their_owner_only(workshop, monkeypatch):
    job_id = workshop.order(plan_about(*publish(workshop)))
    workshop.claim(job_id)

    def failing(*_):
        raise ValueError(CANARY)

    monkeypatch.setattr(measuring, "noisy_terms", failing)
    assert refused(workshop, job_id) is ExitCode.DATA
    assert not workshop.store.exists(measurement_key(job_id, 1))


def test_a_failure_while_it_is_handed_over_is_one_among_the_rows(workshop, monkeypatch):
    job_id = workshop.order(plan_about(*publish(workshop)))
    workshop.claim(job_id)
    put = type(workshop.store).put_bytes

    def short_of_memory(store, key, content):
        if key == measurement_key(job_id, 1):
            raise MemoryError
        put(store, key, content)

    monkeypatch.setattr(type(workshop.store), "put_bytes", short_of_memory)
    assert refused(workshop, job_id) is ExitCode.DATA


def test_a_report_beyond_the_cap_is_refused_and_nothing_is_queued(workshop):
    release = publish(workshop)
    before = len(workshop.queue.sent)
    with pytest.raises(BudgetRefused):
        workshop.order(plan_about(*release, epsilon=60.0))
    assert len(workshop.queue.sent) == before


def test_what_was_not_planned_is_not_recorded():
    table = small_table()
    public = public_side_of(table)
    release_id, digest = uuid4(), "0" * 64
    plan = replace(
        plan_about(release_id, digest), columns=("first", "second", "label", "third"), target="label"
    )
    louder = plan_about(release_id, digest, epsilon=5.0)
    louder = replace(louder, columns=plan.columns, target="label")
    key = bytes(32)
    with pytest.raises(ExecutionDiffers):
        mechanism.noisy_terms(table, public, louder, KeyedStreams(key, releases=UtilityRecord(plan)))
    with pytest.raises(ExecutionDiffers):
        UtilityRecord(plan).require_as_planned()
    record = UtilityRecord(plan)
    for _ in range(2):
        mechanism.noisy_terms(table, public, plan, KeyedStreams(key, releases=record))
    with pytest.raises(ExecutionDiffers):
        record.require_as_planned()
    with pytest.raises(ExecutionDiffers):
        record.exact(Purpose.ANCHOR_NOISE, 0, [(torch.zeros(1), 1.0)], sensitivity=1e-9)


def test_what_a_child_hands_over_is_held_against_its_claim(workshop):
    plan = plan_about(*publish(workshop))
    job_id = workshop.order(plan)
    claim = workshop.claim(job_id)
    staged = json.loads(attempted(workshop, job_id))
    parts = {
        "database": workshop.database,
        "store": workshop.store,
        "master_keys": workshop.settings.master_keys,
        "clock": workshop.clock,
    }
    report = sign_utility_report(claim, plan, **parts)
    assert report["epsilon"] == plan.epsilons.to_json()
    terms = staged["terms"]
    for change in (
        {"plan_digest": "0" * 64},
        {"job_id": str(uuid4())},
        {"schema": "another"},
        {"terms": terms | {"columns": terms["columns"][:2]}},
        {"terms": {"columns": terms["columns"]}},
        {"terms": terms | {"score": ["nan"]}},
        {"references": {}},
    ):
        workshop.store.put_bytes(measurement_key(job_id, 1), json.dumps(staged | change).encode())
        with pytest.raises(ExecutionDiffers):
            sign_utility_report(claim, plan, **parts)


class Putting(UtilityRecord):
    """Keeps what was released, and puts a recorded release back where it has one."""

    recorded: ClassVar[list[torch.Tensor]] = []
    moved: ClassVar[list[np.ndarray]] = []

    def exact(self, purpose, step, parts, *, sensitivity):
        held = list(parts)
        super().exact(purpose, step, held, sensitivity=sensitivity)
        self.moved.append(np.concatenate([part.numpy() / std for part, std in held]))

    def noisy(self, purpose, step, *released):
        super().noisy(purpose, step, *released)
        if not self.recorded:
            self.recorded.extend(tensor.clone() for tensor in released)
        for target, source in zip(released, self.recorded, strict=True):
            target.copy_(source)


def test_a_recorded_job_replayed_over_neighbours_hands_over_the_same_bytes(workshop, monkeypatch):
    plan = plan_about(*publish(workshop))
    job_id = workshop.order(plan)
    workshop.claim(job_id)
    work = read_assignment(
        workshop.database, job_id=job_id, fence=1, master_keys=workshop.settings.master_keys
    )
    public, references = measuring.released_side(work, database=workshop.database, store=workshop.store)
    # private: the rows as the child opens them, coded
    rows = training_child._opened(work, workshop.store, work.domain)
    monkeypatch.setattr(measuring, "UtilityRecord", Putting)
    monkeypatch.setattr(Putting, "recorded", [])
    monkeypatch.setattr(Putting, "moved", [])
    first = measuring.measure(work, public, references, lambda: rows)
    last = np.array(rows.cardinalities, dtype=np.int16) - 1
    neighbours = [
        without_unit(rows, 0),
        without_unit(rows, rows.units - 1),
        *(
            replace(
                rows,
                codes=np.concatenate([rows.codes, np.tile(code, (records, 1))]).astype(np.int16),
                unit_of_record=np.concatenate([rows.unit_of_record, np.full(records, rows.units)]),
            )
            for code in (np.zeros_like(last), last)
            for records in (1, 2000)
        ),
    ]
    for neighbour in neighbours:
        assert measuring.measure(work, public, references, lambda table=neighbour: table) == first
        gap = np.linalg.norm(Putting.moved[-1] - Putting.moved[0])
        assert 0 < gap <= 1 / plan.noise_multiplier
