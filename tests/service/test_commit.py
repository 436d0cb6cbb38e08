"""A commit that fails is never answered with success."""

from sqlalchemy import text

from core.db.tables import Dataset, IdempotencyKey, Job
from tests.core.artifacts.stand_in import DOMAIN
from tests.service.world import World, require_problem

# Raised by Postgres itself, at commit, after the endpoint has returned.
FAIL_AT_COMMIT = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'secret of the database'; END $$;
CREATE CONSTRAINT TRIGGER refuse AFTER INSERT OR UPDATE ON {table} DEFERRABLE INITIALLY DEFERRED
FOR EACH ROW EXECUTE FUNCTION refuse();
"""


def fail_at_commit(world: World, table: str) -> None:
    with world.database.transaction() as session:
        session.execute(text(FAIL_AT_COMMIT.format(table=table)))


def test_a_dataset_whose_commit_fails_is_not_created(world: World) -> None:
    fail_at_commit(world, "datasets")
    answer = world.owner.post("/v1/datasets", {"name": "a", "domain": DOMAIN, "declared_size": 9})
    require_problem(answer, status=500)
    assert "secret" not in answer.text
    with world.database.read_only() as session:
        assert session.query(Dataset).count() == 0


def test_an_order_whose_commit_fails_is_not_accepted_announced_or_remembered(world: World) -> None:
    dataset_id = world.ready()
    fail_at_commit(world, "jobs")
    require_problem(world.order(dataset_id, key="one"), status=500)
    assert world.queue.sent == []
    with world.database.read_only() as session:
        assert session.query(Job).count() == 0
        assert session.query(IdempotencyKey).count() == 0
    assert world.movements(dataset_id) == []
    with world.database.transaction() as session:
        session.execute(text("DROP TRIGGER refuse ON jobs"))
    assert world.order(dataset_id, key="one").status_code == 202


def test_a_budget_whose_commit_fails_is_not_set(world: World) -> None:
    dataset_id = world.declare()
    fail_at_commit(world, "budgets")
    answer = world.admin.put(f"/v1/datasets/{dataset_id}/budget", {"epsilon": 1, "delta": 1e-6})
    require_problem(answer, status=500)
    assert world.owner.get(f"/v1/datasets/{dataset_id}/budget").json()["cap"] is None


def test_rows_whose_commit_fails_are_not_stored(world: World, settings) -> None:
    dataset_id = world.declare()
    fail_at_commit(world, "datasets")
    require_problem(world.upload(dataset_id), status=500)
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "declared"
    assert stored(world) == []
    assert list(settings.scratch_folder.iterdir()) == []


def stored(world: World) -> list[str]:
    """The keys in the object store."""
    return [entry.key for entry in world.store.list("")]
