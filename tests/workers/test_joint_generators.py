"""A generator over the datasets of three owners, from order to release: counts added, one noise, three ledgers, verified offline."""

import itertools
from dataclasses import fields, replace
from uuid import UUID

import numpy as np
import pytest

from core.artifacts.bundle import unpack
from core.artifacts.counts import ReleasedCounts
from core.dp.charge import charge_of
from core.ledger import ledger_queries
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.plan.errors import InvalidPlan, InvalidSpec
from core.plan.ordered_plan import ordered_plan_from_json, owners_of
from core.plan.several_owners.joint_plan import JointPlan, joint_plan
from core.platform.stored_objects import bundle_key, checkpoint_key
from core.platform.witness.witness_store import head_key, publication_key
from models.randomness import KeyedStreams, Purpose
from models.tables.anchor import FIRST_ROUND, SECOND_ROUND
from tests.models.classifier.small import owners_of_sizes
from tests.privacy.replay.listening import Both
from tests.privacy.seam import Recorder, Replayer, require_stated, require_within
from tests.workers.support import ROWS, planned, small_plan
from understudy.verifying import owners as verifying
from understudy.verifying.planned import parts_of
from workers import training_child


def test_a_generator_over_three_owners_is_certified_for_each_ledger(workshop, tmp_path):
    others = [workshop.neighbour(colours=("red", "green")), workshop.neighbour(colours=("green",))]
    job_id, plan = workshop.order_together(planned(3 * ROWS), others)

    workshop.train(job_id)

    job, release = workshop.job(job_id), workshop.release(job_id)
    assert (job.state, job.failure_code) == ("succeeded", None)
    certificate = release.certificate
    assert certificate["schema"] == "understudy.federated-certificate/1"
    assert certificate["epsilon"] == plan.epsilons.to_json()
    charge = charge_of(plan.mechanism, delta=1e-6)
    assert [one["charge"] for one in certificate["ledgers"]] == [charge.to_json()] * 3
    assert [one["owners"] for one in certificate["presence"]] == [1, 2, 3]
    with workshop.database.read_only() as session:
        assert {one.in_force for one in ledger_queries.reservations_of(session, job_id).values()} == {charge}
        for owner, stated in zip(plan.owners, certificate["ledgers"], strict=True):
            population = UUID(owner.population_id)
            paid = payment_of(session, job_id, population)
            assert stated["ledger"]["spent"]["hash"] == paid[EntryKind.SPENT].hash.hex()
            noted = head_key(population, paid[EntryKind.SPENT]), publication_key(population, job_id)
            assert all(map(workshop.store.exists, noted)), "noted for every ledger"
    content = workshop.store.get_bytes(release.bundle_key)
    report = workshop.verified(content, tmp_path / "bundle.zip")
    assert "3 ledgers" in next(check.detail for check in report.checks if check.name == "owners")
    _require_all_rows_counted(unpack(content).counts)
    _require_no_other_certificate(certificate)


def _require_all_rows_counted(content):
    """The noisy counts of colours are near those of all owners' rows, as `Workshop.store_rows` writes them."""
    counts = ReleasedCounts.from_bytes(content)
    (colours,) = (table for table in counts.tables if table.columns == (1,))
    numbers = np.random.default_rng(5).integers(0, 10, ROWS)
    added = np.bincount(numbers % 3, minlength=3) + np.bincount(numbers % 2, minlength=3) + [0, ROWS, 0]
    found = colours.cells.ravel() * counts.step
    assert found == pytest.approx(added, abs=8 * colours.noise_std)
    assert 8 * colours.noise_std < ROWS / 3, "the noise hides no owner"


def _require_no_other_certificate(certificate):
    first, second, third = certificate["ledgers"]
    dear = first["charge"] | {"epsilon_micros": 1}
    for altered in (
        certificate | {"ledgers": [first, second]},
        certificate | {"ledgers": [second, first, third]},
        certificate | {"ledgers": [first, second, third | {"charge": dear}]},
        certificate | {"dataset_id": second["dataset_id"]},
        certificate | {"presence": certificate["presence"][:2]},
    ):
        assert [*verifying.joint_problems(altered, tuple(parts_of(altered["plan"])))]
    more = certificate | {"plan": certificate["plan"] | {"steps": 1}}
    parts = tuple(parts_of(certificate["plan"]))
    assert "plan: more than the counts of all owners" in [*verifying.joint_problems(more, parts)]


class Killed(BaseException):
    """The child was killed: nothing in it catches this."""


class Dying(Recorder):
    """Records all attempts of a job; kills the process after some of the releases, counted over all attempts."""

    def __init__(self, *, kill_after):
        super().__init__()
        self._kill_after, self._noised = kill_after, itertools.count()

    def noisy(self, purpose, step, *released):
        super().noisy(purpose, step, *released)
        if next(self._noised) in self._kill_after:
            raise Killed


def test_killed_between_its_noises_a_training_over_owners_leaves_the_same_bytes(workshop, monkeypatch):
    """Every attempt of the job meets the same sums and draws the same noise, and a unit of one owner changes nothing else."""
    workshop.settings = workshop.settings.model_copy(update={"lease_seconds": 0.01})
    other = workshop.neighbour(colours=("red", "green"))
    job_id, plan = workshop.order_together(
        planned(2 * ROWS, pretraining_steps=20, generator_width=16), [other]
    )
    columns, pairs = ((int(Purpose.ANCHOR_NOISE), step) for step in (FIRST_ROUND, SECOND_ROUND))

    def attempt(recorder, *, fence):
        assert workshop.claim(job_id).fence == fence
        workshop.store.delete(checkpoint_key(job_id, fence - 1))
        with monkeypatch.context() as patch:
            patch.setattr(
                training_child,
                "KeyedStreams",
                lambda key, *, releases=None: KeyedStreams(key, releases=Both(recorder, releases)),
            )
            training_child.attempt(
                workshop.settings,
                database=workshop.database,
                store=workshop.store,
                job_id=job_id,
                fence=fence,
            )
        return workshop.store.get_bytes(bundle_key(job_id, fence))

    recorder = Dying(kill_after={0, 2})
    for fence in (1, 2):
        with pytest.raises(Killed):
            attempt(recorder, fence=fence)
    resumed = attempt(recorder, fence=3)
    noised = [(purpose, step) for kind, purpose, step, _ in recorder.calls if kind == "noisy"]
    assert noised == [columns, columns, pairs, columns, pairs], (
        "killed after the columns, then after the pairs"
    )
    require_stated(recorder, plan)

    other.store_rows(f"datasets/{other.dataset_id}/rows.sealed", colours=("red", "green"), rows=ROWS - 1)
    replayer = Replayer(recorder)
    assert attempt(replayer, fence=4) == resumed, "a unit is seen in the releases alone"
    require_within(replayer, recorder, plan)
    assert all(replayer.distances.values()), "the unit took part"
    for shop in (workshop, other):
        assert shop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]


def test_a_plan_over_owners_is_of_counts_alone_and_of_these_owners():
    owners = owners_of_sizes(100, 200)
    plan = joint_plan(planned(300), owners)
    assert ordered_plan_from_json(plan.to_json()) == plan
    assert owners_of(plan) == owners
    assert plan.mechanism == planned(300).mechanism, "every ledger is charged the whole mechanism"
    with pytest.raises(InvalidSpec):
        joint_plan(small_plan(critic=True), owners_of_sizes(100, 200))
    rows = small_plan(critic=True)
    with pytest.raises(InvalidPlan, match="more than counts"):
        JointPlan(owners=owners, **{one.name: getattr(rows, one.name) for one in fields(rows)})
    for wrong in (owners[:1], owners[::-1], owners_of_sizes(100, 100)):
        with pytest.raises(InvalidPlan):
            replace(plan, owners=wrong)
    without = {name: value for name, value in plan.to_json().items() if name != "owners"}
    with pytest.raises(InvalidPlan):
        JointPlan.from_json(without)
    with pytest.raises(InvalidPlan):
        ordered_plan_from_json({name: value for name, value in plan.to_json().items() if name != "kind"})
