"""The exit codes of the child and what the supervising task makes of them."""

import signal

import pytest

from workers.outcomes import ExitCode, Outcome, outcome_of


@pytest.mark.parametrize("code", list(ExitCode))
def test_every_exit_code_names_the_outcome_of_the_same_name(code):
    assert outcome_of(code.value).name == code.name


@pytest.mark.parametrize("code", [-signal.SIGKILL, -signal.SIGSEGV, 1, 2, 127, 255])
def test_anything_else_means_the_child_vanished(code):
    assert outcome_of(code) is Outcome.VANISHED
