"""What a failed test left open is its own: it fails no other test.

A failure's traceback keeps the test's objects alive, and what is collected in a later test, such as a socket or a pool that was
never closed, is a warning and therefore a failure there.
"""

import gc
import sys
import warnings
from collections.abc import Generator

import pytest

_KEPT = ("last_exc", "last_type", "last_value", "last_traceback")
"""Where pytest leaves the newest failure for a debugger."""


class Failures:
    """Forgets what failed tests left, when they are over."""

    def __init__(self) -> None:
        self._failed = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Notice a failure, of the test or of a fixture."""
        report = yield
        self._failed |= report.failed
        return report

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Run one test, and collect what it left if it failed."""
        self._failed = False
        outcome = yield
        if self._failed:
            for name in _KEPT:
                sys.__dict__.pop(name, None)
            hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
            try:
                with warnings.catch_warnings(action="ignore"):
                    gc.collect()
            finally:
                sys.unraisablehook = hook
        return outcome
