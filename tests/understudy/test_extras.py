"""How an extra is installed: by a command that names the source, never by the bare name."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from understudy.errors import library_missing
from understudy.extras import direct_reference, how_to_install

Noted = Callable[[Any], None]


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Noted:
    """Let the installer have noted a source; text is taken as it is."""

    def note(source: object) -> None:
        text = source if isinstance(source, str | None) else json.dumps(source)
        monkeypatch.setattr(
            "understudy.extras.distribution", lambda _name: SimpleNamespace(read_text=lambda _file: text)
        )

    return note


def test_a_wheel_and_a_clone_are_named_by_their_paths(noted: Noted, tmp_path: Path) -> None:
    wheel = tmp_path / "a folder" / "understudy-1-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    noted({"url": wheel.as_uri(), "archive_info": {}})
    assert shlex.split(how_to_install("all")) == ["pip", "install", f"{wheel}[all]"]
    assert direct_reference("all") == f"understudy[all] @ {wheel.as_uri()}"
    noted({"url": tmp_path.as_uri(), "dir_info": {}})
    assert how_to_install("audit") == f"pip install '{tmp_path}[audit]'"
    noted({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert how_to_install("audit") == f"pip install --editable '{tmp_path}[audit]'"


def test_in_an_environment_of_uv_the_command_is_that_of_uv(
    noted: Noted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    noted({"url": tmp_path.as_uri(), "dir_info": {}})
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("UV", "/bin/uv")
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nversion_info = 3.11.2\n")
    assert how_to_install("all") == f"pip install '{tmp_path}[all]'"
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\n")
    assert how_to_install("all") == f"uv pip install '{tmp_path}[all]'", "it has no pip"
    (tmp_path / "pyvenv.cfg").write_text("home = /usr/bin\nuv = 0.13.9\nrelocatable = true\n")
    assert how_to_install("all") == f"uvx --from '{tmp_path}[all]' understudy", "made by uvx for one command"
    (tmp_path / "uv-receipt.toml").touch()
    assert how_to_install("all") == f"uv tool install '{tmp_path}[all]'"


def test_a_refusal_names_the_extra_that_has_everything_first(noted: Noted, tmp_path: Path) -> None:
    noted({"url": tmp_path.as_uri(), "dir_info": {}})
    message = str(library_missing("drafting a domain", "numpy", extra="offline"))
    assert message == (
        f"drafting a domain needs numpy: pip install '{tmp_path}[all]'; "
        "for this alone the extra `offline` is enough"
    )
    assert str(library_missing("plotting", "matplotlib")) == (
        f"plotting needs matplotlib: pip install '{tmp_path}[all]'"
    )


def test_an_address_is_named_with_its_commit(noted: Noted) -> None:
    noted({"url": "https://host.example/u.whl", "archive_info": {}})
    assert how_to_install("all") == "pip install 'understudy[all] @ https://host.example/u.whl'"
    noted({"url": "https://host.example/u.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}})
    assert direct_reference("all") == "understudy[all] @ git+https://host.example/u.git@abc"


@pytest.mark.parametrize(
    "source",
    [
        None,
        "{",
        {},
        {"url": "file:///nowhere/understudy.whl", "archive_info": {}},
        {"url": "https://token@host.example/u.whl", "archive_info": {}},
    ],
    ids=["index", "broken", "empty", "gone", "credential"],
)
def test_without_a_usable_source_words_and_no_command(noted: Noted, source: object) -> None:
    noted(source)
    said = how_to_install("all")
    assert "the extra `all` from the clone or wheel that understudy came from" in said
    assert "pip install" not in said
    assert direct_reference("all") is None
