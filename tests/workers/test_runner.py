"""The one child process: every kind of work starts from its command line, and says nothing but an exit code."""

import subprocess
from uuid import uuid4

import pytest

from tests.cases import daily
from tests.workers.support import Workshop, environment_of
from workers.child import ExitCode, child_environment, runner_command
from workers.runner import main


@pytest.mark.parametrize("work", daily(["train", "count", "compare"], some=["compare"]))
def test_a_child_of_every_kind_ends_at_once_without_a_claim(workshop: Workshop, work):
    ended = subprocess.run(
        runner_command(uuid4(), 1, work=work),
        env=child_environment(environment_of(workshop.settings), threads=1),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == ExitCode.LEASE_LOST, ended.stderr
    assert ended.stdout == ""
    assert '"code":"LEASE_LOST"' in ended.stderr.replace('": "', '":"')
    assert ("report_id" in ended.stderr, "job_id" in ended.stderr) == (work == "compare", work != "compare")


def test_work_that_does_not_exist_is_refused(capsys):
    with pytest.raises(SystemExit):
        main([str(uuid4()), "1", "--parent", "1", "--work", "publish"])
    assert "invalid choice" in capsys.readouterr().err
