"""An operator's command run in this process: to start another and import everything anew takes a second or two."""

import io
import os
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from subprocess import CompletedProcess
from unittest.mock import patch

import structlog

from core.platform.settings import read_settings


def run_here(main: Callable[[], int], environment: Mapping[str, str]) -> CompletedProcess[str]:
    """Run a command's function with this environment, and leave the process as it was.

    Args:
        main: The function, with its words. Returns the exit status.
        environment: All environment variables that it may read.
    """
    printed, complained = io.StringIO(), io.StringIO()
    mask = os.umask(0o077)
    os.umask(mask)
    read_settings.cache_clear()
    try:
        with (
            patch.dict(os.environ, environment, clear=True),
            redirect_stdout(printed),
            redirect_stderr(complained),
        ):
            status = main()
    finally:
        os.umask(mask)
        read_settings.cache_clear()
        structlog.reset_defaults()
    return CompletedProcess([], status, printed.getvalue(), complained.getvalue())
