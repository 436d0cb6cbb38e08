"""`understudy doctor` from outside: a data folder in every state, a service that does not answer."""

import json
import stat
from pathlib import Path

import pytest

from tests.understudy.test_cli import run
from understudy import doctor
from understudy.doctor import REMEDIES, examine_folder, examine_service, findings_of
from understudy.embedded.folder import DataFolder
from understudy.errors import UnexpectedAnswer


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return DataFolder.prepare(tmp_path / "data")


def codes(path: Path) -> list[str]:
    return [one.code for one in examine_folder(path) if one.code != "disk-full"]


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    assert codes(tmp_path) == ["folder-missing"]


def test_a_folder_without_a_stack(folder: DataFolder) -> None:
    assert codes(folder.path) == ["stack-down"]


def test_a_folder_that_others_may_enter(folder: DataFolder) -> None:
    folder.path.chmod(0o755)
    assert codes(folder.path) == ["folder-open", "stack-down"]


def test_secrets_that_others_may_read(folder: DataFolder) -> None:
    folder.master_key()
    folder.keys()
    (folder.path / "master.key").chmod(0o644)
    folder.keys_file.chmod(0o600 | stat.S_IRGRP)
    assert codes(folder.path) == ["secret-open", "secret-open", "stack-down"]


def test_a_database_without_its_master_key(folder: DataFolder) -> None:
    (folder.path / "postgres" / "cluster").mkdir()
    assert codes(folder.path) == ["master-key-missing", "stack-down"]


def test_a_full_disk(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "FULL_BYTES", 2**80)
    assert [one.code for one in examine_folder(folder.path)] == ["disk-full", "stack-down"]


def test_missing_programs(folder: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.embedded.postgres.find_spec", lambda _name: None)
    assert codes(folder.path) == ["wheels-missing", "stack-down"]


def test_a_stack_whose_api_is_silent_is_examined_from_here(folder: DataFolder) -> None:
    lock = folder.lock()
    try:
        (folder.path / "postgres" / "password").write_text("secret")
        folder.announce("http://127.0.0.1:1")
        found = codes(folder.path)
    finally:
        lock.release()
    assert found[0] == "stack-silent"
    assert {"database-away", "broker-away"} <= set(found)


def test_a_broken_announcement(folder: DataFolder) -> None:
    lock = folder.lock()
    folder.connection_file.touch(mode=0o600)
    folder.connection_file.write_text("no json")
    found = codes(folder.path)
    lock.release()
    assert found == ["announcement-broken"]


def test_a_service_that_does_not_answer_or_wants_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    assert examine_service(url=None, key=None) is None
    (away,) = examine_service(url="http://127.0.0.1:1", key="us_x") or []
    assert away.code == "service-unreachable"
    (refused,) = examine_service(url="http://127.0.0.1:1", key=None) or []
    assert refused.code == "report-refused"


def test_a_report_of_another_form_is_refused() -> None:
    assert findings_of({"findings": []}) == []
    for report in ({}, {"findings": [{"code": "a"}]}, {"findings": 3}):
        with pytest.raises(UnexpectedAnswer):
            findings_of(report)


def test_the_command_prints_findings_and_its_status_says_whether_there_is_a_problem(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "FULL_BYTES", 0)
    assert run(monkeypatch, "doctor", "--data-folder", folder.path) == 0
    said = capsys.readouterr().out
    assert "[stack-down]" in said
    assert "understudy up" in said
    folder.path.chmod(0o755)
    assert run(monkeypatch, "doctor", "--data-folder", folder.path, "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["status"] == "ailing"
    assert [one["code"] for one in document["findings"]] == ["folder-open", "stack-down"]


def test_every_code_is_explained_in_the_operations_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    for code, (grade, remedy) in REMEDIES.items():
        assert f"| `{code}` | {grade} |" in page
        assert remedy
