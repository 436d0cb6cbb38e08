"""What the scene lacks of the newer pages: reports on its release, an endpoint that was told things, grants that ended."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from core.artifacts.reports.owner_files import write_report
from core.db.tables import Dataset, OwnerReport
from core.platform.access.roles import Role
from tests.dashboard.scene import Scene
from tests.service.test_federations import ORDER, BoardOf
from tests.service.test_several_owners import neighbour, order_of
from tests.service.utility_reports import charged_report, name_generator
from tests.service.world import World

HOOK = {"channel": "webhook", "target": "https://hooks.example.org/understudy/registry"}


@dataclass(frozen=True, kw_only=True)
class Newer:
    """Ids of what there is to look at besides."""

    charged_id: str
    endpoint_id: str
    grant_id: str
    revoked_id: str
    doomed_id: str
    joint_id: str
    federation_id: str
    late_id: str
    key_id: str


def enrich(world: World, scene: Scene) -> Newer:
    """Make it, on a scene that was lived in."""
    name_generator(world, scene.release_id)
    charged_id = charged_report(world, scene.release_id)
    endpoint = world.owner.post("/v1/notifications/endpoints", HOOK).json()
    colleague = world.caller(Role.ANALYST)
    world.admit(scene.dataset_id, colleague)
    revoked_id = world.give(scene.dataset_id, colleague, epsilon=0.75, delta=2e-6)
    assert world.admin.delete(f"/v1/grants/{revoked_id}").status_code == 200
    world.give(scene.dataset_id, colleague, epsilon=0.4, expires_at=world.clock.now() - timedelta(days=1))
    grants = world.analyst.get("/v1/grants", params={"state": "open"}).json()["items"]
    return Newer(
        charged_id=charged_id,
        endpoint_id=endpoint["id"],
        grant_id=grants[-1]["id"],
        revoked_id=revoked_id,
        key_id=world.analyst.get("/v1/keys").json()["items"][0]["id"],
        doomed_id=world.declare(name="Old survey", declared_size=900),
        joint_id=_joint(world, scene),
        late_id=_federation(world, "Wards, first attempt", late=True),
        federation_id=_federation(world, "Readmissions of three regions"),
    )


def _joint(world: World, scene: Scene) -> str:
    """A job over the scene's dataset and one of another owner."""
    theirs = neighbour(world, name="Admissions 2020, west")
    world.admin.put(f"/v1/datasets/{theirs}/budget", {"epsilon": 2.0, "delta": 1e-5, "reason": "agreed"})
    world.give(theirs)
    order = order_of(scene.dataset_id, theirs, epsilon=0.1, delta=1e-7)
    answer = world.analyst.post("/v1/jobs", order, headers={"Idempotency-Key": "joint"})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def _federation(world: World, name: str, *, late: bool = False) -> str:
    """A federation in its second round, which one of three members has handed in; or one whose second round came too late."""
    members = [{"name": each, "declared_size": 20_000} for each in ("north", "south", "west")]
    terms = {"name": name, "members": members, "round_seconds": 60.0 if late else 3600.0}
    board = BoardOf(world, world.analyst.post("/v1/federations", ORDER | terms).json())
    for number, handed_in in enumerate((("north", "south", "west"), ("west",))):
        for member in handed_in:
            assert board.put(member, number, member.encode()).status_code == 204
    if late:
        world.clock.advance(seconds=120)
        assert board.shown()["state"] == "failed"
    return str(board.made["id"])


def make_report(
    world: World, report_id: UUID, text: str = "<!doctype html><title>A report</title><p>for the owner</p>"
) -> None:
    """Leave an owner report as a worker would have."""
    with world.database.transaction() as session:
        row = session.get_one(OwnerReport, report_id)
        key = f"datasets/{row.dataset_id}/report-{row.id}-1.sealed"
        wrapped = session.get_one(Dataset, row.dataset_id).wrapped_data_key
        assert wrapped is not None
        master_keys = world.app.state.context.settings.master_keys
        data_key = master_keys.unwrap(wrapped, context=f"dataset:{row.dataset_id}")
        write_report(world.store, key, text, data_key=data_key)
        row.state, row.object_key, row.finished_at = "made", key, world.clock.now()
