"""A deployment in the middle of its life, for eyes and browsers: datasets, requests, jobs in every state, releases."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from core.artifacts.bundle import COUNTS
from core.artifacts.packing import pack
from core.db.tables import Job, Release
from core.ledger import ledger
from core.platform.health.signs import give_sign
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import certified
from tests.service.world import World

DAY = 86400


@dataclass(frozen=True, kw_only=True)
class Scene:
    """Ids of what there is to look at."""

    dataset_id: str
    declared_id: str
    request_id: str
    queued_id: str
    running_id: str
    failed_id: str
    release_id: str
    pictures_id: str
    images_id: str


def lived_in(world: World) -> Scene:
    """Make one."""
    for who, name in ((world.owner, "Hospital registry"), (world.analyst, "Research group, north")):
        named = world.admin.put(f"/v1/principals/{who.principal_id}", {"name": name})
        assert named.status_code == 200, named.text
    dataset_id = world.ready(name="Admissions 2020", declared_size=48_000)
    world.set_budget(dataset_id, epsilon=3.0, delta=1e-5)
    for name in ("Intensive care 2019", "Prescriptions, north", "Ward surveys"):
        # Never two at one moment: lists are in the order of time.
        world.clock.advance(seconds=600)
        declared_id = world.declare(name=name, declared_size=12_500)
    ended = _order(world, dataset_id, 0.5)
    _train(world, ended, state="succeeded")
    release_id = _publish(world, ended)
    world.clock.advance(seconds=12 * DAY)
    failed = _order(world, dataset_id, 0.25)
    _train(world, failed, state="failed")
    world.clock.advance(seconds=5 * DAY)
    running = _order(world, dataset_id, 0.4)
    _train(world, running, state="running")
    world.clock.advance(seconds=600)
    queued = _order(world, dataset_id, 0.3)
    world.clock.advance(seconds=600)
    asked = world.analyst.post(
        f"/v1/datasets/{dataset_id}/budget-requests",
        {
            "epsilon": 0.5,
            "delta": 2e-6,
            "purpose": "One generator for the course on readmissions, spring term.",
        },
    ).json()
    with world.database.transaction() as session:
        give_sign(session, name="worker on north-1", role="worker", at=world.clock.now())
        give_sign(session, name="reports@north-1", role="reports", at=world.clock.now())
        give_sign(session, name="upkeep on north-1", role="upkeep", at=world.clock.now())
    world.clock.advance(seconds=600)
    drawn = _order(world, dataset_id, 0.2)
    _train(world, drawn, state="succeeded")
    images = world.declare(name="Chest radiographs", domain=image_stand_in.domain(), declared_size=30_000)
    return Scene(
        pictures_id=_publish(world, drawn, images),
        images_id=images,
        dataset_id=dataset_id,
        declared_id=declared_id,
        request_id=asked["id"],
        queued_id=queued,
        running_id=running,
        failed_id=failed,
        release_id=release_id,
    )


def _order(world: World, dataset_id: str, epsilon: float) -> str:
    answer = world.order(dataset_id, epsilon=epsilon, delta=5e-7)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def _train(world: World, job_id: str, *, state: str) -> None:
    """Leave a job as a worker would have."""
    begun = world.clock.now()
    with world.database.transaction() as session:
        ledger.spend(session, UUID(job_id), fence=1, clock=world.clock)
        job = session.get_one(Job, UUID(job_id))
        job.state, job.started_at, job.fence = state, begun, 1
        if state == "running":
            job.shown_stage, job.shown_step = "train", 20
            job.stage, job.step, job.total_steps = "train", 20, 40
            job.lease_expires_at = begun + timedelta(days=3650)
            return
        job.finished_at, job.sealed_randomness_key = begun + timedelta(minutes=9), None
        job.failure_code = "training-failed" if state == "failed" else None


def _publish(world: World, job_id: str, images_of: str | None = None) -> str:
    """A release of rows, or of images where a dataset of images is named."""
    release_id = uuid4()
    key = f"releases/{release_id}/bundle.zip"
    released = certified({"steps": 40}).bundle
    made, certificate = released, released.certificate
    if images_of is not None:
        made = image_stand_in.bundle()
        listed = {name: file for name, file in certificate["artefacts"].items() if name != COUNTS}
        certificate = certificate | {"artefacts": listed}
    world.store.put_bytes(key, pack(made, readme="read me"))
    with world.database.transaction() as session:
        job = session.get_one(Job, UUID(job_id))
        session.add(
            Release(
                id=release_id,
                job_id=job.id,
                dataset_id=job.dataset_id if images_of is None else UUID(images_of),
                bundle_key=key,
                certificate=certificate,
                created_at=world.clock.now(),
            )
        )
    return str(release_id)
