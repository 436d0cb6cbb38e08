import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from psycopg import sql

from core.platform.settings import Settings
from tests.conftest import MASTER_KEY, execute
from tests.privacy.replay.broker import Broker
from tests.privacy.replay.deployment import Place
from tests.privacy.replay.job import PART_BYTES


@pytest.fixture(scope="module")
def new_place(
    postgres_server, redis_server, migrated_template, tmp_path_factory
) -> Iterator[Callable[[], Place]]:
    """Makes places for jobs: each with a database, an object store and a scratch folder of its own, and the broker emptied."""
    made: list[tuple[str, Broker]] = []
    folders = tmp_path_factory.mktemp("places")

    def new() -> Place:
        database = f"replay_{uuid.uuid4().hex}"
        execute(
            postgres_server,
            sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
                sql.Identifier(database), sql.Identifier(migrated_template)
            ),
        )
        folder: Path = folders / f"place-{len(made)}"
        for name in ("objects", "scratch"):
            (folder / name).mkdir(parents=True)
        settings = Settings.model_validate(
            {
                "mode": "embedded",
                "database_url": postgres_server.url(database),
                "broker_url": redis_server.broker_url,
                "storage_url": (folder / "objects").as_uri(),
                "scratch_folder": folder / "scratch",
                "master_key": MASTER_KEY,
                "checkpoint_seconds": 1e-9,
                "training_threads": 1,
                "upload_part_bytes": PART_BYTES,
                "requests_per_minute": 100_000,
            }
        )
        broker = Broker(redis_server.broker_url)
        made.append((database, broker))
        return Place(settings=settings, broker=broker)

    yield new
    for database, broker in made:
        broker.close()
        execute(postgres_server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
