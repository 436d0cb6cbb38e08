"""`understudy doctor` on a real stack: well when it is, and telling what was stopped."""

import json
import os
import signal
import time

import pytest

from tests.system.conftest import Up, understudy
from tests.system.processes import named

pytestmark = pytest.mark.system

PATIENCE_SECONDS = 200.0
DISK = {"disk-low", "disk-full"}


def examined(up: Up) -> tuple[int, set[str]]:
    finished = understudy("doctor", "--json", "--data-folder", up.data_folder)
    document = json.loads(finished.stdout)
    return finished.returncode, {finding["code"] for finding in document["findings"]} - DISK


def await_findings(up: Up, wanted: set[str]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while (found := examined(up)[1]) != wanted:
        assert time.monotonic() < end, found
        time.sleep(0.2)


def test_a_stack_that_runs_is_well_and_one_whose_api_hangs_is_not(start) -> None:
    up = start()
    await_findings(up, set())
    api = named(up.family(), "uvicorn")
    os.kill(api.pid, signal.SIGSTOP)
    try:
        status, found = examined(up)
    finally:
        os.kill(api.pid, signal.SIGCONT)
    assert (status, found) == (1, {"stack-silent"})
    assert up.stop() == 0
    status, found = examined(up)
    assert found == {"stack-down"}
