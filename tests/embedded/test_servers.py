"""The embedded servers as such: start, answer, stop, survive kill -9, under every identity."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import redis

from tests.cases import daily
from understudy.embedded import postgres
from understudy.embedded.errors import FolderUnusable, ServerFailed
from understudy.embedded.identity import AS_IS, DROPPED, NAMESPACE, launcher_prefix, server_identity
from understudy.embedded.launcher import CAP_DAC_OVERRIDE
from understudy.embedded.leftovers import socket_folder
from understudy.embedded.postgres import PostgresServer
from understudy.embedded.redis import RedisServer


def connect(server: PostgresServer) -> psycopg.Connection:
    return psycopg.connect(server.url().replace("postgresql+psycopg", "postgresql"), autocommit=True)


def make_postgres(folder: Path) -> PostgresServer:
    return PostgresServer(
        folder / "postgres", run_folder=socket_folder(folder), log=folder / "postgres.log", durable=False
    )


def make_redis(folder: Path) -> RedisServer:
    return RedisServer(folder / "redis", run_folder=socket_folder(folder), log=folder / "redis.log")


def await_end(pid: int, seconds: float = 15.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


@pytest.fixture(params=daily([None, NAMESPACE, DROPPED], some=[None, DROPPED]))
def identity(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way to run Postgres that this machine allows; only root has more than one."""
    chosen = server_identity()
    if request.param is not None and request.param != chosen:
        if os.geteuid() != 0 or chosen != NAMESPACE:
            chosen = AS_IS
        else:
            monkeypatch.setattr(postgres, "server_identity", lambda: request.param)
            chosen = request.param
    return chosen


def test_postgres_keeps_data_over_clean_stop_and_kill(tmp_path: Path, identity: str) -> None:
    server = make_postgres(tmp_path)
    server.start()
    with connect(server) as connection:
        connection.execute("CREATE TABLE kept (value int)")
        connection.execute("INSERT INTO kept VALUES (1)")
    server.stop()

    child = server.start()
    with connect(server) as connection:
        connection.execute("INSERT INTO kept VALUES (2)")
    os.kill(child.pid, signal.SIGKILL)
    child.wait(10)

    again = make_postgres(tmp_path)
    again.start()
    with connect(again) as connection:
        rows = connection.execute("SELECT value FROM kept ORDER BY value").fetchall()
        version = connection.execute("SHOW server_version").fetchone()
    again.stop()
    assert rows == [(1,), (2,)]
    assert version is not None
    assert str(version[0]).startswith("18")


def test_postgres_folder_is_private_and_listens_on_no_port(tmp_path: Path) -> None:
    server = make_postgres(tmp_path)
    server.start()
    with connect(server) as connection:
        addresses = connection.execute("SHOW listen_addresses").fetchone()
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(
            server.url().replace("postgresql+psycopg", "postgresql").replace(server.password, "wrong")
        )
    modes = [
        path.stat().st_mode & 0o777 for path in (server.folder, server.cluster, server.folder / "password")
    ]
    server.stop()
    assert addresses == ("",)
    assert modes == [0o700, 0o700, 0o600]


def test_a_stale_pid_file_that_names_a_stranger_does_not_prevent_the_start(tmp_path: Path) -> None:
    server = make_postgres(tmp_path)
    server.start()
    server.stop()
    pid_file = server.cluster / "postmaster.pid"
    content = f"{os.getpid()}\n{server.cluster}\n1\n5432\n{server.run_folder}\n\n\nready\n"
    pid_file.write_text(content)
    (server.run_folder / ".s.PGSQL.5432.lock").write_text(content)
    server.start()
    with connect(server) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.stop()


def test_a_postmaster_left_running_is_ended_before_the_start(tmp_path: Path) -> None:
    left = make_postgres(tmp_path).start()
    server = make_postgres(tmp_path)
    child = server.start()
    assert left.exit_status is not None
    assert child.exit_status is None
    server.stop()


def test_a_half_made_cluster_is_made_anew(tmp_path: Path) -> None:
    server = make_postgres(tmp_path)
    (tmp_path / "postgres" / "cluster.0badc0de").mkdir(parents=True)
    server.start()
    server.stop()
    assert (server.cluster / "PG_VERSION").exists()


def test_another_major_version_is_refused(tmp_path: Path) -> None:
    server = make_postgres(tmp_path)
    server.cluster.mkdir(parents=True)
    (server.cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(FolderUnusable, match="Postgres 16"):
        server.start()


def test_a_broken_cluster_is_reported_with_the_end_of_its_log(tmp_path: Path) -> None:
    server = make_postgres(tmp_path)
    server.start()
    server.stop()
    (server.cluster / "postgresql.conf").write_text("no_such_parameter = 1\n")
    with pytest.raises(ServerFailed, match="no_such_parameter"):
        server.start()


def test_redis_keeps_messages_over_stop_and_kill(tmp_path: Path) -> None:
    server = make_redis(tmp_path)
    child = server.start()
    with redis.Redis(unix_socket_path=str(server.socket_path)) as client:
        client.config_set("appendfsync", "always")
        client.set("clean", "1")
        client.set("hard", "2")
    os.kill(child.pid, signal.SIGKILL)
    child.wait(10)
    again = make_redis(tmp_path)
    again.start()
    with redis.Redis(unix_socket_path=str(again.socket_path)) as client:
        kept = [client.get("clean"), client.get("hard")]
    again.stop()
    assert kept == [b"1", b"2"]


def test_the_queue_is_a_maintained_server(tmp_path: Path) -> None:
    """Redis 6.2 and 7.x get no repairs for wheels any more; Valkey 9.1 does."""
    server = make_redis(tmp_path)
    server.start()
    with redis.Redis(unix_socket_path=str(server.socket_path)) as client:
        found = client.info("server")
        assert tuple(int(part) for part in found["valkey_version"].split(".")) >= (9, 1, 2)
        # The rate limits are a script.
        assert client.eval("return {KEYS[1], redis.call('TIME')[1]}", 1, "key")[0] == b"key"
    server.stop()


def test_redis_takes_over_the_file_of_earlier_releases(tmp_path: Path) -> None:
    """They ran Redis 6.2, which kept one append-only file in the folder."""
    words = [b"*2", b"$6", b"SELECT", b"$1", b"0", b"*3", b"$3", b"SET", b"$3", b"old", b"$1", b"1", b""]
    (tmp_path / "redis").mkdir()
    (tmp_path / "redis" / "appendonly.aof").write_bytes(b"\r\n".join(words))
    server = make_redis(tmp_path)
    server.start()
    with redis.Redis(unix_socket_path=str(server.socket_path)) as client:
        assert client.get("old") == b"1"
    server.stop()


def test_redis_reads_a_file_that_a_crash_cut_short(tmp_path: Path) -> None:
    server = make_redis(tmp_path)
    server.start()
    with redis.Redis(unix_socket_path=str(server.socket_path)) as client:
        client.set("first", "1")
        client.set("second", "2")
    server.stop()
    (log,) = (tmp_path / "redis" / "appendonlydir").glob("*.incr.aof")
    log.write_bytes(log.read_bytes()[:-3])
    server.start()
    with redis.Redis(unix_socket_path=str(server.socket_path)) as client:
        assert client.get("first") == b"1"
    server.stop()


def test_servers_die_with_the_process_that_started_them(tmp_path: Path, identity: str) -> None:
    reader, writer = os.pipe()
    parent = os.fork()
    if parent == 0:
        try:
            started = [make_postgres(tmp_path).start().pid, make_redis(tmp_path).start().pid]
            os.write(writer, " ".join(map(str, started)).encode())
        finally:
            # An error above must not go on with the tests in a second process.
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(parent, 0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        pids = [int(word) for word in pipe.read().split()]
    assert len(pids) == 2
    assert all(await_end(pid) for pid in pids)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops to another user")
def test_a_dropped_user_passes_private_folders_and_may_do_nothing_else(tmp_path: Path) -> None:
    """Postgres asks `access` about its own programs, which may lie in a private folder of root's."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "program").write_text("")
    ask = (
        f"import os; print(os.getuid(), os.access({str(private / 'program')!r}, os.R_OK)); "
        "print(*(line for line in open('/proc/self/status') if line.startswith(('CapEff', 'CapPrm'))))"
    )
    words = [*launcher_prefix(death_signal=15, identity=DROPPED), sys.executable, "-I", "-S", "-c", ask]
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split()
    assert said[:2] == ["65534", "True"]
    kept = f"{1 << CAP_DAC_OVERRIDE:016x}"
    assert said[2:] == ["CapPrm:", kept, "CapEff:", kept]


def test_a_long_data_folder_gets_a_short_private_socket_folder(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100)
    deep.mkdir()
    folder = socket_folder(deep)
    try:
        assert socket_folder(deep) == folder
        assert len(str(folder / ".s.PGSQL.5432")) < 108
        assert folder.stat().st_mode & 0o777 == 0o700
        folder.chmod(0o755)
        with pytest.raises(FolderUnusable, match="private"):
            socket_folder(deep)
    finally:
        folder.rmdir()
