"""``understudy signing-keys``: the service's public keys, for ``understudy verify``."""

import json
from pathlib import Path
from typing import Annotated

import typer

from understudy.cli.options import AlreadyJson
from understudy.cli.service import Service


def signing_keys(
    out: Annotated[
        Path | None, typer.Option("--out", help="File to write. Default: standard output.")
    ] = None,
    _as_json: AlreadyJson = False,
    *,
    service: Service,
) -> None:
    """Print the service's public signing keys, for `understudy verify --keys`."""
    with service.any_client() as client:
        text = json.dumps({"items": client.auditing.list_signing_keys()}, indent=2) + "\n"
    if out is None:
        print(text, end="")
    else:
        out.write_text(text)
