"""Two owners train through a board: one killed in a round, the other elsewhere; and what ends a member's job.

Whoever is killed or frozen is a child of its own. Of the others one is trained in this process, which holds torch already.
"""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from core.artifacts.bundle import unpack
from core.artifacts.counts import ReleasedCounts
from core.data.boards import Board
from core.db.tables import Federation, FederationState
from core.dp.charge import charge_of
from core.jobs.visible_progress import charged_steps
from core.ledger.reservation import EntryKind
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.member_plan import MemberPlan
from core.platform.access.directory import KeyDirectory
from core.platform.access.keys import pepper_from
from core.platform.access.roles import Role
from core.platform.settings import Settings
from service.app import create_app
from tests.service.serving import Served, eventually, serving
from tests.workers.outside import require_refused
from tests.workers.support import DOCUMENT, ROWS, Workshop
from understudy.verifying import federations, private_models
from understudy.verifying.bundle_file import open_bundle
from understudy.verifying.counts import count_problems

LOOPBACK = (IPv4Network("127.0.0.0/8"),)


@pytest.fixture
def settings(settings: Settings) -> Settings:
    changed = {"mode": "embedded", "notify_networks": LOOPBACK, "completion_seconds": 0.5}
    return settings.model_copy(update=changed)


@pytest.fixture
def served(settings: Settings) -> Iterator[Served]:
    app = create_app(settings)
    with serving(app) as board:
        yield board
    # The server of this test runs no lifespan, which would close them.
    app.state.context.access.rates.close()
    app.state.context.database.close()


class Federated:
    """A federation of two members on a served board."""

    def __init__(self, workshop: Workshop, served: Served, **order: Any) -> None:
        self.workshop, self.served = workshop, served
        pepper = pepper_from(workshop.settings.master_key_bytes)
        directory = KeyDirectory(pepper=pepper, clock=workshop.clock, entropy=os.urandom)
        with workshop.database.transaction() as session:
            _, key = directory.issue(session, name="analyst", roles=[Role.ANALYST])
        self.key = key.text
        members = [{"name": name, "declared_size": ROWS} for name in ("north", "south")]
        terms = {"name": "two", "domain": DOCUMENT, "epsilon": 2.0, "delta": 1e-6, "members": members}
        model = {"steps": 60, "averaging_rounds": 3}
        answer = self.send("POST", json=terms | {"model": model} | order)
        assert answer.status_code == 201, answer.text
        self.made = answer.json()
        self.id = UUID(self.made["id"])

    def send(
        self, method: str, path: str = "", *, token: str | None = None, **options: Any
    ) -> httpx.Response:
        headers = {"Authorization": f"Bearer {token or self.key}"}
        return httpx.request(method, f"{self.served.url}/v1/federations{path}", headers=headers, **options)

    def plan(self, name: str) -> MemberPlan | ModelPlan:
        plan = self.made["plan"]
        made = ordered_plan_from_json(plan | {"federation": plan["federation"] | {"member": name}})
        assert isinstance(made, MemberPlan | ModelPlan)
        return made

    def order(self, name: str, shop: Workshop, *, token: str | None = None) -> UUID:
        board = Board(url=self.served.url, token=token or self.made["tokens"][name])
        return shop.order(self.plan(name), board=board)

    def states(self) -> dict[tuple[int, int], bytes]:
        with self.workshop.database.read_only() as session:
            rows = session.query(FederationState.round, FederationState.place, FederationState.sha256)
            return {(row[0], row[1]): row[2] for row in rows}


@pytest.fixture
def federated(workshop: Workshop, served: Served) -> Federated:
    return Federated(workshop, served)


def _child_of(job_id: UUID) -> int:
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"workers.runner" in words and str(job_id).encode() in words:
            return int(folder.name)
    raise AssertionError("no child trains the job")


def _certified(federated: Federated, shop: Workshop, name: str, job_id: UUID, path: Path) -> dict[str, Any]:
    """The certificate of a member's job that succeeded, whose bundle is verified at a path; it is handed in."""
    job, release = shop.job(job_id), shop.release(job_id)
    assert (job.state, job.failure_code, job.sealed_federation) == ("succeeded", None, None)
    assert release is not None
    assert shop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT]
    assert shop.reservation(job_id).reserved == charge_of(federated.plan(name).mechanism, delta=1e-6)
    report = shop.verified(shop.store.get_bytes(release.bundle_key), path)
    assert f"member {name} of 2" in next(one.detail for one in report.checks if one.name == "federation")
    sent = federated.send(
        "PUT",
        f"/{federated.id}/certificate",
        token=federated.made["tokens"][name],
        json=release.certificate,
    )
    assert sent.status_code == 204
    return release.certificate


@pytest.mark.long
def test_two_owners_hold_one_model_although_one_was_killed(
    workshop: Workshop, federated: Federated, tmp_path: Path
) -> None:
    shops = {"north": workshop, "south": workshop.neighbour(colours=("red", "green"))}
    jobs = {name: federated.order(name, shop) for name, shop in shops.items()}
    with ThreadPoolExecutor(2) as threads:
        north = threads.submit(shops["north"].train, jobs["north"], in_child=True)
        # North waits for south with its state of the first round on the board, and dies there.
        assert eventually(lambda: (0, 0) in federated.states())
        os.kill(_child_of(jobs["north"]), signal.SIGKILL)
        north.result()
        assert workshop.job(jobs["north"]).state == "queued"
        handed_in = federated.states()
        again = threads.submit(shops["north"].train, jobs["north"], in_child=True)
        shops["south"].train(jobs["south"])
        again.result()
    assert handed_in.items() <= federated.states().items(), "the same bytes were handed in again"
    assert len(federated.states()) == 6
    weights, certificates = set(), {}
    for name, job_id in jobs.items():
        certificates[name] = _certified(federated, shops[name], name, job_id, tmp_path / f"{name}.zip")
        weights.add(certificates[name]["artefacts"]["weights.safetensors"]["sha256"])
    assert len(weights) == 1, "all members hold one network"
    shown = federated.send("GET", f"/{federated.id}").json()
    assert [one["certificate"] for one in shown["members"]] == list(certificates.values())
    _require_no_other_certificate(certificates["north"])


@pytest.mark.parametrize("killed", [False, pytest.param(True, marks=pytest.mark.long)])
def test_two_owners_hold_one_generator_although_one_was_killed(
    workshop: Workshop, served: Served, tmp_path: Path, killed: bool
) -> None:
    """Daily nobody is killed, as in the test above somebody is; south trains in a child."""
    federated = Federated(workshop, served, model=None, generator={"options": {"pretraining_steps": 20}})
    shops = {"north": workshop, "south": workshop.neighbour(colours=("red", "green"))}
    jobs = {name: federated.order(name, shop) for name, shop in shops.items()}
    handed_in = federated.states()
    with ThreadPoolExecutor(2) as threads:
        south = threads.submit(shops["south"].train, jobs["south"], in_child=True)
        if killed:
            north = threads.submit(workshop.train, jobs["north"], in_child=True)
            # North has begun the second round, whose counts wait for an edge of the job, and dies there.
            seen = partial(workshop.job, jobs["north"])
            assert eventually(lambda: (seen().stage, seen().step) == ("measure", 2))
            os.kill(_child_of(jobs["north"]), signal.SIGKILL)
            north.result()
            assert workshop.job(jobs["north"]).state == "queued"
            handed_in = federated.states()
        workshop.train(jobs["north"])
        south.result()
    assert handed_in.items() <= federated.states().items(), "the same bytes were handed in again"
    assert len(federated.states()) == 4, "two rounds"
    weights, certificates = set(), {}
    for name, job_id in jobs.items():
        certificates[name] = _certified(federated, shops[name], name, job_id, tmp_path / f"{name}.zip")
        weights.add(certificates[name]["artefacts"]["counts.bin"]["sha256"])
        weights.add(certificates[name]["artefacts"]["generator.safetensors"]["sha256"])
    assert len(weights) == 2, "all members hold one generator and one set of sums"
    released = ReleasedCounts.from_bytes(unpack((tmp_path / "south.zip").read_bytes()).counts or b"")
    with shops["south"].database.read_only() as session:
        kept = [one for (one,) in session.query(FederationState.content) if one is not None]
    cells = sum(one.cells.size for one in released.tables if len(one.columns) > 1)
    assert [len(one) for one in kept] == [8 * cells] * 2, "what leaves is one whole number for each cell"
    _require_no_other_counts(certificates["north"], tmp_path / "north.zip")


def _require_no_other_counts(certificate: dict[str, Any], path: Path) -> None:
    assert certificate["schema"] == "understudy.member-certificate/1"
    assert certificate["executed"]["releases"]["anchor"] == [[0, 1, 2]], "the own counts"
    plan = certificate["plan"]
    own = [row["noise_std"] for row in certificate["mechanisms"]]
    assert own == [plan["anchor"]["noise_multiplier"] * plan["anchor"]["sensitivity"]] * 2
    alone = {name: value for name, value in plan.items() if name not in {"federation", "kind"}}
    members = plan["federation"]["members"]
    fewer = plan["federation"] | {"members": members[:1]}
    more = plan["federation"] | {"members": [*members, {"name": "east", "declared_size": 1}]}
    quieter = plan["anchor"] | {"noise_multiplier": plan["anchor"]["noise_multiplier"] / 2}
    require_refused(
        path,
        {"schema": "understudy.certificate/2"},
        {"declared_size": ROWS},
        {"plan": plan | {"anchor": quieter}},
        {"mechanisms": certificate["mechanisms"][:1]},
        {"charge": certificate["charge"] | {"epsilon_micros": 1}},
        {"ledgers": []},
    )
    for changed in (
        alone, plan | {"federation": fewer}, plan | {"declared_size": ROWS}, plan | {"steps": 1},
        plan | {"anchor": None}, plan | {"reused": []},
    ):  # fmt: skip
        assert [*federations.counts_problems(certificate | {"plan": changed})]
    opened = open_bundle(path)
    assert not [*count_problems(opened, plan)]
    for changed in (alone, plan | {"federation": more}, plan | {"anchor": quieter}):
        assert "standard deviation" in next(count_problems(opened, changed)), "of the noise of all members"


@pytest.mark.long
def test_a_member_that_vanishes_leaves_the_others_charged_for_their_counts(
    workshop: Workshop, served: Served
) -> None:
    federated = Federated(workshop, served, model=None, generator={})
    job_id = federated.order("north", workshop)
    with ThreadPoolExecutor(1) as threads:
        ended = threads.submit(workshop.train, job_id, in_child=True)
        assert eventually(lambda: (0, 0) in federated.states())
        with workshop.database.transaction() as session:
            session.get_one(Federation, federated.id).round_seconds = 0.1
        ended.result()
    job, kept = workshop.job(job_id), workshop.reservation(job_id)
    assert (job.state, job.failure_code) == ("failed", "member-vanished")
    assert federated.send("GET", f"/{federated.id}").json()["vanished"] == "south"
    assert workshop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    assert kept.in_force == kept.reserved, "what was handed in stays charged, and so does the second round"


def _require_no_other_certificate(certificate: dict[str, Any]) -> None:
    assert certificate["schema"] == "understudy.member-model-certificate/1"
    assert certificate["executed"]["releases"]["gradients"] == [[0, 1, 60]], "the own steps"
    plan = certificate["plan"]
    alone = {name: value for name, value in plan.items() if name != "federation"}
    fewer = plan["federation"] | {"members": plan["federation"]["members"][:1]}
    for changed in (alone, plan | {"federation": fewer}, plan | {"declared_size": ROWS}):
        assert [*federations.problems(certificate | {"plan": changed})]
    assert [*private_models.plan_problems(plan, averaged=True)]
    assert not [*private_models.plan_problems(plan, averaged=True, member=True)]


@pytest.mark.long
def test_a_member_that_freezes_in_a_round_is_refused_when_it_thaws(
    workshop: Workshop, federated: Federated
) -> None:
    shops = {"north": workshop, "south": workshop.neighbour(colours=("red", "green"))}
    jobs = {name: federated.order(name, shop) for name, shop in shops.items()}
    with ThreadPoolExecutor(2) as threads:
        ended = {
            name: threads.submit(shop.train, jobs[name], in_child=name == "south")
            for name, shop in shops.items()
        }
        # South has begun its second round, whose state waits for an edge of the job.
        assert eventually(lambda: shops["south"].job(jobs["south"]).steps_begun == 40)
        child = _child_of(jobs["south"])
        os.kill(child, signal.SIGSTOP)
        assert eventually(lambda: (1, 0) in federated.states())
        handed_in = federated.states()
        assert (1, 1) not in handed_in, "south froze before it had handed in"
        with workshop.database.transaction() as session:
            session.get_one(Federation, federated.id).round_seconds = 0.1
        ended["north"].result()
        shown = federated.send("GET", f"/{federated.id}").json()
        assert (shown["state"], shown["vanished"]) == ("failed", "south")
        _require_charged_for_what_had_begun(workshop, jobs["north"], federated.plan("north"))
        os.kill(child, signal.SIGCONT)
        ended["south"].result()
    assert federated.states() == handed_in, "the late state is refused"
    job = shops["south"].job(jobs["south"])
    # How long the own steps take depends on rows, so a member that is late itself is charged in full, once.
    assert (job.state, job.failure_code, job.steps_begun) == ("failed", "training-failed", 40)
    assert shops["south"].movements(jobs["south"]) == [EntryKind.RESERVED, EntryKind.SPENT]
    kept = shops["south"].reservation(jobs["south"])
    assert kept.in_force == kept.reserved == charge_of(federated.plan("south").mechanism, delta=1e-6)
    _require_charged_for_what_had_begun(workshop, jobs["north"], federated.plan("north"))


def _require_charged_for_what_had_begun(shop: Workshop, job_id: UUID, plan: MemberPlan | ModelPlan) -> None:
    job = shop.job(job_id)
    assert (job.state, job.failure_code, job.steps_begun) == ("failed", "member-vanished", 40)
    assert shop.movements(job_id) == [EntryKind.RESERVED, EntryKind.SPENT, EntryKind.SETTLED]
    kept = shop.reservation(job_id)
    answered = charge_of(plan.executed(40), delta=1e-6)
    rounded_up = charge_of(plan.executed(charged_steps(40, 60)), delta=1e-6)
    assert answered.rdp_micros <= kept.in_force.rdp_micros < kept.reserved.rdp_micros
    # The stopping time may depend on the rounds, which the epsilon of a prefix does not bound.
    assert kept.in_force == replace(
        rounded_up,
        epsilon_micros=kept.reserved.epsilon_micros,
        delta_femtos=kept.reserved.delta_femtos,
    )
