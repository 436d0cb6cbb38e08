"""Every command that asks a service takes the same three options, which are declared once."""

from typing import Annotated, Any
from uuid import UUID

import httpx
import pytest
import typer
from typer.testing import CliRunner

from tests.understudy.scripted import DATASET, Script, client_of
from understudy.cli import app
from understudy.cli.service import Commands, Service
from understudy.errors import InputUnusable


def commands(group: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        is_group = hasattr(command, "commands")
        found |= commands(command, (*path, name)) if is_group else {" ".join((*path, name)): command}
    return found


ALL = commands(typer.main.get_command(app))
OFFLINE = {"up", "sign-in", "backup", "restore", "ask", "check-rules", "dummy", "verify", "demo", "domain draft", "domain confirm", "quality verify"}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(ALL) - OFFLINE))
def test_a_command_takes_the_service_options(name: str) -> None:
    options = {option for parameter in ALL[name].params for option in parameter.opts}
    assert {"--url", "--key", "--data-folder", "--json"} <= options


@pytest.mark.parametrize("name", sorted(OFFLINE))
def test_a_command_that_asks_no_service_takes_no_address(name: str) -> None:
    assert not {"--url"} & {option for parameter in ALL[name].params for option in parameter.opts}


def test_the_options_arrive_together() -> None:
    told: list[object] = []
    group = Commands()

    @group.command("look")
    def look(
        thing: Annotated[str, typer.Argument()],
        *,
        loud: Annotated[bool, typer.Option("--loud")] = False,
        service: Service,
    ) -> None:
        told.extend((thing, loud, service.url, service.key, str(service.data_folder)))

    words = ["--key", "k", "it", "--data-folder", "there", "--loud", "--url", "http://here"]
    ran = CliRunner().invoke(group, words)
    assert ran.exit_code == 0, ran.output
    assert told == ["it", True, "http://here", "k", "there"]


def ids(number: int) -> str:
    return str(UUID(int=number))


def listed(monkeypatch: pytest.MonkeyPatch, *named: tuple[int, str, str]) -> Script:
    """Let the service list datasets, newest first, of these ids, names and populations."""
    items = [DATASET | {"id": ids(number), "name": name, "population_id": of} for number, name, of in named]
    script = Script(httpx.Response(200, json={"items": items, "next_before": None}))
    monkeypatch.setattr(Service, "governing_client", lambda _self: client_of(script))
    return script


def group_that_takes(told: list[object]) -> Commands:
    group = Commands()

    @group.command("one")
    def one(dataset: Annotated[str | None, typer.Argument()] = None, *, service: Service) -> None:
        told.append(dataset)

    @group.command("many")
    def many(datasets: Annotated[list[str], typer.Argument()], *, service: Service) -> None:
        told.extend(datasets)

    return group


def test_a_name_stands_for_the_newest_version(monkeypatch: pytest.MonkeyPatch) -> None:
    script = listed(monkeypatch, (3, "wards", "p"), (2, "beds", "q"), (1, "wards", "p"))
    told: list[object] = []
    ran = CliRunner().invoke(group_that_takes(told), ["one", "wards"])
    assert ran.exit_code == 0, ran.output
    assert told == [ids(3)]
    assert [str(request.url.path) for request in script.requests] == ["/v1/datasets"]


def test_several_names_and_ids_may_be_given(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, (3, "wards", "p"))
    told: list[object] = []
    ran = CliRunner().invoke(group_that_takes(told), ["many", ids(7), "wards"])
    assert ran.exit_code == 0, ran.output
    assert told == [ids(7), ids(3)]


@pytest.mark.parametrize("words", [["one"], ["one", ids(5)]])
def test_an_id_asks_nobody(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.delattr(Service, "governing_client")
    told: list[object] = []
    ran = CliRunner().invoke(group_that_takes(told), words)
    assert ran.exit_code == 0, ran.output
    assert told == [*words[1:], None][:1]


def test_a_name_that_is_none_is_refused_with_a_near_one(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, (3, "wards", "p"))
    with pytest.raises(InputUnusable, match="no dataset with the id or name 'ward'; did you mean 'wards'"):
        Service().dataset_id("ward")


def test_one_name_of_several_populations_is_refused_with_their_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    listed(monkeypatch, (3, "wards", "p"), (2, "wards", "q"))
    with pytest.raises(InputUnusable, match=f"several datasets are named 'wards'.*{ids(3)}, {ids(2)}"):
        Service().dataset_id("wards")


def test_every_command_that_takes_a_dataset_takes_its_name() -> None:
    written = {
        name: parameter.help
        for name, command in ALL.items()
        for parameter in command.params
        if parameter.name in {"dataset", "datasets", "dataset_id"}
    }
    assert len(written) > 15
    assert {name for name, words in written.items() if not words.lower().startswith("name")} == set()
