"""Real child processes, watched, limited and killed; what their exit codes mean; the system calls that tie a child to its parent."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import UUID

import pytest

from workers.child import (
    Child,
    ExitCode,
    Limits,
    Outcome,
    child_environment,
    outcome_of,
    runner_command,
    watch,
)

ROOMY = Limits(memory_bytes=2**33, seconds=60.0)


def _python(script: str) -> Child:
    return Child([sys.executable, "-c", script], os.environ)


def _watch(
    child: Child, *, limits=ROOMY, heartbeat=lambda: None, heartbeat_seconds=0.05, stopping=lambda: False
) -> Outcome:
    return watch(
        child,
        limits=limits,
        heartbeat_seconds=heartbeat_seconds,
        heartbeat=heartbeat,
        stopping=stopping,
        look_seconds=0.02,
    )


@pytest.mark.parametrize("code", list(ExitCode))
def test_the_exit_code_of_the_child_is_its_outcome(code):
    assert _watch(_python(f"raise SystemExit({code.value})")).name == code.name


@pytest.mark.parametrize("code", [-signal.SIGKILL, -signal.SIGSEGV, 1, 2, 127, 255])
def test_anything_else_means_the_child_vanished(code):
    assert outcome_of(code) is Outcome.VANISHED


def test_a_killed_child_vanished():
    assert _watch(_python("import os; os.kill(os.getpid(), 9)")) is Outcome.VANISHED


def test_a_child_is_killed_when_its_worker_stops():
    child = _python("import time; time.sleep(60)")
    assert _watch(child, stopping=lambda: True) is Outcome.STOPPED
    assert child.wait(0) == -9


def test_a_child_over_its_time_is_killed():
    child = _python("import time; time.sleep(60)")
    assert _watch(child, limits=Limits(memory_bytes=2**33, seconds=0.2)) is Outcome.TOO_LONG
    assert child.wait(0) == -9


def test_a_child_over_its_memory_is_killed():
    child = _python("kept = b'x' * (300 * 2**20); import time; time.sleep(60)")
    assert _watch(child, limits=Limits(memory_bytes=200 * 2**20, seconds=60)) is Outcome.TOO_LARGE
    assert child.wait(0) == -9


def test_a_heartbeat_ends_the_attempt_with_its_verdict():
    verdicts = iter([None, None, Outcome.LEASE_LOST])
    child = _python("import time; time.sleep(60)")
    assert _watch(child, heartbeat=lambda: next(verdicts)) is Outcome.LEASE_LOST
    assert child.wait(0) == -9


def test_an_error_in_the_heartbeat_does_not_leave_the_child_behind():
    child = _python("import time; time.sleep(60)")

    def heartbeat():
        raise RuntimeError

    with pytest.raises(RuntimeError):
        _watch(child, heartbeat=heartbeat)
    assert child.wait(0) == -9


def test_the_whole_group_of_the_child_is_killed(tmp_path):
    note = tmp_path / "pid"
    script = (
        "import subprocess, sys, time, pathlib\n"
        "inner = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(inner.pid))\n"
        "time.sleep(60)\n"
    )
    child = _python(script)

    def heartbeat():
        return Outcome.CANCELLED if note.exists() and note.read_text() else None

    assert _watch(child, heartbeat=heartbeat) is Outcome.CANCELLED
    inner = int(note.read_text())
    end = time.monotonic() + 600
    while time.monotonic() < end:
        stat = Path(f"/proc/{inner}/stat")
        if not stat.exists() or stat.read_text().rsplit(")", 1)[1].split()[0] == "Z":
            return
        time.sleep(0.02)
    pytest.fail("the grandchild still runs")


def test_a_child_that_is_gone_has_no_memory_and_can_be_killed_again():
    child = _python("pass")
    assert child.kill() in {0, -9}
    assert child.kill() in {0, -9}
    assert child.resident_bytes() == 0


def test_the_command_line_carries_opaque_numbers_only():
    job_id = UUID(int=7)
    command = runner_command(job_id, 3, work="train")
    words = ["-m", "workers.runner", str(job_id), "3", "--parent", str(os.getpid()), "--work", "train"]
    assert command[1:] == words


@pytest.mark.parametrize("name", ["ONEDNN_DEFAULT_FPMATH_MODE", "DNNL_DEFAULT_FPMATH_MODE"])
def test_no_environment_makes_products_less_exact_than_float32(name: str):
    """Norms bound what they are of: products of bfloat16 would let a record weigh more than it is clipped to."""
    assert child_environment({name: "BF16"}, threads=1)[name] == "STRICT"


@pytest.mark.parametrize("path", ["COMPATIBLE", "AVX2,STRICT"])
def test_a_code_path_of_mkl_that_rounds_evenly_is_kept(path: str):
    assert child_environment({"MKL_CBWR": path}, threads=1)["MKL_CBWR"] == path


@pytest.mark.parametrize("path", ["AVX2", "OFF", ""])
def test_no_environment_lets_mkl_round_a_record_by_its_place(path: str):
    assert child_environment({"MKL_CBWR": path}, threads=1)["MKL_CBWR"] == "AUTO,STRICT"


def test_the_environment_pins_what_could_change_a_sum():
    given = {"UNDERSTUDY_X": "kept", "OMP_NUM_THREADS": "64", "PYTORCH_TUNABLEOP_ENABLED": "1"}
    environment = child_environment(given, threads=2)
    assert environment["UNDERSTUDY_X"] == "kept"
    assert environment["OMP_NUM_THREADS"] == environment["MKL_NUM_THREADS"] == "2"
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert environment["OMP_DYNAMIC"] == environment["MKL_DYNAMIC"] == "FALSE"
    assert environment["PYTHONHASHSEED"] == "0"
    assert environment["PYTORCH_TUNABLEOP_ENABLED"] == "0"


_SLEEPER = """
import os, sys, time
from workers.child import die_with_parent
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


def _output_of(script: str) -> str:
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout.strip()


def test_closed_side_doors_mean_no_core_dump_and_no_dumpable_process():
    script = """
import ctypes, resource
from workers.child import close_side_doors
close_side_doors()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    assert _output_of(script) == "0"


def test_an_allocation_beyond_the_limit_fails_as_a_memory_error():
    script = """
from workers.child import limit_memory
limit_memory(256 * 2**20)
kept = bytearray(64 * 2**20)
try:
    bytearray(512 * 2**20)
except MemoryError:
    print("refused")
"""
    assert _output_of(script) == "refused"


def test_a_refused_system_call_is_an_error_and_not_silence():
    script = """
from workers import child
try:
    child._prctl(-1, 0)
except OSError as error:
    print(type(error).__name__)
"""
    assert _output_of(script) == "OSError"


def test_the_helper_sees_a_live_process_as_alive():
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert not _gone(process.pid, within=0.2)
    process.kill()
    process.wait()
    assert _gone(process.pid)
