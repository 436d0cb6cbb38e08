"""Logs of a process whose log cannot be written."""

import errno
import io
import sys

import pytest
import structlog

from core.logs import configure_logs, get_logger


@pytest.fixture
def _restored_logs():
    yield
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


class Full(io.StringIO):
    """The standard error of a process whose log lies on a full disk."""

    tried = 0

    def write(self, _text: str, /) -> int:
        self.tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.usefixtures("_restored_logs")
def test_a_full_disk_costs_lines_and_not_the_work(monkeypatch):
    full = Full()
    with pytest.raises(OSError, match="No space"):
        print("a line", file=full)
    monkeypatch.setattr(sys, "stderr", full)
    configure_logs(role="worker")
    get_logger().error("disk-full")
    assert full.tried > 1


@pytest.mark.usefixtures("_restored_logs")
def test_what_can_be_written_is(capsys):
    configure_logs(role="worker")
    get_logger().info("an-event", number=3)
    said = capsys.readouterr().err
    assert '"event": "an-event"' in said
    assert '"number": 3' in said
