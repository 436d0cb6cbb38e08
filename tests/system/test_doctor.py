"""`understudy doctor` on a real stack: well when it is, and telling what hangs. `test_supervisor.py` asks it about one that was stopped."""

import os
import signal
import time

import pytest

from tests.system.conftest import Up, findings
from tests.system.processes import named

pytestmark = pytest.mark.system

PATIENCE_SECONDS = 200.0


def test_a_stack_that_runs_is_well_and_one_whose_api_hangs_is_not(shared_up: Up) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while found := findings(shared_up)[1]:
        assert time.monotonic() < end, found
        time.sleep(2.0)  # each question starts a process
    api = named(shared_up.family(), "uvicorn")
    os.kill(api.pid, signal.SIGSTOP)
    try:
        status, found = findings(shared_up)
    finally:
        os.kill(api.pid, signal.SIGCONT)
    assert (status, found) == (1, {"stack-silent"})
