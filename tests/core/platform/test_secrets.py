import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import ValidationError

from core.platform.secrets import (
    SecretFileUnusable,
    WeakSecrets,
    read_secret_file,
    weakness_of_address,
    weakness_of_key,
    weakness_of_password,
    weakness_of_store,
)
from core.platform.settings import Settings, read_settings, require_strong_secrets
from tests.conftest import MASTER_KEY

ROOT = Path(__file__).parents[3]
STRONG = secrets.token_hex(24)


def test_random_keys_are_strong() -> None:
    assert [weakness_of_key(os.urandom(32)) for _ in range(2000)] == [None] * 2000


@pytest.mark.parametrize(
    "key",
    [
        bytes.fromhex(MASTER_KEY),
        bytes.fromhex("0123456789abcdef" * 4),
        bytes.fromhex("deadbeef" * 8),
        bytes(range(32)),
        bytes(range(255, 223, -1)),
        bytes(3 * number % 256 for number in range(32)),
        bytes(31) + b"\x01",
        (b"0123456789abcdefghijklmn" + b"opqrstuv")[:32],
        b"correct horse battery staple 123",
        bytes.fromhex("9d3c51f0a76b2ee8410fd2986c35b7ea") * 2,
        bytes.fromhex("00" * 16 + "ff" * 16),
    ],
    ids=lambda key: key.hex()[:12] if len(set(key)) < 20 else "example",
)
def test_keys_that_are_none(key) -> None:
    assert weakness_of_key(key)


@pytest.mark.parametrize(
    "password",
    [
        "",
        "understudy",
        "Password",
        "postgres123",
        "changeme!",
        "minioadmin",
        "a1b2c3",
        "aaaaaaaaaaaaaaaa",
        "admin-1",
    ],
)
def test_passwords_that_are_none(password) -> None:
    weakness = weakness_of_password(password)
    assert weakness
    assert not password or password not in weakness


def test_a_password_that_is_the_users_name() -> None:
    assert weakness_of_password("Statistics-Office-7", user="statistics-office-7")
    assert weakness_of_password(STRONG, user="understudy") is None


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql+psycopg://understudy:{STRONG}@postgres:5432/understudy",
        f"postgresql://understudy@db/x?password={STRONG}",
        f"redis://:{STRONG}@redis:6379/0",
        "postgresql://understudy@/db?host=/run/postgres",
        "postgresql://understudy@%2Frun%2Fpostgres/db",
        "redis+socket:///run/redis.sock",
        "memory://",
    ],
    ids=range(7),
)
def test_addresses_that_hold_a_secret_or_need_none(address) -> None:
    assert weakness_of_address(address) is None


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://understudy:understudy@db/x",
        "postgresql://understudy@db/x",
        "postgresql://understudy@/x?host=db",
        "postgresql://u:pass%77ord@db/x",
        "redis://redis:6379/0",
        "redis://:redis@redis/0",
    ],
)
def test_addresses_with_default_passwords_or_none(address) -> None:
    assert weakness_of_address(address)


def test_the_store_counts_where_its_keys_are_in_the_environment() -> None:
    assert weakness_of_store({}) is None
    assert weakness_of_store({"AWS_SECRET_ACCESS_KEY": STRONG}) is None
    assert weakness_of_store({"AWS_SECRET_ACCESS_KEY": "minioadmin"})


def environment(**changes: str) -> dict[str, str]:
    return {
        "UNDERSTUDY_DATABASE_URL": f"postgresql://u:{STRONG}@db/x",
        "UNDERSTUDY_BROKER_URL": f"redis://:{STRONG}@redis/0",
        "UNDERSTUDY_STORAGE_URL": "memory://",
        "UNDERSTUDY_SCRATCH_FOLDER": "/nowhere",
        "UNDERSTUDY_MASTER_KEY": secrets.token_hex(32),
    } | changes


@pytest.fixture
def read(monkeypatch):
    def read(**changes: str) -> Settings:
        for name, value in environment(**changes).items():
            monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name, raising=False)
        read_settings.cache_clear()
        return read_settings()

    yield read
    read_settings.cache_clear()


def test_strong_secrets_are_accepted(read) -> None:
    assert read().mode == "production"


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"UNDERSTUDY_MASTER_KEY": MASTER_KEY}, "UNDERSTUDY_MASTER_KEY"),
        ({"UNDERSTUDY_DATABASE_URL": "postgresql://u:sesame@db/x"}, "UNDERSTUDY_DATABASE_URL"),
        ({"UNDERSTUDY_BROKER_URL": "redis://:sesame@redis/0"}, "UNDERSTUDY_BROKER_URL"),
        (
            {
                "UNDERSTUDY_OIDC_ISSUER": "http://id.example",
                "UNDERSTUDY_OIDC_AUDIENCE": "understudy",
                "UNDERSTUDY_OIDC_ROLE_MAP": '{"a": "owner"}',
            },
            "UNDERSTUDY_OIDC_ISSUER",
        ),
        (
            {"UNDERSTUDY_STORAGE_URL": "s3://bucket", "AWS_SECRET_ACCESS_KEY": "sesame"},
            "AWS_SECRET_ACCESS_KEY",
        ),
    ],
    ids=["master key", "database", "broker", "issuer", "store"],
)
def test_a_weak_secret_is_refused_by_name_and_never_shown(read, changes, named) -> None:
    with pytest.raises(WeakSecrets) as refusal:
        read(**changes)
    assert named in str(refusal.value)
    assert len(refusal.value.reasons) == 1
    for value in (MASTER_KEY, "sesame", "id.example"):
        assert value not in str(refusal.value)
    assert read(**changes, UNDERSTUDY_MODE="embedded"), "the embedded stack makes its own"


def test_all_weak_secrets_are_reported_at_once(settings) -> None:
    with pytest.raises(WeakSecrets) as refusal:
        require_strong_secrets(
            settings.model_copy(update={"mode": "production", "broker_url": "redis://redis/0"})
        )
    assert len(refusal.value.reasons) == 2


# --- the master key from a file ----------------------------------------------------------------------------------


@pytest.fixture
def key_file(tmp_path) -> Path:
    path = tmp_path / "master-key"
    path.write_text(secrets.token_hex(32) + "\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_the_master_key_may_come_from_a_file(read, key_file, mode) -> None:
    key_file.chmod(mode)
    found = read(UNDERSTUDY_MASTER_KEY="", UNDERSTUDY_MASTER_KEY_FILE=str(key_file))
    assert found.master_key_bytes.hex() == key_file.read_text().strip()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_file_that_others_may_read_is_refused(read, key_file, mode) -> None:
    key_file.chmod(mode)
    with pytest.raises(ValidationError, match="0600 or 0400") as refusal:
        read(UNDERSTUDY_MASTER_KEY="", UNDERSTUDY_MASTER_KEY_FILE=str(key_file))
    assert key_file.read_text().strip() not in str(refusal.value)


def test_a_file_mounted_by_the_container_engine_may_be_readable_inside(key_file, monkeypatch) -> None:
    key_file.chmod(0o444)
    monkeypatch.setattr("core.platform.secrets.SECRETS_FOLDER", key_file.parent)
    assert len(read_secret_file(key_file)) == 64


def test_a_link_does_not_make_a_file_a_mounted_one(key_file, tmp_path, monkeypatch) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    monkeypatch.setattr("core.platform.secrets.SECRETS_FOLDER", folder)
    key_file.chmod(0o644)
    (folder / "key").symlink_to(key_file)
    with pytest.raises(SecretFileUnusable):
        read_secret_file(folder / "key")


def test_files_that_hold_nothing(tmp_path) -> None:
    empty, binary = tmp_path / "empty", tmp_path / "binary"
    empty.write_text(" \n")
    binary.write_bytes(os.urandom(32) + b"\xff")
    for path in (empty, binary):
        path.chmod(0o600)
    for path in (empty, binary, tmp_path / "nowhere", tmp_path):
        with pytest.raises(SecretFileUnusable):
            read_secret_file(path)


def test_two_sources_of_a_master_key_are_one_too_many(read, key_file) -> None:
    with pytest.raises(ValidationError, match="not both"):
        read(UNDERSTUDY_MASTER_KEY_FILE=str(key_file))


def test_a_malformed_setting_does_not_show_its_value(read) -> None:
    with pytest.raises(ValidationError) as refusal:
        read(UNDERSTUDY_MASTER_KEY="open-sesame")
    assert "open-sesame" not in str(refusal.value)
    assert "master_key" in str(refusal.value)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"UNDERSTUDY_OIDC_AUDIENCE": "understudy"},
        {"UNDERSTUDY_OIDC_ROLE_MAP": '{"a": "owner"}'},
        {"UNDERSTUDY_OIDC_AUDIENCE": "understudy", "UNDERSTUDY_OIDC_ROLE_MAP": '{"a": "root"}'},
    ],
    ids=["neither", "audience", "roles", "unknown role"],
)
def test_a_provider_needs_an_audience_and_roles(read, changes) -> None:
    with pytest.raises(ValidationError):
        read(UNDERSTUDY_OIDC_ISSUER="https://id.example", **changes)


# --- the processes themselves ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["-c", "import service.asgi"], id="service", marks=pytest.mark.long),
        pytest.param(["-m", "workers.upkeep"], id="upkeep"),
        pytest.param(["-m", "service.provision", "--first-admin"], id="provision", marks=pytest.mark.long),
    ],
)
def test_a_process_with_a_weak_secret_does_not_start(command) -> None:
    weak = environment(UNDERSTUDY_MASTER_KEY=MASTER_KEY, UNDERSTUDY_BROKER_URL="redis://:sesame@redis/0")
    finished = subprocess.run(
        [sys.executable, *command],
        check=False,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"]} | weak,
        cwd=ROOT,
        timeout=600,
    )
    assert finished.returncode != 0
    told = finished.stdout + finished.stderr
    assert "UNDERSTUDY_MASTER_KEY is a published example" in told
    assert "UNDERSTUDY_BROKER_URL" in told
    assert MASTER_KEY not in told
    assert "sesame" not in told
