"""The system calls that tie the child to its parent, tried on real processes."""

import os
import subprocess
import sys
import time
from pathlib import Path

_SLEEPER = """
import os, sys, time
from workers.process_limits import die_with_parent
die_with_parent(int(sys.argv[1]))
print(os.getpid(), flush=True)
time.sleep(60)
"""

_MIDDLE = f"""
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", {_SLEEPER!r}, str(os.getpid())])
time.sleep(60)
"""


def _gone(pid: int, *, within: float = 5.0) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_a_child_dies_with_its_killed_parent():
    middle = subprocess.Popen([sys.executable, "-c", _MIDDLE], stdout=subprocess.PIPE, text=True)
    try:
        assert middle.stdout is not None
        sleeper = int(middle.stdout.readline())
        assert not _gone(sleeper, within=0.2)
    finally:
        middle.kill()
        middle.wait()
        middle.stdout.close()
    assert _gone(sleeper)


def test_a_child_whose_parent_was_gone_before_it_asked_ends_at_once():
    ended = subprocess.run(
        [sys.executable, "-c", _SLEEPER, str(os.getpid() + 1)], capture_output=True, timeout=600, check=False
    )
    assert ended.returncode == 1
    assert ended.stdout == b""


def test_closed_side_doors_mean_no_core_dump_and_no_dumpable_process():
    script = """
import ctypes, resource
from workers.process_limits import close_side_doors
close_side_doors()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert ended.stdout.strip() == "0"


def test_an_allocation_beyond_the_limit_fails_as_a_memory_error():
    script = """
from workers.process_limits import limit_memory
limit_memory(256 * 2**20)
kept = bytearray(64 * 2**20)
try:
    bytearray(512 * 2**20)
except MemoryError:
    print("refused")
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert ended.stdout.strip() == "refused"


def test_a_refused_system_call_is_an_error_and_not_silence():
    script = """
from workers import process_limits
try:
    process_limits._prctl(-1, 0)
except OSError as error:
    print(type(error).__name__)
"""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=600, check=True
    )
    assert ended.stdout.strip() == "OSError"


def test_the_helper_sees_a_live_process_as_alive():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert not _gone(process.pid, within=0.2)
    process.kill()
    process.wait()
    assert _gone(process.pid)
