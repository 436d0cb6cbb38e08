"""An API that does not answer: one that ended shows its log, a slow one is given time and then says that it is slow."""

import sys
from pathlib import Path

import pytest

from understudy.embedded.child import Child, Command
from understudy.embedded.errors import ServerFailed
from understudy.embedded.supervisor import require_starting


def running(log: Path, code: str) -> Child:
    return Child(Command(name="api", arguments=[sys.executable, "-c", code], environment={}, log=log))


def test_an_api_that_runs_is_waited_for_until_it_is_late(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    api = running(log, "import time; time.sleep(600)")
    try:
        require_starting(api, log, late=False)
        with pytest.raises(
            ServerFailed,
            match=r"did not answer within 300 seconds: the machine is busy\. Run the command again",
        ):
            require_starting(api, log, late=True)
    finally:
        api.stop()
    with pytest.raises(ServerFailed, match="the log is empty"):
        require_starting(api, log, late=False)


def test_an_api_that_ended_shows_why(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    log.write_text("no such setting\n")
    with pytest.raises(ServerFailed, match=r"did not start.*\nno such setting"):
        require_starting(None, log, late=False)
