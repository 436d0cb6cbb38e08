import subprocess
import sys


def test_what_a_failed_test_left_open_fails_no_other_test():
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "python_files=leaking.py",
    ]
    run = subprocess.run(
        [*command, "tests/isolation/leaking.py"], check=False, capture_output=True, text=True, timeout=600
    )
    assert "1 failed, 1 passed" in run.stdout, run.stdout
