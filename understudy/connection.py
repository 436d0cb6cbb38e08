"""Choice of the service and of the keys: from options, from the environment, or from the data folder of a running stack."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from understudy.client import Client
from understudy.errors import InputUnusable, NoKey, NoService, ServiceUnreachable, UnexpectedAnswer
from understudy.http.exchange import Repetitions

ROLES = ("owner", "admin", "analyst")
GOVERNING = ("admin", "owner", "analyst")


@dataclass(frozen=True, slots=True)
class Connection:
    """A service, and the API key for it by role; one key may stand for several roles."""

    url: str
    keys: Mapping[str, str] = field(repr=False)

    def client(self, role: str) -> Client:
        """Return a client that acts as ``owner``, ``admin`` or ``analyst``.

        Raises:
            NoKey: if there is no key for it.
        """
        if role not in self.keys:
            message = f"this needs the {role}'s API key: give --key, or set UNDERSTUDY_{role.upper()}_KEY"
            raise NoKey(message)
        return Client(self.url, key=self.keys[role])

    def governing_client(self) -> Client:
        """Return a client for decisions on budgets and members: the admin's, else the owner's, else the analyst's.

        Raises:
            NoKey: if there is no key at all.
        """
        return self.client(next((role for role in GOVERNING if role in self.keys), GOVERNING[0]))

    def acting_with(self, key: str | None, *, data_folder: Path | None) -> "Connection":
        """Return the same connection with the keys that the command line or the environment gives.

        A given key wins over the keys of the local stack, so that no command acts as another principal by mistake. A data folder
        given on the command line is used with its own keys; the environment is then ignored.
        """
        given = given_keys(key, environment={} if data_folder else os.environ)
        return Connection(self.url, {**self.keys, **given})

    def any_client(self) -> Client:
        """Return a client for what every role may read.

        Raises:
            NoKey: if there is no key at all.
        """
        return self.client(next((role for role in reversed(ROLES) if role in self.keys), ROLES[0]))


def default_data_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the data folder used when none is named."""
    if named := environment.get("UNDERSTUDY_DATA_FOLDER"):
        return Path(named)
    base = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "understudy"


def named_connection(
    *, url: str | None, key: str | None, environment: Mapping[str, str] = os.environ
) -> Connection | None:
    """Return the connection that options or the environment name, or None where they name no address. A given key stands for every role."""
    address = url or environment.get("UNDERSTUDY_URL")
    if not address:
        return None
    return Connection(address, given_keys(key, environment=environment))


def given_keys(key: str | None, *, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the key of each role that the command line or the environment gives."""
    for_all = key or environment.get("UNDERSTUDY_KEY")
    for_each = {} if key else {role: environment.get(f"UNDERSTUDY_{role.upper()}_KEY") for role in ROLES}
    keys = {role: for_each.get(role) or for_all for role in ROLES}
    return {role: text for role, text in keys.items() if text}


def running_connection(data_folder: Path) -> Connection | None:
    """Return the connection to the stack that runs on a data folder, or None if none answers.

    A killed stack leaves its announcement behind, so the service must answer a health check.
    """
    connection = announced_connection(data_folder)
    if connection is None:
        return None
    with Client(connection.url, key="", repetitions=Repetitions(attempts=1)) as client:
        try:
            client.check_health()
        except (ServiceUnreachable, UnexpectedAnswer):
            return None
    return connection


def announced_connection(data_folder: Path) -> Connection | None:
    """Read the announcement in a data folder.

    Raises:
        InputUnusable: if it is there but cannot be read.
    """
    file = data_folder.expanduser() / "connection.json"
    try:
        document = json.loads(file.read_text())
        return Connection(str(document["url"]), dict(document["keys"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        message = f"{file} cannot be read; stop the stack and start it again, or give --url and --key"
        raise InputUnusable(message) from None


def existing_connection(
    *, url: str | None = None, key: str | None = None, data_folder: Path | None = None
) -> Connection | None:
    """Return the connection that is named, else that of the running local stack, or None if there is neither."""
    named = None if data_folder and not url else named_connection(url=url, key=key)
    if named is not None:
        return named
    found = running_connection(data_folder or default_data_folder())
    return None if found is None else found.acting_with(key, data_folder=data_folder)


def find_connection(
    *, url: str | None = None, key: str | None = None, data_folder: Path | None = None
) -> Connection:
    """Find the service to talk to; without arguments the one that the environment names or that runs on this machine.

    Raises:
        NoService: if nothing names one and none runs here.
    """
    folder = data_folder or default_data_folder()
    found = existing_connection(url=url, key=key, data_folder=data_folder)
    if found is None:
        message = (
            f"no service: none runs on {folder}; start one with `understudy up`, or give --url and --key"
        )
        raise NoService(message)
    return found
