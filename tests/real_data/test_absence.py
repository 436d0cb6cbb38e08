import os
import subprocess
import sys


def test_a_run_without_real_data_says_in_one_line_what_it_skipped_and_how_to_have_it(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("UNDERSTUDY_")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/real_data/test_tables.py",
    ]
    run = subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        env=environment | {"UNDERSTUDY_DATA": str(tmp_path)},
    )
    assert run.returncode == 0, run.stdout
    (line,) = [line for line in run.stdout.splitlines() if "docs/real-data.md lists" in line]
    assert line.startswith("4 tests were skipped for want of real data")
    assert "UNDERSTUDY_DATA" in line
