"""Sleeping and threads of the synchronous client; written by hand, as its twin `understudy.async_client.backend`."""

import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

sleep = time.sleep


def in_thread(
    function: Callable[Arguments, Result], *words: Arguments.args, **named: Arguments.kwargs
) -> Result:
    """Call a function in this thread."""
    return function(*words, **named)
