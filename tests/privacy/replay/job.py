"""One job from the declaration of a dataset to a drawn sample, through a whole deployment."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from core.plan.plan import Plan
from models.releases import ReleaseRecorder
from tests.privacy.replay.deployment import Deployment, Place
from tests.privacy.replay.evidence import Evidence, masked_metrics
from tests.privacy.replay.exporting import Exporter, one_product
from tests.privacy.seam import Recorder, Replayer, require_stated, require_within
from tests.privacy.whole_job import DECLARED_SIZE, SMALL, csv_of, declared
from tests.service.test_uploads import digest_of
from tests.service.world import Caller

PART_BYTES = 3000
"""How many parts a file has is told by its size, and seen by the operator (docs/leak-channels.md); here it is two."""
VIEWS = (
    "/v1/datasets/{dataset}", "/v1/datasets", "/v1/datasets/{dataset}/budget", "/v1/datasets/{dataset}/ledger",
    "/v1/datasets/{dataset}/grants", "/v1/jobs", "/v1/jobs/{job}", "/v1/releases", "/v1/releases/{release}",
    "/v1/releases/{release}/certificate", "/v1/releases/{release}/bundle", "/v1/releases/{release}/samples?rows=60",
    "/v1/health",
)  # fmt: skip
"""What everybody but the owner asks for at the end."""


@dataclass(frozen=True)
class Job:
    """What is ordered; public.

    Attributes:
        options: Of the synthesizer, beside small sizes.
        target: Whether a target is declared.
        by_person: Whether a unit column is declared.
        in_parts: Whether the file is sent in parts.
        kill_at: Checkpoints, counted over all attempts, at which the child dies before it has saved.
        export: Makes the generator's network.
    """

    options: dict[str, Any] = field(default_factory=dict)
    target: bool = True
    by_person: bool = False
    in_parts: bool = False
    kill_at: tuple[int, ...] = ()
    export: Exporter = one_product

    @property
    def chosen(self) -> dict[str, Any]:
        return SMALL | {"steps": 6, "pretraining_steps": 3} | self.options


def whole_job(
    place: Place, rows: Sequence[str], job: Job, releases: ReleaseRecorder
) -> tuple[Evidence, Plan]:
    """Run the job. Returns what it left, and its plan."""
    content = csv_of(rows)
    domain = declared(target=job.target, by_person=job.by_person).to_json()
    with Deployment(place, releases, export=job.export, kill_at=job.kill_at).running() as deployment:
        world, evidence = deployment.world, deployment.evidence
        dataset = world.declare(domain=domain, declared_size=DECLARED_SIZE)
        send(world.owner, dataset, content, in_parts=job.in_parts)
        world.set_budget(dataset, epsilon=4.0)
        deployment.snapshot("uploaded")
        answer = world.order(dataset, key="an-order", epsilon=3.0, options=job.chosen)
        assert answer.status_code == 202, answer.text
        deployment.snapshot("ordered")
        deployment.work()
        state = world.analyst.get(f"/v1/jobs/{answer.json()['id']}").json()
        assert state["state"] == "succeeded", state
        names = {"dataset": dataset, "job": state["id"], "release": state["release_id"]}
        for view in VIEWS:
            evidence.answers += [
                ask(who, getattr(world, who), view.format(**names)) for who in ("analyst", "admin")
            ]
        evidence.metrics = masked_metrics(world.client.get("/metrics").text)
        deployment.snapshot("seen")
        plan = Plan.from_json(stored_plan(deployment))
    return evidence, plan


def send(owner: Caller, dataset: str, content: bytes, *, in_parts: bool) -> None:
    """Send the owner's file, of which any rows may be refused. The answers are the owner's: their status is looked at."""
    if not in_parts:
        answer = owner.post(
            f"/v1/datasets/{dataset}/rows",
            content=content,
            headers={"Content-Type": "text/csv"},
            params={"max_refused": 1},
        )
        assert answer.status_code == 201, answer.text
        return
    order = {"bytes": len(content), "content_type": "text/csv"}
    answer = owner.post(f"/v1/datasets/{dataset}/uploads", order)
    assert answer.status_code == 201, answer.text
    upload = answer.json()["id"]
    for number in range(answer.json()["parts_total"]):
        piece = content[number * PART_BYTES : (number + 1) * PART_BYTES]
        answer = owner.send(
            "PUT", f"/v1/uploads/{upload}/parts/{number + 1}", content=piece, headers=digest_of(piece)
        )
        assert answer.status_code == 200, answer.text
    whole = {"sha256": hashlib.sha256(content).hexdigest(), "max_refused": 1}
    answer = owner.post(f"/v1/uploads/{upload}/complete", whole)
    assert answer.status_code == HTTPStatus.OK, answer.text


def ask(name: str, caller: Caller, path: str) -> tuple[str, str, int, dict[str, str], bytes]:
    """One answer, whole."""
    answer = caller.get(path)
    return (name, path, answer.status_code, dict(answer.headers), answer.content)


def stored_plan(deployment: Deployment) -> dict[str, Any]:
    from core.db.tables import Job as JobRow

    with deployment.world.database.read_only() as session:
        return dict(session.query(JobRow).one().plan)


@dataclass(frozen=True)
class Pair:
    """Two jobs on neighbouring tables: the first recorded, the second with the first one's releases."""

    before: Evidence
    after: Evidence
    recorder: Recorder
    replayer: Replayer
    plan: Plan


def neighbours(places: Sequence[Place], tables: Sequence[Sequence[str]], job: Job) -> Pair:
    """Run the job on the first table and record its releases; replay them on the second."""
    recorder = Recorder()
    before, plan = whole_job(places[0], tables[0], job, recorder)
    return replayed(places[1], tables[1], job, recorded=(before, recorder, plan))


def replayed(
    place: Place, rows: Sequence[str], job: Job, *, recorded: tuple[Evidence, Recorder, Plan]
) -> Pair:
    """Replay a recorded job on a neighbouring table, and hold what moved against what was paid."""
    before, recorder, plan = recorded
    replayer = Replayer(recorder)
    after, second_plan = whole_job(place, rows, job, replayer)
    assert second_plan == plan, "a plan is made of public facts"
    require_stated(recorder, plan)
    require_within(replayer, recorder, plan)
    before.seam, after.seam = recorder.calls, replayer.calls
    return Pair(before=before, after=after, recorder=recorder, replayer=replayer, plan=plan)
