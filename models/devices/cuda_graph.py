"""CUDA graphs: kernels of fixed shapes, captured once and replayed with one launch instead of hundreds.

A replay runs the very kernels that were captured, on the same memory, so its numbers are those of plain launches.
"""

import threading
from collections.abc import Callable
from typing import Final

import torch

_ONE_AT_A_TIME: Final = threading.Lock()
"""Threads of several devices capture in turn."""


def supports_cuda_graphs(device: torch.device) -> bool:
    """Whether a device can capture graphs at all."""
    return device.type == "cuda"


def captured(make: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The replay of a CUDA graph of `make`; `make` itself where the device has no graphs.

    Args:
        make: reads and writes static tensors, with the same shapes and operations at every call, and never waits for
            the host. It is called twice. Tensors that it allocates stay valid as long as they are referred to.

    Raises:
        RuntimeError: the operations cannot be captured.
    """
    if not supports_cuda_graphs(device):
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
            # With an explicit stream: torch's default one belongs to the device that captured first.
            with torch.cuda.graph(graph, stream=aside, capture_error_mode="thread_local"):
                make()
        finally:
            # After a capture that failed torch leaves the thread on the capture's stream, whose work is never awaited.
            torch.cuda.set_stream(here)
        return graph.replay
