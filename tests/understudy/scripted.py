"""Both clients against answers that the test writes, and the table of what they are documented to send."""

import asyncio
import json
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import httpx

from understudy import AsyncClient, Client

DATASET = {"id": "d", "population_id": "p", "name": "n", "state": "ready", "declared_size": 10}
JOB = {
    "id": "j",
    "dataset_id": "d",
    "state": "queued",
    "release_id": None,
    "failure": None,
    "progress": {
        "stage": None, "step": 0, "total": 0, "percent": 0, "eta_seconds": None, "epsilon_planned": 1.0,
    },
}  # fmt: skip

Answer = httpx.Response | Exception


class Script:
    """Gives one scripted answer after the other and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class AsyncScript(Script):
    async def answer(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def client_of(script: Script, pauses: list[float] | None = None) -> Client:
    kept = [] if pauses is None else pauses
    return Client("http://service", key="k", transport=httpx.MockTransport(script), sleep=kept.append)


def both(answers: Callable[[], list[Answer]], method: str, *words: str) -> list[list[httpx.Request]]:
    """Send the same call by both clients; give the requests of each."""
    requests, _ = sent(answers, method, words, {})
    return requests


def sent(
    answers: Callable[[], list[Answer]], method: str, words: tuple[Any, ...], arguments: dict[str, Any]
) -> tuple[list[list[httpx.Request]], list[Any]]:
    """Send the same call by both clients, one after the other; give the requests and the result of each.

    The method may have a part of the client before it, such as `governance.freeze`.
    """
    script, async_script = Script(*answers()), AsyncScript(*answers())
    with client_of(script) as client:
        result = attrgetter(method)(client)(*words, **arguments)

    async def send() -> Any:
        async def no_sleep(_seconds: float) -> None:
            return None

        transport = httpx.MockTransport(async_script.answer)
        async with AsyncClient("http://service", key="k", transport=transport, sleep=no_sleep) as client:
            return await attrgetter(method)(client)(*words, **arguments)

    return [script.requests, async_script.requests], [result, asyncio.run(send())]


Documented = tuple[str, dict[str, Any], Any, str, str, Any]
"""A method, its arguments, an answer; the method, path and JSON body of the one request that is documented for it."""


def check_documented(call: Documented) -> None:
    """See that both clients send the documented request and read the answer alike."""
    name, arguments, answer, method, path, body = call
    requests, results = sent(lambda: [httpx.Response(200, json=answer)], name, (), arguments)
    assert results[0] == results[1]
    for (request,) in requests:
        assert (request.method, str(request.url)) == (method, f"http://service{path}")
        assert (json.loads(request.content) if request.content else None) == body
