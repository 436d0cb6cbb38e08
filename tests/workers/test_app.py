"""The Celery application and what it says to the log."""

import ast
import logging
from pathlib import Path

import pytest
import structlog

from core.jobs.queue import COUNTING_TASK, TRAINING_TASK
from core.logs import configure_logs
from workers.app import NamesOnly, app, trainer

ROOT = Path(__file__).parents[2]


@pytest.fixture
def _environment(worker_environment):
    trainer.cache_clear()
    yield
    # private: a worker process never closes its pool; this one goes on
    trainer()._database.close()
    trainer.cache_clear()


@pytest.fixture
def _restored_logs():
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


@pytest.mark.usefixtures("_environment")
def test_messages_are_hints_acknowledged_late_and_taken_one_at_a_time(settings):
    assert app.conf.broker_url == settings.broker_url
    assert app.conf.task_acks_late
    assert app.conf.task_reject_on_worker_lost
    assert app.conf.worker_prefetch_multiplier == 1
    assert app.conf.broker_transport_options["unacked_restore_throttle"] == 1
    assert app.conf.accept_content == ["json"], "no pickle"
    assert {TRAINING_TASK, COUNTING_TASK} <= set(app.tasks)


@pytest.mark.usefixtures("_environment", "_restored_logs")
@pytest.mark.parametrize("job_id", ["not a uuid", "00000000-0000-0000-0000-000000000000"])
def test_a_message_that_makes_no_sense_breaks_nothing(job_id, capsys):
    configure_logs(role="worker")
    app.tasks[TRAINING_TASK](job_id)
    said = "".join(capsys.readouterr())
    assert "claim-refused" in said, "a message is a hint, and nothing waits"
    assert "task-broke-off" not in said


@pytest.mark.usefixtures("_restored_logs")
def test_libraries_are_logged_by_name_without_their_words(capsys):
    configure_logs(role="worker")
    logger = logging.getLogger("some.library")
    logger.propagate = False
    handler = NamesOnly()
    logger.addHandler(handler)
    logger.error("with a private value", exc_info=ValueError("a private value"))
    logger.removeHandler(handler)
    said = "".join(capsys.readouterr())
    assert "some.library" in said
    assert "ValueError" in said
    assert "private" not in said


def test_only_the_training_child_opens_private_rows():
    openers = set()
    for folder in ("core", "service", "workers", "models", "understudy", "migrations", "benchmarks", "docs"):
        for path in (ROOT / folder).rglob("*.py"):
            source = path.read_text()
            if "private_rows" not in source:  # parsing every file takes two seconds
                continue
            for node in ast.walk(ast.parse(source)):
                names = []
                if isinstance(node, ast.ImportFrom):
                    names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
                elif isinstance(node, ast.Import):
                    names = [alias.name for alias in node.names]
                if "core.data.private_rows" in names:
                    openers.add(str(path.relative_to(ROOT)))
    simulated = {
        "benchmarks/tables/long_tables.py",
        "benchmarks/tables/wide_tables.py",
    }  # make the rows that they open
    assert openers - simulated == {
        "workers/owner_report_child.py",
        "workers/shared_counting.py",
        "workers/training_child.py",
    }
