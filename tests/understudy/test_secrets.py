"""Keys, passwords and owner reports: shown to nobody by accident, neither in errors nor on the disk."""

import os
import traceback
from pathlib import Path

import httpx
import pytest

from tests.understudy.scripted import Script, client_of
from understudy import AsyncClient, Client, InputUnusable, NewKey
from understudy.cli.stack import announcement
from understudy.connection import Connection
from understudy.embedded.folder import DataFolder
from understudy.embedded.supervisor import Supervisor
from understudy.results.keys import ApiKey
from understudy.results.owner_reports import FAILED_MARK, ReportNotMade

KEY = {
    "id": "k", "principal_id": "p", "name": "n", "prefix": "ab", "expires_at": None, "last_used_at": None,
    "revoked_at": None, "roles": ["owner"], "scopes": [], "key": "us_ab_secret",
}  # fmt: skip


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "key", ["us_hidden\n", " us_hidden", "us_hiddén_hidden", "us_hidden\x00", "us hidden"]
)
def test_a_key_that_cannot_be_sent_is_refused_without_being_shown(
    kind: type[Client | AsyncClient], key: str
) -> None:
    """What sends headers would put the whole header into its error."""
    with pytest.raises(InputUnusable, match="API key") as refused:
        kind("http://service", key=key)
    told = "".join(traceback.TracebackException.from_exception(refused.value).format())
    assert "hidden" not in told
    assert refused.value.__cause__ is None


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize(
    "url",
    ["http://owner:secret@service", "https://secret@service", "secret", "http://[secret", "ftp://secret", ""],
)
def test_an_address_that_is_none_or_holds_a_password_is_refused_without_being_shown(
    kind: type[Client | AsyncClient], url: str
) -> None:
    with pytest.raises(InputUnusable, match="address of the service") as refused:
        kind(url, key="k")
    assert "secret" not in str(refused.value)


def test_what_a_program_prints_of_an_object_holds_no_key() -> None:
    connection = Connection("http://service", {"owner": "us_ab_secret"})
    for shown in (connection, NewKey.from_json(KEY), ApiKey.from_json(KEY)):
        assert "secret" not in repr(shown)
    assert NewKey.from_json(KEY).key == "us_ab_secret"


def test_a_sealed_report_is_private_from_its_first_byte(tmp_path: Path) -> None:
    modes: list[int] = []

    def content() -> object:
        yield b"real rows beside "
        modes.extend(file.stat().st_mode & 0o777 for file in tmp_path.iterdir())
        yield b"synthetic ones"

    before = os.umask(0o022)
    try:
        script = Script(httpx.Response(200, content=content()))  # type: ignore[arg-type]
        with client_of(script) as client:
            file = client.reports.download("s", tmp_path / "report.html")
    finally:
        os.umask(before)
    assert modes == [0o600], "while it arrives, too"
    assert file.stat().st_mode & 0o777 == 0o600


def test_other_files_are_as_readable_as_this_user_has_them(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with client_of(Script(httpx.Response(200, content=b"PK"))) as client:
            client.download_bundle("r", tmp_path / "bundle.zip")
    finally:
        os.umask(before)
    assert (tmp_path / "bundle.zip").stat().st_mode & 0o777 == 0o644


def test_the_account_of_a_failure_is_private_likewise(tmp_path: Path) -> None:
    script = Script(httpx.Response(200, content=FAILED_MARK))
    with client_of(script) as client, pytest.raises(ReportNotMade):
        client.reports.download("s", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600


def test_a_log_of_the_local_stack_holds_no_key(tmp_path: Path) -> None:
    """Where `understudy up` writes into a terminal it shows the keys; elsewhere it says where they are."""
    folder = DataFolder.prepare(tmp_path / "data")
    supervisor = Supervisor(folder, 8321)
    keys = folder.keys().values()
    assert all(key in announcement(supervisor, with_keys=True) for key in keys)
    logged = announcement(supervisor, with_keys=False)
    assert not any(key in logged for key in keys)
    assert str(folder.connection_file) in logged
