"""Every command that asks a service takes the same three options, which are declared once."""

from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from understudy.cli import app
from understudy.cli.service import Commands, Service


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
