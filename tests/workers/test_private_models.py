"""A private model from order to release: claimed, trained in a child, certified, verified offline; refused where a record differs."""

import math
from functools import cache
from uuid import UUID

import pytest

from core.artifacts import statements
from core.artifacts.errors import InvalidCertificate, NothingToDraw
from core.artifacts.private_models.bundle import unpack_model
from core.artifacts.private_models.certificate import accuracy_of
from core.artifacts.sampling.samples import open_samples
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.charge import charge_of
from core.dp.guarantee import PrivacyGuarantee
from core.ledger import ledger_queries
from core.ledger.repository import payment_of
from core.ledger.reservation import EntryKind
from core.plan.domain.table import TableDomain
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.several_owners.owners import DataOwner
from core.platform.witness.witness_store import publication_key
from tests.models.classifier.small import owners_of_sizes
from tests.workers.in_process import here_and_in_a_child
from tests.workers.outside import require_refused
from tests.workers.support import DOCUMENT, ROWS
from understudy.verifying import private_models
from workers.child import AttemptEnded
from workers.training_child import record_of_model


@cache
def tiny_model(
    declared_size: int = ROWS, owners: tuple[DataOwner, ...] | None = None, **options: object
) -> ModelPlan:
    return make_model_plan(
        model=ModelSpec(options={"steps": 8, "accuracy_share": 0.2} | options),
        guarantee=PrivacyGuarantee(epsilon=2.0, delta=1e-6),
        declared_size=declared_size,
        domain=TableDomain.from_json(DOCUMENT),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
        owners=owners,
    )


@here_and_in_a_child
def test_a_model_becomes_a_release(workshop, capfd, tmp_path, in_child):
    plan = tiny_model()
    job_id = workshop.order(plan)

    workshop.train(job_id, in_child=in_child)

    job, release = workshop.job(job_id), workshop.release(job_id)
    assert release is not None, capfd.readouterr()
    assert job.state == "succeeded"
    certificate = release.certificate
    assert certificate["schema"] == "understudy.model-certificate/1"
    assert certificate["plan_digest"] == job.plan_digest == plan.digest()
    assert certificate["epsilon"] == plan.epsilons.to_json()
    assert 0 <= certificate["accuracy"]["low"] <= certificate["accuracy"]["high"] <= 1
    assert certificate["model_check"]["draws"] == 4096, "it answered rows of the declared domain"
    content = workshop.store.get_bytes(release.bundle_key)
    workshop.verified(content, tmp_path / "bundle.zip")
    assert unpack_model(content).manifest.classes == 2
    with pytest.raises(NothingToDraw):
        open_samples(content)
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert workshop.reservation(job_id).reserved == charge_of(plan.mechanism, delta=1e-6)
    assert job.sealed_randomness_key is None, "the randomness key is destroyed"
    assert workshop.queue.sent_reports == [], "no rows are drawn from a model, so nothing is compared"
    require_refused(
        tmp_path / "bundle.zip",
        {"declared_size": ROWS + 1},
        {"epsilon": {"pld": 0.1, "rdp": 0.1, "reported": 0.1}},
        {"accuracy": None},
        {"executed": {"steps": 8, "releases": {"components": [], "gradients": [[0, 1, 7]], "accuracy": [[0, 1, 1]]}}},
        {"plan": certificate["plan"] | {"noise_multiplier": 0.1}},
        {"unknown": 1},
    )  # fmt: skip


def test_a_model_over_three_owners_is_certified_for_each_ledger(workshop, tmp_path):
    others = [workshop.neighbour() for _ in range(2)]
    job_id, plan = workshop.order_together(tiny_model(declared_size=3 * ROWS), others)

    workshop.train(job_id)

    job, release = workshop.job(job_id), workshop.release(job_id)
    assert (job.state, job.failure_code) == ("succeeded", None)
    certificate = release.certificate
    assert certificate["schema"] == "understudy.federated-model-certificate/1"
    assert workshop.queue.sent_reports == [], "a model has no rows to compare, whoever owns its table"
    assert certificate["epsilon"] == plan.epsilons.to_json()
    charge = charge_of(plan.mechanism, delta=1e-6).to_json()
    assert [one["charge"] for one in certificate["ledgers"]] == [charge] * 3
    epsilon = plan.epsilons.reported
    assert [one["epsilon"] for one in certificate["presence"]] == [epsilon, 2 * epsilon, 3 * epsilon]
    assert certificate["presence"][1]["delta"] == pytest.approx(1e-6 * (1 + math.exp(epsilon)))
    content = workshop.store.get_bytes(release.bundle_key)
    with workshop.database.read_only() as session:
        for owner, stated in zip(plan.owners, certificate["ledgers"], strict=True):
            population = UUID(owner.population_id)
            paid = payment_of(session, job_id, population)
            assert stated["ledger"]["spent"]["hash"] == paid[EntryKind.SPENT].hash.hex()
            assert workshop.store.exists(publication_key(population, job_id)), "noted for every ledger"
    report = workshop.verified(content, tmp_path / "bundle.zip")
    assert "3 ledgers" in next(check.detail for check in report.checks if check.name == "owners")
    first, second, third = certificate["ledgers"]
    for altered in (
        {"ledgers": [first, second]},
        {"ledgers": [second, first, third]},
        {"ledgers": [first, second, third | {"charge": charge | {"epsilon_micros": 1}}]},
        {"dataset_id": second["dataset_id"]},
        {"presence": certificate["presence"][:2]},
    ):
        assert [*private_models.owners_problems(certificate | altered)]
    require_refused(tmp_path / "bundle.zip", {"schema": "understudy.model-certificate/1"})
    assert [*private_models.plan_problems(certificate["plan"])] == [
        "plan/owners: a certificate that names one ledger"
    ]
    fewer = certificate["plan"] | {"owners": certificate["plan"]["owners"][:1]}
    found = [*private_models.owners_problems(certificate | {"plan": fewer})]
    assert len(found) == 3


def test_a_model_whose_owners_weights_are_averaged_is_certified_for_each_ledger(workshop, tmp_path):
    any_owners = owners_of_sizes(ROWS, ROWS)
    averaged = tiny_model(declared_size=2 * ROWS, owners=any_owners, averaging_rounds=4, accuracy_share=0.0)
    job_id, plan = workshop.order_together(averaged, [workshop.neighbour()])

    workshop.train(job_id)

    job, release = workshop.job(job_id), workshop.release(job_id)
    assert (job.state, job.failure_code, job.step) == ("succeeded", None, 1)
    certificate = release.certificate
    assert certificate["schema"] == "understudy.averaged-model-certificate/1"
    assert certificate["executed"]["releases"]["gradients"] == [[0, 1, 16]], "8 steps of each owner"
    assert certificate["epsilon"] == plan.epsilons.to_json()
    charge = charge_of(plan.mechanism, delta=1e-6).to_json()
    assert [one["charge"] for one in certificate["ledgers"]] == [charge] * 2
    workshop.verified(workshop.store.get_bytes(release.bundle_key), tmp_path / "bundle.zip")
    summed = "understudy.federated-model-certificate/1"
    fewer = {"steps": 8, "releases": {"components": [], "gradients": [[0, 1, 8]], "accuracy": []}}
    within = certificate["composition"] | {"within": statements.FEDERATED_WITHIN}
    require_refused(
        tmp_path / "bundle.zip",
        {"schema": summed},
        {"schema": summed, "composition": within},
        {"executed": fewer},
        {"ledgers": certificate["ledgers"][:1]},
    )
    assert [*private_models.steps_problems(certificate | {"executed": fewer})]
    stated = certificate["plan"]
    assert [*private_models.plan_problems(stated, federated=True)] == ["plan/options/averaging_rounds"]
    for options in ({"averaging_rounds": 3}, {"accuracy_share": 0.2}):
        altered = stated | {"options": stated["options"] | options}
        assert [*private_models.plan_problems(altered, federated=True, averaged=True)]


def test_a_failure_among_several_owners_rows_leaves_no_note(workshop):
    others = [workshop.neighbour(colours=("red", "no such colour"))]
    job_id, _ = workshop.order_together(tiny_model(declared_size=2 * ROWS), others)
    workshop.train(job_id)
    assert workshop.job(job_id).failure_code == "training-failed"
    assert not list(workshop.store.list(f"jobs/{job_id}")), "no owner may read rows of another"
    with workshop.database.read_only() as session:
        states = {one.state for one in ledger_queries.reservations_of(session, job_id).values()}
    assert states == {EntryKind.SPENT}


def test_another_worker_may_have_a_module_that_this_one_lacks():
    with pytest.raises(AttemptEnded):
        record_of_model(tiny_model(module="elsewhere", accuracy_share=0.0))


def test_an_accuracy_that_the_plan_does_not_measure_is_refused():
    with pytest.raises(InvalidCertificate):
        accuracy_of(tiny_model(accuracy_share=0.0), 3.0)
    assert accuracy_of(tiny_model(accuracy_share=0.0), None) is None
