"""The synchronous client is generated from the asynchronous one, and the committed files are the output."""

import ast
import inspect
from pathlib import Path

import understudy.client
from docs.unasync import BY_HAND, generated, synchronous
from understudy import AsyncClient, Client

FOLDER = Path(understudy.client.__file__).parent


def test_the_committed_client_is_what_the_generator_writes() -> None:
    committed = {path.name: path.read_text() for path in FOLDER.glob("*.py") if path.name != BY_HAND}
    assert committed == dict(generated()), "run `make client`"


def test_nothing_asynchronous_is_left() -> None:
    kinds = (ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await)
    for path in FOLDER.glob("*.py"):
        found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
        assert not found, path.name
        assert "Async" not in path.read_text(), path.name


def test_a_module_is_turned() -> None:
    text = (
        "from collections.abc import AsyncIterator, Awaitable, Callable\n\n"
        "from understudy.async_client.session import AsyncSession\n\n\n"
        "async def pieces(session: AsyncSession, sleep: Callable[[float], Awaitable[None]]) -> AsyncIterator[bytes]:\n"
        "    async with session as opened:\n"
        "        async for piece in opened.aiter_bytes():\n"
        "            await sleep(1)\n"
        "            yield piece\n"
    )
    assert synchronous(text) == (
        "from collections.abc import Callable, Iterator\n\n"
        "from understudy.client.session import Session\n\n\n"
        "def pieces(session: Session, sleep: Callable[[float], None]) -> Iterator[bytes]:\n"
        "    with session as opened:\n"
        "        for piece in opened.iter_bytes():\n"
        "            sleep(1)\n"
        "            yield piece\n"
    )


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def arguments(client: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in inspect.getmembers(client, inspect.isfunction)
            if not name.startswith("_")
        }

    assert arguments(Client) == arguments(AsyncClient)
