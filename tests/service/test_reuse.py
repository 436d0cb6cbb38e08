"""Quotes and orders that take over the counts of earlier releases of their dataset."""

from functools import cache
from typing import Any
from uuid import UUID, uuid4

import pytest

from core.artifacts.counts import ReleasedCounts
from core.artifacts.packing import pack
from core.db.tables import Dataset, Job, Release
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from core.platform.access.roles import Principal, Role
from service.planning.facts import DatasetFacts
from service.quotes.reuse import StoredCounts, stored_counts
from tests.core.artifacts.certified import Certified, certified_plan, counts_for
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.test_obtaining import wired
from tests.service.world import CSV, NOON, World, require_problem
from understudy.cli.releases import known_lines
from understudy.wording.quotes import quote_lines

COUNTED = {"critic": False}
SIZE = 1000


@cache
def certified(epsilon: float = 1.0, *, share: float | None = None) -> Certified:
    """A release of the world's usual dataset, with a screening of this share."""
    plan = make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=COUNTED | {"anchor_screening_share": share}),
        guarantee=PrivacyGuarantee(epsilon=epsilon, delta=1e-6),
        declared_size=SIZE,
        domain=TableDomain.from_json(DOMAIN),
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )
    return certified_plan(plan, counts_for(plan))


def publish(world: World, dataset_id: str, made: Certified | None = None) -> str:
    """A release of the dataset, as a worker leaves it. Returns its id."""
    made = made or certified()
    ordered = world.order(dataset_id, options=COUNTED, reuse=False)
    assert ordered.status_code == 202, ordered.text
    release_id = uuid4()
    key = f"releases/{release_id}/bundle.zip"
    world.store.put_bytes(key, pack(made.bundle, readme=made.readme))
    with world.database.transaction() as session:
        session.add(
            Release(
                id=release_id,
                job_id=UUID(ordered.json()["id"]),
                dataset_id=UUID(dataset_id),
                bundle_key=key,
                certificate=made.certificate,
                created_at=NOON,
            )
        )
    return str(release_id)


def quote(world: World, dataset_id: str, **changes: object) -> dict[str, Any]:
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": COUNTED} | changes
    answer = world.analyst.post("/v1/quotes", body)
    assert answer.status_code == 200, answer.text
    document: dict[str, Any] = answer.json()
    return document


def plan_of(world: World, job_id: str) -> Plan:
    with world.database.read_only() as session:
        return Plan.from_json(session.get_one(Job, UUID(job_id)).plan)


@pytest.fixture
def dataset_id(world: World) -> str:
    dataset_id = world.ready()
    world.set_budget(dataset_id, epsilon=20.0)
    return dataset_id


def test_a_quote_says_what_earlier_counts_are_worth_and_the_order_takes_them_over(
    world: World, dataset_id: str
) -> None:
    before = quote(world, dataset_id)
    assert "reused" not in before
    release_id = publish(world, dataset_id)
    told = quote(world, dataset_id)
    reused = told["reused"]
    assert reused["releases"] == [{"release_id": release_id, "holds": [], "counts": "columns-and-pairs"}]
    assert reused["epsilon_alone"] == pytest.approx(1.0, rel=1e-3)
    assert reused["epsilon_as_if"] == pytest.approx(1.46, abs=0.03)
    assert told["charge"] == before["charge"], "it costs nothing"
    job = world.order(dataset_id, options=COUNTED).json()
    plan = plan_of(world, job["id"])
    assert plan.digest() == told["plan_digest"]
    (one,) = plan.reused
    assert one.release_id == release_id
    assert one.counts_sha256 == certified().certificate["artefacts"]["counts.bin"]["sha256"]


def test_pairs_that_a_release_chose_are_taken_over_unless_the_order_states_a_share(
    world: World, dataset_id: str
) -> None:
    publish(world, dataset_id, certified(2.0, share=0.05))
    (reused,) = quote(world, dataset_id)["reused"]["releases"]
    assert reused["counts"] == "columns-and-pairs"
    plan = plan_of(world, world.order(dataset_id, options=COUNTED).json()["id"])
    assert plan.kept_groups is not None
    assert plan.kept_groups.screened
    assert plan.idpgan_options.anchor_screening_share == 0
    for share in (0.0, 0.05):
        stated = COUNTED | {"anchor_screening_share": share}
        (reused,) = quote(world, dataset_id, options=stated)["reused"]["releases"]
        assert reused["counts"] == "columns"
        plan = plan_of(world, world.order(dataset_id, options=stated).json()["id"])
        assert plan.kept_groups is None
        assert plan.idpgan_options.anchor_screening_share == share


def test_the_number_of_chosen_pairs_is_not_shown(world: World, dataset_id: str) -> None:
    publish(world, dataset_id, certified(share=0.05))
    (found,) = world.analyst.get(f"/v1/datasets/{dataset_id}/known-counts").json()["releases"]
    assert found["pairs"] is None
    assert "4 columns and chosen pairs" in "".join(known_lines({"releases": [found]}))


def test_who_wants_none_of_it_says_so(world: World, dataset_id: str) -> None:
    before = quote(world, dataset_id)["plan_digest"]
    publish(world, dataset_id)
    assert quote(world, dataset_id, reuse=False)["plan_digest"] == before
    job = world.order(dataset_id, options=COUNTED, reuse=False).json()
    assert plan_of(world, job["id"]).reused == ()


def test_the_key_of_an_order_names_whether_it_reuses(world: World, dataset_id: str) -> None:
    first = world.order(dataset_id, key="a" * 20, options=COUNTED)
    assert world.order(dataset_id, key="a" * 20, options=COUNTED, reuse=True).json() == first.json()
    other = world.order(dataset_id, key="a" * 20, options=COUNTED, reuse=False)
    require_problem(other, code="idempotency-key-reused")


def test_releases_of_other_datasets_are_never_taken_over(world: World, dataset_id: str) -> None:
    """Not even of those that the analyst may see: other rows."""
    other = world.ready(name="other wards")
    world.set_budget(other, epsilon=20.0)
    publish(world, other)
    assert "reused" not in quote(world, dataset_id)
    assert "reused" in quote(world, other)


def test_a_release_whose_bundle_is_gone_is_left_out(world: World, dataset_id: str) -> None:
    kept, lost = publish(world, dataset_id, certified(0.5)), publish(world, dataset_id)
    assert [one["release_id"] for one in quote(world, dataset_id)["reused"]["releases"]] == [lost, kept]
    world.store.delete(f"releases/{lost}/bundle.zip")
    assert [one["release_id"] for one in quote(world, dataset_id)["reused"]["releases"]] == [kept]
    world.store.delete(f"releases/{kept}/bundle.zip")
    assert "reused" not in quote(world, dataset_id)


def test_counts_of_an_earlier_version_are_never_taken_over(world: World, dataset_id: str) -> None:
    """One population and one domain, and other rows."""
    publish(world, dataset_id)
    version = world.ready(parent_dataset_id=dataset_id)
    assert world.analyst.get(f"/v1/datasets/{version}/known-counts").json() == {"releases": []}
    assert "reused" not in quote(world, version)
    assert plan_of(world, world.order(version, options=COUNTED).json()["id"]).reused == ()
    assert "reused" in quote(world, dataset_id)


def test_an_analyst_who_may_not_see_a_dataset_gets_no_quote_that_reuses_its_counts(
    world: World, dataset_id: str
) -> None:
    publish(world, dataset_id)
    body = {"dataset_id": dataset_id, "epsilon": 1.0, "delta": 1e-6, "options": COUNTED}
    require_problem(world.caller(Role.ANALYST).post("/v1/quotes", body), status=404, code="dataset-not-found")


def test_an_analyst_who_may_not_read_a_release_neither_sees_nor_reuses_its_counts(
    world: World, dataset_id: str
) -> None:
    """An analyst of a new version alone may not read what was released of the version before, nor who has left the dataset."""
    release_id = publish(world, dataset_id)
    version = world.declare(parent_dataset_id=dataset_id)
    assert world.upload(version, CSV).status_code == 201
    colleague = world.caller(Role.ANALYST)
    for one in (dataset_id, version):
        world.admit(one, colleague)
    world.give(version, colleague)
    body = {"dataset_id": version, "epsilon": 0.5, "delta": 1e-6, "options": COUNTED}

    def reusable() -> list[StoredCounts]:
        with world.database.read_only() as session:
            facts = DatasetFacts.of(session.get_one(Dataset, UUID(dataset_id)))
            return list(stored_counts(session, facts, principal))

    roles = frozenset({Role.ANALYST})
    principal = Principal(id=colleague.principal_id, key_id=colleague.principal_id, roles=roles)
    assert [one.counts.release_id for one in reusable()] == [release_id], "whoever reads it may reuse it"
    left = world.owner.delete(f"/v1/datasets/{dataset_id}/members/{colleague.principal_id}")
    assert left.status_code == 200, left.text

    require_problem(colleague.get(f"/v1/releases/{release_id}"), status=404, code="release-not-found")
    assert reusable() == []
    require_problem(
        colleague.get(f"/v1/datasets/{dataset_id}/known-counts"), status=404, code="dataset-not-found"
    )
    assert colleague.get(f"/v1/datasets/{version}/known-counts").json() == {"releases": []}
    told = colleague.post("/v1/quotes", body)
    assert told.status_code == 200, told.text
    assert release_id not in told.text
    ordered = world.order(version, caller=colleague, epsilon=0.5, options=COUNTED)
    assert ordered.status_code == 202, ordered.text
    assert plan_of(world, ordered.json()["id"]).reused == ()
    for answer in (
        colleague.post("/v1/quotes", body | {"dataset_id": dataset_id}),
        world.order(dataset_id, caller=colleague, options=COUNTED),
    ):
        require_problem(answer, status=404, code="dataset-not-found")


@pytest.mark.parametrize(
    "spoiled",
    [
        {"schema": "understudy.certificate/1"},
        {"plan": {}},
        {"artefacts": {}},
        {"data_domain": {"sha256": "0" * 64}},
    ],
)
def test_what_is_no_certificate_of_counts_of_this_domain_is_left_out(
    world: World, dataset_id: str, spoiled: dict[str, Any]
) -> None:
    release_id = publish(world, dataset_id)
    with world.database.transaction() as session:
        row = session.get_one(Release, UUID(release_id))
        row.certificate = row.certificate | spoiled
    assert "reused" not in quote(world, dataset_id)


def test_plans_without_counts_of_their_own_take_none_over(world: World, dataset_id: str) -> None:
    publish(world, dataset_id)
    assert "reused" not in quote(world, dataset_id, options={"anchor": False, "steps": 40})


def test_releases_say_what_they_already_answer_the_most_precise_first(world: World, dataset_id: str) -> None:
    path = f"/v1/datasets/{dataset_id}/known-counts"
    assert world.analyst.get(path).json() == {"releases": []}
    vague, sharp = publish(world, dataset_id), publish(world, dataset_id, certified(8.0))
    found = world.analyst.get(path).json()["releases"]
    assert [one["release_id"] for one in found] == [sharp, vague]
    assert [one["epsilon_as_if"] for one in found] == pytest.approx([8.0, 1.0], rel=1e-3)
    assert found[1]["by_class"] is None
    first = found[0]
    assert (first["columns"], first["pairs"], first["by_class"], first["holds"]) == (4, 6, "sick", [])
    counts = ReleasedCounts.from_bytes(certified(8.0).bundle.counts or b"")
    stds = [table.noise_std for table in counts.tables]
    assert min(stds[:4]) < first["column_std"] < max(stds[:4])
    assert min(stds[4:]) < first["pair_std"] < max(stds[4:])
    assert max(counts.group_counts) <= max(first["most_groups"], 2)


def test_public_facts_are_shown_to_those_who_may_read_them(world: World, dataset_id: str) -> None:
    publish(world, dataset_id)
    path = f"/v1/datasets/{dataset_id}/known-counts"
    for caller in (world.analyst, world.owner, world.admin):
        assert len(caller.get(path).json()["releases"]) == 1
    require_problem(world.stranger.get(path), status=404, code="dataset-not-found")
    require_problem(world.caller(Role.ANALYST).get(path), status=404, code="dataset-not-found")
    require_problem(world.caller(Role.AUDITOR).get(path), status=403, code="role-missing")


def test_client_and_command_say_it_in_words(world: World, dataset_id: str) -> None:
    publish(world, dataset_id)
    with wired(world, analyst=world.analyst).client("analyst") as client:
        known = known_lines(client.read_known_counts(dataset_id))
        told = quote_lines(client.ask_quote(dataset_id, epsilon=1.0, delta=1e-6, options=COUNTED))
        fresh = quote_lines(
            client.ask_quote(dataset_id, epsilon=1.0, delta=1e-6, options=COUNTED, reuse=False)
        )
        publish(world, dataset_id, certified(8.0))
        sharper = known_lines(client.read_known_counts(dataset_id))
    assert "equivalent to spending epsilon 1.00 on counts" in known[0]
    assert "  4 columns and 6 pairs" in known
    assert "  4 columns and 6 pairs, also within each class of 'sick'" in sharper
    assert any("equivalent to spending epsilon 1.4" in line and "instead of 1.00" in line for line in told)
    assert not any("equivalent to" in line for line in fresh)
    assert known_lines({"releases": []}) == ["no release of this dataset holds counts that you may read"]
