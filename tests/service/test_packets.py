"""Answers are not held back until the reader has acknowledged their first packet."""

import asyncio
import socket

from uvicorn.config import Config
from uvicorn.server import ServerState

from service.edge.http_protocol import DeadlineProtocol


def test_packets_leave_at_once_on_a_socket_that_workers_share() -> None:
    """Such a socket is opened as uvicorn's supervisor does it, and asyncio leaves it as it is."""

    async def run() -> int:
        config = Config(app=lambda: None, lifespan="off")
        config.load()
        made: list[DeadlineProtocol] = []

        def protocol() -> DeadlineProtocol:
            made.append(DeadlineProtocol(config=config, server_state=ServerState(), app_state={}))
            return made[-1]

        listener = socket.socket(family=socket.AF_INET)
        listener.bind(("127.0.0.1", 0))
        server = await asyncio.get_running_loop().create_server(protocol, sock=listener)
        _, writer = await asyncio.open_connection(*listener.getsockname())
        async with asyncio.timeout(60):
            while not made or made[0].transport is None:  # noqa: ASYNC110 - the protocol announces nothing
                await asyncio.sleep(0.01)
        accepted = made[0].transport.get_extra_info("socket")
        delay_is_off = accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        server.close()
        return delay_is_off

    assert asyncio.run(run())
