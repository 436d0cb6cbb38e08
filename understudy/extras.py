"""How an extra of this distribution is installed, wherever the distribution came from.

The name ``understudy`` on PyPI belongs to another project, whose code a command with the bare name may install. Every command
therefore names the source that the installer noted in ``direct_url.json`` (PEP 610). In an environment of uv it is uv's command,
because there is no pip in it.
"""

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra from the known source, or words where no source is known."""
    origin = _origin()
    if origin is None:
        return (
            f"install the extra `{extra}` from the clone or wheel that understudy came from "
            "(the package `understudy` on PyPI is another project)"
        )
    command, rest = _command()
    if (path := _path(origin)) is None:
        return f"{command} {shlex.quote(_reference(extra, origin))}{rest}"
    # pip takes an editable source by its path alone, and without the option it would replace the link by a copy.
    option = " --editable" if origin.get("dir_info", {}).get("editable") and not rest else ""
    return f"{command}{option} {shlex.quote(f'{path}[{extra}]')}{rest}"


def direct_reference(extra: str) -> str | None:
    """Return the requirement (PEP 508) of an extra at its source; None where no source is known."""
    origin = _origin()
    return None if origin is None else _reference(extra, origin)


def _command() -> tuple[str, str]:
    """Return what stands before and after a requirement in the command that installs it into this environment."""
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").exists():
        return "uv tool install", ""
    configuration = prefix / "pyvenv.cfg"
    if not configuration.exists() or not re.search(r"^uv = ", configuration.read_text(), re.MULTILINE):
        return "pip install", ""
    # uvx makes an environment for one command in uv's cache; nothing can be added to it.
    if "UV" in os.environ and "relocatable = true" in configuration.read_text():
        return "uvx --from", " understudy"
    return "uv pip install", ""


def _reference(extra: str, origin: Mapping[str, Any]) -> str:
    url = origin["url"]
    if commit := origin.get("vcs_info"):
        url = f"{commit['vcs']}+{url}@{commit['commit_id']}"
    return f"understudy[{extra}] @ {url}"


def _origin() -> Mapping[str, Any] | None:
    """Return what the installer noted; None if nothing, if the files are gone, or if the address holds a credential."""
    try:
        noted = distribution("understudy").read_text("direct_url.json")
        origin: Mapping[str, Any] = json.loads(noted or "{}")
        user = urlsplit(origin["url"]).username
    except (PackageNotFoundError, ValueError, KeyError):
        return None
    path = _path(origin)
    gone = path is not None and not path.exists()
    return None if gone or user not in {None, "git"} else origin


def _path(origin: Mapping[str, Any]) -> Path | None:
    parts = urlsplit(origin["url"])
    return Path(url2pathname(parts.path)) if parts.scheme == "file" and "vcs_info" not in origin else None
