"""The synchronous client is made from the asynchronous one."""

import ast
import inspect
from pathlib import Path

import understudy.client
from docs.unasync import synchronous
from understudy import AsyncClient, Client

FOLDER = Path(understudy.client.__file__).parent


def test_nothing_asynchronous_is_left() -> None:
    kinds = (ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await)
    for path in FOLDER.glob("*.py"):
        found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds)]
        assert not found, path.name
        assert "Async" not in path.read_text(), path.name


def test_a_module_is_turned() -> None:
    text = (
        "from collections.abc import Awaitable, Callable\n\n"
        "from understudy.async_client.session import AsyncSession\n\n\n"
        "async def pieces(session: AsyncSession, sleep: Callable[[float], Awaitable[None]]) -> None:\n"
        "    async with session as opened:\n"
        "        async for piece in opened.aiter_bytes():\n"
        "            await sleep(len(piece))\n"
    )
    assert synchronous(text) == (
        "from collections.abc import Callable\n\n"
        "from understudy.client.session import Session\n\n\n"
        "def pieces(session: Session, sleep: Callable[[float], None]) -> None:\n"
        "    with session as opened:\n"
        "        for piece in opened.iter_bytes():\n"
        "            sleep(len(piece))\n"
    )


def test_both_clients_have_the_same_methods_with_the_same_arguments() -> None:
    def arguments(client: type) -> dict[str, list[str]]:
        return {
            name: list(inspect.signature(method).parameters)
            for name, method in inspect.getmembers(client, inspect.isfunction)
            if not name.startswith("_")
        }

    assert arguments(Client) == arguments(AsyncClient)
