"""Sleeping and threads of the asynchronous client. Its twin `understudy.client.backend` is the one file written by hand."""

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

sleep = asyncio.sleep


async def in_thread(
    function: Callable[Arguments, Result], *words: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Call a function that reads files or computes, off the event loop."""
    return await asyncio.to_thread(function, *words, **named)
