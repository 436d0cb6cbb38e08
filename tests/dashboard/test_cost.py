"""What pages cost in a long life: counted statements instead of seconds, because machines differ."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID, uuid4

from sqlalchemy import event, text

from core.db.session import Database
from core.db.tables import Dataset
from tests.dashboard.visitor import Visitor
from tests.service.world import World

ENTRIES = 10_000
JOBS = 1_000
DATASETS = 1_000
PAGE, BOARD = 17, 16
"""Statements of a page, and of the overview, which lists what seven pages list."""


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements sent while the block runs, without BEGIN and the like."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        sent.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(database.engine, "before_cursor_execute", note)


def _lengthen(world: World, dataset_id: str) -> None:
    """Copy the one job and its entry until there are as many as in years. The chain no longer verifies; nobody asks."""
    with world.database.transaction() as session:
        population_id = session.get_one(Dataset, UUID(dataset_id)).population_id
        session.execute(
            text(
                "INSERT INTO ledger_entries (population_id, sequence, kind, job_id, grant_id, epsilon_micros,"
                " delta_femtos, rdp_micros, mechanism, terms, fence, balance, grant_balance, at, previous_hash, hash)"
                " SELECT population_id, sequence + n, kind, gen_random_uuid(), grant_id,"
                " epsilon_micros, delta_femtos, rdp_micros, mechanism, terms, fence, balance, grant_balance, at,"
                " previous_hash, hash FROM ledger_entries, generate_series(1, :entries) AS n"
                " WHERE population_id = :population AND kind = 'RESERVED'"
            ),
            {"entries": ENTRIES, "population": population_id},
        )
        session.execute(
            text(
                "UPDATE budgets SET head_sequence = head_sequence + :entries WHERE population_id = :population"
            ),
            {"entries": ENTRIES, "population": population_id},
        )
        columns = ", ".join(
            name
            for name in session.execute(
                text(
                    "SELECT column_name FROM information_schema.columns"
                    " WHERE table_name = 'jobs' AND column_name <> 'id'"
                )
            ).scalars()
        )
        session.execute(
            text(
                f"INSERT INTO jobs (id, {columns}) SELECT gen_random_uuid(), {columns}"
                " FROM jobs, generate_series(1, :jobs)"
            ),
            {"jobs": JOBS},
        )


def _multiply(world: World) -> None:
    with world.database.transaction() as session:
        one = session.scalars(text("SELECT id FROM datasets LIMIT 1")).one()
        row = session.get_one(Dataset, one)
        session.add_all(
            Dataset(
                id=uuid4(),
                population_id=row.population_id,
                owner_id=row.owner_id,
                name=f"wards {number}",
                domain=row.domain,
                adjacency=row.adjacency,
                privacy_unit=None,
                declared_size=9,
                state="declared",
                created_at=row.created_at,
            )
            for number in range(DATASETS)
        )


def test_pages_cost_the_same_after_years(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.ready()
    world.give(dataset_id, world.stranger, expires_at=world.clock.now() + timedelta(days=3))
    assert world.order(dataset_id).status_code == 202
    owner = sign_in("owner", "analyst", "admin")
    paths = ("/overview", f"/datasets/{dataset_id}", f"/datasets/{dataset_id}/ledger", "/jobs")
    young = {path: _statements(world, owner, path) for path in paths}
    _lengthen(world, dataset_id)
    _multiply(world)
    old = {path: _statements(world, owner, path) for path in paths}
    for path in paths:
        assert old[path] <= young[path] + 1, "a statement for each entry, job or dataset"
        assert old[path] <= (BOARD if path == "/overview" else PAGE), (path, old)


def _statements(world: World, visitor: Visitor, path: str) -> int:
    visitor.page(path)  # what is remembered between requests is remembered now
    with counted(world.database) as sent:
        assert len(visitor.page(path)) < 400_000
    return len(sent)


def test_all_datasets_are_reached_page_by_page(world: World, sign_in: Callable[..., Visitor]) -> None:
    world.declare()
    _multiply(world)
    owner, path, seen = sign_in("owner"), "/overview", 0
    for _ in range(3):
        page = owner.page(path)
        seen += page.count('<li class="row">')
        path = page.partition('<a rel="next" href="')[2].partition('"')[0]
    assert seen == 75
    assert path.startswith("/overview?before=")
