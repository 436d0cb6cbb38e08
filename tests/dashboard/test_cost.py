"""What pages cost in a long life: counted statements instead of seconds, because machines differ."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

from sqlalchemy import event, text

from core.db.session import Database
from core.db.tables import Dataset
from tests.dashboard.every_page import PAGES
from tests.dashboard.newer_scene import enrich
from tests.dashboard.scene import Scene
from tests.dashboard.visitor import Visitor
from tests.service.world import World

ENTRIES = 10_000
JOBS = 1_000
DATASETS = 1_000
PEOPLE = 1_000
PAGE, BOARD = 18, 16
"""Statements of a page, and of the overview, which lists what seven pages list."""
MOST_CHARACTERS = 150_000
POPULATIONS = """INSERT INTO budgets (population_id, rule, head_sequence, head_hash, created_at)
  SELECT gen_random_uuid(), 'filters', 0, decode(repeat('00', 32), 'hex'), now() FROM generate_series(1, :datasets)
  RETURNING population_id"""
KEYS = """INSERT INTO api_keys (id, principal_id, name, roles, prefix, digest, created_at)
  SELECT gen_random_uuid(), gen_random_uuid(), 'key ' || n, '{analyst}', left(md5(n::text), 8), sha256(n::text::bytea), now()
  FROM generate_series(1, :people) AS n"""
MANY_PEOPLE = """INSERT INTO people (principal_id, roles, created_by, created_at)
  SELECT principal_id, roles, principal_id, created_at FROM api_keys LIMIT :people ON CONFLICT DO NOTHING"""
MEMBERS = """INSERT INTO dataset_members (dataset_id, principal_id, added_by, added_at)
  SELECT :dataset, principal_id, principal_id, now() FROM people LIMIT :people ON CONFLICT DO NOTHING"""
GRANTS = """INSERT INTO grants (id, population_id, holder_id, epsilon, delta, expires_at, state, created_at)
  SELECT gen_random_uuid(), population_id, principal_id, 0.1, 1e-7, now() + interval '1 day', 'open', now()
  FROM people, datasets WHERE datasets.id = :dataset LIMIT :people"""


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements sent while the block runs, without BEGIN and the like."""
    sent: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        sent.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    yield sent
    event.remove(database.engine, "before_cursor_execute", note)


def hold_to_the_cost(world: World, scene: Scene, sign_in: Callable[..., Visitor]) -> None:
    """Every page costs the same after years: as many statements, and no more text than a page of a list.

    `test_pages` calls it after its own looks at the scene, which takes longer to make than to look at.
    """
    places = vars(scene) | vars(enrich(world, scene))
    visitors = {role: sign_in(role) for role in ("owner", "analyst", "admin", "auditor")}

    def statements() -> dict[str, int]:
        return {
            name: _statements(world, visitors[role or "auditor"], path.format_map(places))
            for name, (role, path) in PAGES.items()
        }

    young = statements()
    _lengthen(world, scene.dataset_id)
    _multiply(world)
    _people(world, scene.dataset_id)
    for name, old in statements().items():
        assert old <= young[name] + 1, f"{name}: a statement for each entry, job, dataset, person or grant"
        assert old <= (BOARD if PAGES[name][1] == "/overview" else PAGE), (name, old)


def _lengthen(world: World, dataset_id: str) -> None:
    """Copy one job and its entry until there are as many as in years. The chain no longer verifies; nobody asks."""
    with world.database.transaction() as session:
        population_id = session.get_one(Dataset, UUID(dataset_id)).population_id
        session.execute(
            text(
                "INSERT INTO ledger_entries (population_id, sequence, kind, job_id, grant_id, epsilon_micros,"
                " delta_femtos, rdp_micros, mechanism, terms, fence, balance, grant_balance, at, previous_hash, hash)"
                " SELECT population_id, head_sequence + n, kind, gen_random_uuid(), grant_id,"
                " epsilon_micros, delta_femtos, rdp_micros, mechanism, terms, fence, balance, grant_balance, at,"
                " previous_hash, hash FROM budgets JOIN ledger_entries USING (population_id), generate_series(1, :entries) AS n"
                " WHERE population_id = :population AND sequence ="
                " (SELECT max(sequence) FROM ledger_entries WHERE population_id = :population AND kind = 'RESERVED')"
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
                " FROM (SELECT * FROM jobs WHERE dataset_id = :dataset LIMIT 1) AS job, generate_series(1, :jobs)"
            ),
            {"jobs": JOBS, "dataset": dataset_id},
        )


def _multiply(world: World) -> None:
    with world.database.transaction() as session:
        one = session.scalars(text("SELECT id FROM datasets LIMIT 1")).one()
        row = session.get_one(Dataset, one)
        populations = session.scalars(text(POPULATIONS), {"datasets": DATASETS})
        session.add_all(
            Dataset(
                id=uuid4(),
                population_id=population_id,
                owner_id=row.owner_id,
                name=f"wards {number}",
                domain=row.domain,
                adjacency=row.adjacency,
                privacy_unit=None,
                declared_size=9,
                state="declared",
                created_at=row.created_at,
            )
            for number, population_id in enumerate(populations)
        )


def _people(world: World, dataset_id: str) -> None:
    """Keys, people, members and grants, one of each for everybody."""
    with world.database.transaction() as session:
        session.execute(text(KEYS), {"people": PEOPLE})
        session.execute(text(MANY_PEOPLE), {"people": PEOPLE})
        session.execute(text(MEMBERS), {"people": PEOPLE, "dataset": dataset_id})
        session.execute(text(GRANTS), {"people": PEOPLE, "dataset": dataset_id})


def _statements(world: World, visitor: Visitor, path: str) -> int:
    visitor.get(path)  # what is remembered between requests is remembered now
    with counted(world.database) as sent:
        assert len(visitor.get(path).text) < MOST_CHARACTERS, path
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
