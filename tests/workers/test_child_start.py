"""A training child starts once per job and attempt: it imports what every training needs and nothing else."""

import subprocess
import sys

HEAVY = ("celery", "kombu", "redis", "sklearn", "pandas", "fastapi", "starlette")


def test_a_child_imports_no_library_that_few_jobs_use() -> None:
    script = f"import sys, workers.training_child; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
