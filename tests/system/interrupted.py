"""A test that `test_interruptions.py` runs in a process of its own and interrupts; pytest does not collect it by itself."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

READY = "TESTS_READY"


def test_that_waits(postgres_server, redis_server):
    # A process of a session of its own that nobody stops: what a stack leaves whose supervisor was killed.
    lost = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    ready = Path(os.environ[READY])
    pids = [os.getpid(), os.getppid(), postgres_server.child.pid, redis_server.child.pid, lost.pid]
    ready.with_suffix(".partial").write_text(json.dumps(pids))
    ready.with_suffix(".partial").rename(ready)
    time.sleep(600)
