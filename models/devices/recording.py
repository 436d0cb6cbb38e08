"""Work of fixed shapes recorded once as a graph of kernels and played again: one launch in place of hundreds.

A played graph runs the very kernels that were recorded, on the same memory, so its numbers are those of the work itself.
"""

import threading
from collections.abc import Callable
from typing import Final

import torch

_ONE_AT_A_TIME: Final = threading.Lock()
"""Threads of several devices record in turn."""


def can_record(device: torch.device) -> bool:
    """Whether a device has recordings at all."""
    return device.type == "cuda"


def recorded(make: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The same work as one recorded graph of kernels, where the device has such; else the work itself.

    Args:
        make: reads and writes tensors that stay where they are, with the same shapes and operations at every call, and
            never waits for the host. It is called twice; what it makes anew stays valid as long as it is referred to.
        device: where its tensors are.

    Raises:
        RuntimeError: the work cannot be recorded.
    """
    if not can_record(device):
        return make
    with _ONE_AT_A_TIME, torch.cuda.device(device):
        here = torch.cuda.current_stream(device)
        aside: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        try:
            aside.wait_stream(here)
            with torch.cuda.stream(aside):
                make()
            here.wait_stream(aside)
            graph = torch.cuda.CUDAGraph()
            # Told its stream, for torch's own belongs to the device that recorded first.
            with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
                make()
        finally:
            # torch leaves a thread on the stream of a recording that failed, where nobody waits for its work.
            torch.cuda.set_stream(here)
        return graph.replay
