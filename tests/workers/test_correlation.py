"""One request id from the order through the message to the worker and its training child."""

import json
import subprocess
import time
from uuid import uuid4

import pytest
import structlog

from core.jobs.queue import CeleryQueue
from core.logs import is_request_id
from tests.workers.processes import ROOT, start_worker
from tests.workers.support import Workshop, environment_of
from workers.child import runner_command


@pytest.fixture
def request_id():
    named = uuid4().hex
    with structlog.contextvars.bound_contextvars(request_id=named):
        yield named


def events(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


@pytest.mark.long
def test_the_child_logs_under_the_request_of_its_order(workshop: Workshop, request_id):
    job_id = workshop.order()
    claim = workshop.claim(job_id)
    assert claim.request_id == request_id
    workshop.store.delete(f"datasets/{workshop.dataset_id}/rows.sealed")
    child = subprocess.run(
        runner_command(job_id, claim.fence, work="train"),
        env=environment_of(workshop.settings), cwd=ROOT, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    (stopped,) = [event for event in events(child.stderr) if event["event"] == "attempt-stopped"]
    assert stopped["request_id"] == request_id
    assert stopped["job_id"] == str(job_id)


@pytest.mark.system
def test_the_message_carries_the_request_before_any_row_is_read(workshop: Workshop, request_id, tmp_path):
    log = tmp_path / "worker.log"
    worker = start_worker(workshop.settings, log)
    queue = CeleryQueue(workshop.settings.broker_url)
    try:
        queue.enqueue_training(uuid4())
        end = time.monotonic() + 600
        while not (refused := [one for one in events(log.read_text()) if one["event"] == "claim-refused"]):
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)
    finally:
        queue.close()
        worker.kill()
        worker.wait()
    assert refused[0]["request_id"] == request_id


@pytest.mark.parametrize("text", [None, 5, "", "A" * 32, "0" * 31, "0" * 32 + "\n", '", "level": "error'])
def test_what_is_no_request_id_of_ours_is_not_logged(text):
    assert not is_request_id(text)
    assert is_request_id(uuid4().hex)
