"""The supervisor of the embedded stack, with real processes and real kills."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import httpx
import pytest

from tests.system.conftest import Start, Up, findings, understudy, understudy_here
from tests.system.processes import await_end_of, named
from understudy.embedded.supervisor import free_port

pytestmark = pytest.mark.system

DOMAIN = {
    "schema": "understudy.domain/1",
    "target": None,
    "privacy_unit": None,
    "columns": [{"name": "x", "kind": "boolean", "true": "1", "false": "0"}],
}


def declare(up: Up, name: str) -> None:
    with up.connection.client("owner") as owner:
        owner.declare_dataset(name=name, domain=DOMAIN, declared_size=100)


def names(up: Up) -> list[str]:
    with up.connection.client("owner") as owner:
        return [dataset.name for dataset in owner.list_datasets()]


@pytest.mark.long
def test_ctrl_c_and_kill_9_leave_no_process_and_the_next_start_finds_everything_again(start: Start) -> None:
    first = start()
    declare(first, "kept")
    connection, family = first.connection, first.family()
    words = " ".join(process.name for process in family)
    assert all(role in words for role in ("postgres", "valkey-server", "uvicorn", "celery", "workers.upkeep"))
    assert any(connection.url in line for line in first.lines)
    assert any(str(first.data_folder) in line for line in first.lines)
    assert any("connection.json" in line for line in first.lines)
    assert not any(key in line for key in connection.keys.values() for line in first.lines), (
        "keys are shown in a terminal only"
    )

    assert first.stop(signal.SIGINT) == 0
    assert first.lines[-1] == "Stopped."
    assert await_end_of(family, 0.5) == []
    assert not (first.data_folder / "connection.json").exists()
    assert findings(first)[1] == {"stack-down"}
    assert "database system is shut down" in (first.data_folder / "logs" / "postgres.log").read_text()

    second = start()
    assert second.connection.keys == connection.keys
    assert names(second) == ["kept"]
    declare(second, "before the crash")
    family = second.crash()
    assert len(family) > 5
    assert await_end_of(family, 20.0) == []

    third = start()
    assert sorted(names(third)) == ["before the crash", "kept"]
    assert third.stop(signal.SIGTERM) == 0


@pytest.mark.long
def test_kill_9_of_everything_at_once_loses_nothing(start: Start) -> None:
    """No server can write its state down. Its daily form is round 7 of the drill, in the middle of a job."""
    up = start()
    declare(up, "before the crash")
    family = up.crash()
    for process in family:
        if process.lives():
            os.kill(process.pid, signal.SIGKILL)
    assert await_end_of(family, 10.0) == []

    second = start()
    assert names(second) == ["before the crash"]
    assert second.stop() == 0


def test_a_second_stack_on_the_same_folder_is_refused_and_harms_nothing(shared_up: Up) -> None:
    refused = understudy("up", "--data-folder", shared_up.data_folder, "--port", 0)
    assert refused.returncode == 1
    assert "in use by another supervisor" in refused.stderr
    assert str(shared_up.process.pid) in refused.stderr
    assert httpx.get(shared_up.connection.url + "/healthz", trust_env=False).status_code == 200


def test_a_taken_port_is_named(shared_up: Up, tmp_path: Path) -> None:
    port = shared_up.connection.url.rpartition(":")[2]
    refused = understudy("up", "--data-folder", tmp_path / "data", "--port", port)
    assert refused.returncode == 1
    assert f"port {port} is in use" in refused.stderr


def test_a_port_that_is_released_a_moment_later_is_waited_for() -> None:
    with socket.socket() as dying:
        dying.bind(("127.0.0.1", 0))
        port = dying.getsockname()[1]
        released = threading.Timer(0.3, dying.close)
        released.start()
        assert free_port(port) == port
        released.join()


@pytest.mark.parametrize(
    "role",
    [
        "celery",
        "bin/postgres",
        *(
            pytest.param(role, marks=pytest.mark.long)
            for role in ("uvicorn", "workers.upkeep", "valkey-server")
        ),
    ],
)
def test_a_role_that_dies_is_started_again(shared_up: Up, role: str) -> None:
    victim = named(shared_up.family(), role)
    os.kill(victim.pid, signal.SIGKILL)
    shared_up.wait_for("was started again")
    deadline = time.monotonic() + 600
    while not healthy(shared_up) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert healthy(shared_up)
    assert named(shared_up.family(), role).pid != victim.pid
    assert isinstance(names(shared_up), list)


def healthy(up: Up) -> bool:
    try:
        return httpx.get(up.connection.url + "/healthz", trust_env=False, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


def test_logs_hold_no_key(shared_up: Up) -> None:
    secrets = [
        *shared_up.connection.keys.values(),
        (shared_up.data_folder / "master.key").read_text().strip(),
    ]
    for log in (shared_up.data_folder / "logs").iterdir():
        text = log.read_text(errors="replace")
        assert [secret for secret in secrets if secret in text] == [], log.name


def test_a_new_link_signs_in_once_and_is_written_nowhere(shared_up: Up, tmp_path: Path) -> None:
    printed = understudy_here("sign-in", "--data-folder", shared_up.data_folder)
    assert printed.returncode == 0, printed.stderr
    page, token = printed.stdout.strip().split("#")
    assert page == f"{shared_up.connection.url}/sign-in/link"
    headers = {"Origin": shared_up.connection.url}
    first, second = (
        httpx.post(page, data={"token": token}, headers=headers, trust_env=False) for _ in range(2)
    )
    assert (first.status_code, second.status_code) == (303, 401)
    for file in shared_up.data_folder.glob("*"):
        assert not file.is_file() or token not in file.read_text(errors="replace"), file.name
    for log in (shared_up.data_folder / "logs").iterdir():
        assert token not in log.read_text(errors="replace"), log.name
    elsewhere = understudy_here("sign-in", "--data-folder", tmp_path / "nothing")
    assert elsewhere.returncode == 1
    assert "no stack runs" in elsewhere.stderr
