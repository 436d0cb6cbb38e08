"""The options that say which service a command talks to, declared once and given to every command that needs them."""

import inspect
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID

import typer
from typer.core import TyperCommand, TyperGroup

from understudy.cli.options import DataFolderPath, Key, Url
from understudy.cli.sections import WholeSentences
from understudy.client import Client
from understudy.connection import Connection, find_connection
from understudy.errors import InputUnusable
from understudy.near_names import suggestion

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Service:
    """``--url``, ``--key`` and ``--data-folder`` of one command line.

    Attributes:
        url: address of a running service.
        key: API key for every role.
        data_folder: data folder of the local stack.
    """

    url: str | None = None
    key: str | None = None
    data_folder: Path | None = None

    def connect(self) -> Connection:
        """Find the service.

        Raises:
            NoService: if nothing names one and none runs here.
        """
        return find_connection(url=self.url, key=self.key, data_folder=self.data_folder)

    def client(self, role: str) -> Client:
        """Return a client that acts in a role; see `Connection.client`."""
        return self.connect().client(role)

    def governing_client(self) -> Client:
        """Return a client of the admin, else of the owner, else of any role with a key."""
        return self.connect().governing_client()

    def any_client(self) -> Client:
        """Return a client for what every role may read."""
        return self.connect().any_client()

    def dataset_id(self, written: str) -> str:
        """Return the id of a dataset given by id or by name; of several versions, the newest's.

        Raises:
            InputUnusable: no dataset that the key may see has this name, or datasets of several populations have it.
        """
        with suppress(ValueError):
            return str(UUID(written))
        with self.governing_client() as client:
            known = client.list_datasets()  # newest first
        named = [dataset for dataset in known if dataset.name == written]
        if not named:
            near = suggestion(written, [dataset.name for dataset in known])
            message = f"your key sees no dataset with the id or name {written!r}{near}"
            raise InputUnusable(message)
        if len({dataset.population_id for dataset in named}) > 1:
            ids = ", ".join(dataset.id for dataset in named)
            message = f"several datasets are named {written!r}: give one of their ids: {ids}"
            raise InputUnusable(message)
        return named[0].id


OPTIONS = [
    inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
    for name, annotation in (("url", Url), ("key", Key), ("data_folder", DataFolderPath))
]


class ExplainsMissing(TyperCommand):
    """A command that says of a required option which is missing what it means and what to give."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - of click, which typer brings
        """Parse the words of a command line."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if not error.message:  # as of one that is missing
                error.message = getattr(error.param, "help", None) or ""
            raise


class Commands(typer.Typer):
    """A group of commands. One that declares ``service: Service`` gets ``--url``, ``--key`` and ``--data-folder``.

    Its parameters ``dataset`` and ``datasets`` may be given by name; the command gets ids.
    """

    def __init__(self, *, cls: type[TyperGroup] = WholeSentences, **settings: Any) -> None:  # noqa: ANN401 - typer's
        super().__init__(cls=cls, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Function], Function]:  # noqa: ANN401 - typer's
        """Register a command; as `typer.Typer.command`."""
        register = super().command(name, **({"cls": ExplainsMissing} | settings))

        def add(function: Function) -> Function:
            register(_with_options(function))
            return function

        return add


def _with_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Replace the parameter ``service`` of a command by the three options, which typer reads from the signature.

    Names of datasets become ids.
    """
    signature = inspect.signature(function)
    if "service" not in signature.parameters:
        return function

    @wraps(function)
    def run(*, url: str | None, key: str | None, data_folder: Path | None, **others: Any) -> None:  # noqa: ANN401 - any options
        service = Service(url, key, data_folder)
        # Wherever a command says "Name or id", its parameter has one of these names.
        if others.get("dataset") is not None:
            others["dataset"] = service.dataset_id(others["dataset"])
        if "datasets" in others:
            others["datasets"] = [service.dataset_id(each) for each in others["datasets"]]
        function(**others, service=service)

    parameters = [each for each in signature.parameters.values() if each.name != "service"] + OPTIONS
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # of every function
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
