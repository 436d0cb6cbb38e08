"""What the tests here share: two stages with neighbouring tables, set up once, and a day whose clock is the test's."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
from psycopg import sql

from core.clock import FixedClock
from tests.conftest import execute
from tests.privacy.leaks import places
from tests.privacy.leaks.answers import Answer, change_all, read_all
from tests.privacy.leaks.day import BUCKET, HEARTBEAT, Day
from tests.privacy.leaks.stage import Stage, set_up
from tests.privacy.leaks.table import neighbour, with_canaries
from tests.service.world import NOON
from tests.workers.conftest import settings
from tests.workers.support import Workshop

__all__ = ["settings"]


STAGES_SECONDS = 1800
"""The stages take a minute on a quiet machine; whichever test comes first waits for them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give time to the tests that may have to set the stages up."""
    for item in items:
        if "played" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.timeout(STAGES_SECONDS))


@dataclass(frozen=True)
class Played:
    """A stage after the play.

    Args:
        stage: The stage.
        answers: What everybody but the owner was told; in the end they changed and deleted all they might.
        looked_at: Everything that lay anywhere before that.
        report: The owner's own report on the upload.
        note: The owner's own note on the training that failed, if it left one.
        sealed: The owner's own owner report; with the canaries the account of its failure.
        kept: What was in the object store.
    """

    stage: Stage
    answers: list[Answer]
    looked_at: Mapping[str, list[tuple[str, str | bytes]]]
    report: dict[str, Any]
    note: str
    sealed: str
    kept: frozenset[str]


def _read(stage: Stage) -> Played:
    owner, ids = stage.world.owner, stage.ids
    answers = read_all(stage)
    looked_at = places.of(stage, answers)
    report = owner.get(f"/v1/datasets/{ids['dataset_id']}/intake-report").json()
    note = owner.get(f"/v1/jobs/{ids['failed']}/failure-note").json().get("note", "")
    sealed = owner.get(f"/v1/sealed-reports/{ids['sealed_report_id']}/file").text
    kept = frozenset(found.key for found in stage.world.store.list(""))
    return Played(stage, answers + change_all(stage), looked_at, report, note, sealed, kept)


@pytest.fixture(scope="session")
def played(postgres_server, migrated_template, redis_server, tmp_path_factory) -> Iterator[dict[str, Played]]:
    """Both stages, under ``canaries`` and ``neighbour``."""
    with ExitStack() as open_stages:
        done = {}
        for name, rows in (("canaries", with_canaries()), ("neighbour", neighbour())):
            database = f"leaks_{uuid4().hex}"
            copied = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
            execute(
                postgres_server, copied.format(sql.Identifier(database), sql.Identifier(migrated_template))
            )
            stage = open_stages.enter_context(
                set_up(
                    tmp_path_factory.mktemp(name),
                    {"database_url": postgres_server.url(database), "broker_url": redis_server.broker_url},
                )
            )
            with stage.observed():
                stage.play(rows, shot_down=name == "canaries")
                done[name] = _read(stage)
        yield done


@pytest.fixture
def day(settings: Any) -> Iterator[Day]:
    clock = FixedClock(NOON)
    times = {"completion_seconds": BUCKET, "lease_seconds": 3600.0, "heartbeat_seconds": HEARTBEAT}
    workshop = Workshop(settings.model_copy(update=times), clock=clock)
    yield Day(workshop, clock, workshop.order())
    workshop.close()
