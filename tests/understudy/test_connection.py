import json
from pathlib import Path

import pytest

from understudy import InputUnusable, NoKey, NoService
from understudy.connection import (
    default_data_folder,
    find_connection,
    named_connection,
    running_connection,
)


def test_nothing_named_means_no_connection() -> None:
    assert named_connection(url=None, key="k", environment={}) is None


def test_the_command_line_wins_over_the_environment() -> None:
    environment = {"UNDERSTUDY_URL": "http://there", "UNDERSTUDY_OWNER_KEY": "o"}
    found = named_connection(url="http://here", key="k", environment=environment)
    assert found is not None
    assert (found.url, found.keys) == ("http://here", {"owner": "k", "admin": "k", "analyst": "k"})


def test_keys_come_by_role_or_for_all() -> None:
    environment = {"UNDERSTUDY_URL": "http://there", "UNDERSTUDY_KEY": "a", "UNDERSTUDY_OWNER_KEY": "o"}
    found = named_connection(url=None, key=None, environment=environment)
    assert found is not None
    assert found.keys == {"owner": "o", "admin": "a", "analyst": "a"}


def test_a_missing_key_names_its_variable() -> None:
    found = named_connection(url="http://here", key=None, environment={"UNDERSTUDY_OWNER_KEY": "o"})
    assert found is not None
    with pytest.raises(NoKey, match="UNDERSTUDY_ADMIN_KEY"):
        found.client("admin")
    found.any_client().close()


def test_an_announcement_of_a_dead_stack_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "connection.json").write_text(
        json.dumps({"url": "http://127.0.0.1:9", "keys": {"owner": "k"}})
    )
    assert running_connection(tmp_path) is None
    with pytest.raises(NoService, match="understudy up"):
        find_connection(url=None, key=None, data_folder=tmp_path)


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a local stack that answers."""
    keys = {"owner": "o", "admin": "a", "analyst": "n"}
    (tmp_path / "connection.json").write_text(json.dumps({"url": "http://here", "keys": keys}))
    monkeypatch.setattr("understudy.connection.Client.check_health", lambda _client: None)
    return tmp_path


def test_a_key_that_is_given_wins_over_the_keys_of_the_local_stack(stack: Path) -> None:
    found = find_connection(url=None, key="mine", data_folder=stack)
    assert found.keys == {"owner": "mine", "admin": "mine", "analyst": "mine"}


def test_keys_of_the_environment_win_unless_a_data_folder_is_given(
    stack: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_DATA_FOLDER", str(stack))
    monkeypatch.setenv("UNDERSTUDY_ANALYST_KEY", "mine")
    found = find_connection(url=None, key=None, data_folder=None)
    assert found.keys == {"owner": "o", "admin": "a", "analyst": "mine"}
    named = find_connection(url=None, key=None, data_folder=stack)
    assert named.keys == {"owner": "o", "admin": "a", "analyst": "n"}


def test_a_broken_announcement_is_named(tmp_path: Path) -> None:
    (tmp_path / "connection.json").write_text("{}")
    with pytest.raises(InputUnusable, match=r"connection\.json"):
        running_connection(tmp_path)


def test_the_data_folder_follows_the_environment() -> None:
    assert default_data_folder({"UNDERSTUDY_DATA_FOLDER": "/a"}) == Path("/a")
    assert default_data_folder({"XDG_DATA_HOME": "/b"}) == Path("/b/understudy")
