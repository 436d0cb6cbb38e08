"""Tells what the application sees of a request, behind the same layer as the API."""

import json
import os

from starlette.types import Receive, Scope, Send

from core.platform.settings import Settings
from service.edge.proxies import TrustedProxies


async def _echo(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    hosts = [value.decode() for name, value in scope["headers"] if name == b"host"]
    seen = {"client": scope["client"][0], "scheme": scope["scheme"], "hosts": hosts}
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": json.dumps(seen).encode()})


def settings_read() -> Settings:
    known = {"database_url": "-", "broker_url": "-", "storage_url": "-", "scratch_folder": "/tmp"}
    return Settings(**known, master_key=os.urandom(32).hex())  # type: ignore[arg-type]


app = TrustedProxies(_echo, networks=settings_read().trusted_proxies)
