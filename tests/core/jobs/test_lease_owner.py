"""Who holds a lease, judged with real processes."""

import os
import subprocess
import sys

from core.jobs.leases import is_dead, this_machine, this_process

SAY = "from core.jobs.leases import this_process; print(this_process(), flush=True); input()"


def test_a_process_that_runs_is_alive_and_one_that_ended_is_dead():
    child = subprocess.Popen(
        [sys.executable, "-c", SAY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    holder = child.stdout.readline().strip()
    assert holder.startswith(f"{this_machine()}{child.pid}/")
    assert not is_dead(holder)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(holder), "a zombie works no more"
    child.communicate()
    assert is_dead(holder)


def test_a_later_process_with_the_same_id_is_another_one():
    mine = this_process()
    assert not is_dead(mine)
    assert is_dead(f"{mine}9")


def test_of_other_machines_containers_and_boots_nothing_is_known():
    boot, namespace, rest = this_process().split("/", 2)
    assert not is_dead(f"another-boot/{namespace}/{rest}9")
    assert not is_dead(f"{boot}/{namespace}9/{rest}9")
