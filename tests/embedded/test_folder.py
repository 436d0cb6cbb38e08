import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from core.platform.access.keys import parse_key
from core.platform.settings import Settings
from understudy.embedded.child import LOG_LIMIT_BYTES, log_tail, rotate
from understudy.embedded.errors import FolderInUse, FolderUnusable
from understudy.embedded.folder import DataFolder, write_private
from understudy.embedded.roles import role_environment
from understudy.local import set_cap


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_everything_is_readable_by_its_user_only(tmp_path: Path) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    folder.master_key()
    folder.announce("http://127.0.0.1:1")
    lock = folder.lock()
    for path in folder.path.rglob("*"):
        assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert mode(folder.path) == 0o700
    lock.release()


def test_secrets_are_made_once(tmp_path: Path) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    again = DataFolder.prepare(tmp_path / "data")
    assert folder.master_key() == again.master_key()
    assert re.fullmatch("[0-9a-f]{64}", folder.master_key())
    assert folder.keys() == again.keys()
    assert DataFolder.prepare(tmp_path / "other").master_key() != folder.master_key()


def test_a_stack_starts_where_the_library_keeps_its_ledgers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_DATA_FOLDER", str(tmp_path))
    set_cap("patients", epsilon=1.0, delta=1e-6)
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert kept
    DataFolder.prepare(tmp_path).master_key()
    assert all(path.read_bytes() == content for path, content in kept.items())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(FolderUnusable, match="holds other files"):
        DataFolder.prepare(tmp_path / "other")


def test_keys_have_the_form_that_the_service_takes(tmp_path: Path) -> None:
    keys = DataFolder.prepare(tmp_path / "data").keys()
    assert set(keys) == {"owner", "admin", "analyst"}
    assert all(parse_key(key) is not None for key in keys.values())
    assert len(set(keys.values())) == 3


def test_the_announcement_holds_address_and_keys_until_withdrawn(tmp_path: Path) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    folder.announce("http://127.0.0.1:1")
    assert json.loads(folder.connection_file.read_text()) == {
        "url": "http://127.0.0.1:1",
        "keys": folder.keys(),
    }
    folder.withdraw()
    assert not folder.connection_file.exists()
    folder.withdraw()


def test_a_folder_with_other_things_is_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "letter.txt").touch()
    with pytest.raises(FolderUnusable, match="other files"):
        DataFolder.prepare(home)
    assert mode(home) == 0o755
    assert [path.name for path in home.iterdir()] == ["letter.txt"]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    with pytest.raises(FolderUnusable, match="cannot make"):
        DataFolder.prepare(tmp_path / "data")


def test_the_lock_is_exclusive_names_its_holder_and_ends_with_the_process(tmp_path: Path) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    program = (
        "import sys, time; from pathlib import Path; from understudy.embedded.folder import DataFolder\n"
        f"lock = DataFolder.prepare(Path({str(folder.path)!r})).lock(); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with pytest.raises(FolderInUse, match=f"process {holder.pid}"):
        folder.lock()
    holder.kill()
    holder.wait()
    holder.stdout.close()
    folder.lock().release()


def test_a_private_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    write_private(file, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(file, "\ud800")
    assert file.read_text() == "old"


def test_roles_get_settings_that_the_service_accepts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    environment = role_environment(folder, database_url="postgresql://x", broker_url="redis://x", port=4321)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    settings = Settings()  # type: ignore[call-arg]
    assert (settings.mode, settings.port, settings.host) == ("embedded", 4321, "127.0.0.1")
    assert settings.master_key.get_secret_value() == folder.master_key()
    assert os.environ["UNDERSTUDY_STORAGE_URL"] == (folder.path / "objects").as_uri()


def test_a_long_log_is_turned_over_once(tmp_path: Path) -> None:
    log = tmp_path / "api.log"
    with log.open("wb") as stream:
        stream.truncate(LOG_LIMIT_BYTES + 1)
    rotate(log)
    assert [path.name for path in tmp_path.iterdir()] == ["api.log.1"]
    rotate(log)
    assert log_tail(log) == "(no log)"
    log.write_text("\n".join(map(str, range(20))))
    assert log_tail(log, lines=2) == "18\n19"


def test_what_a_crash_left_of_uploads_is_removed_and_nothing_else(tmp_path: Path) -> None:
    folder = DataFolder.prepare(tmp_path / "data")
    key = folder.master_key()
    (folder.path / "scratch" / "intake-x").write_bytes(b"sealed")
    (folder.path / "objects" / "kept").write_bytes(b"sealed")
    folder.clear_scratch()
    assert list((folder.path / "scratch").iterdir()) == []
    assert (folder.path / "objects" / "kept").exists()
    assert folder.master_key() == key
