"""The tests of this folder run as a training process does: operations that are not deterministic on a device are refused."""

import os
from collections.abc import Iterator

import pytest
import torch

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


@pytest.fixture(autouse=True)
def _repeatable() -> Iterator[None]:
    before = torch.get_deterministic_debug_mode()
    filled = torch.utils.deterministic.fill_uninitialized_memory
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False
    yield
    torch.set_deterministic_debug_mode(before)
    torch.utils.deterministic.fill_uninitialized_memory = filled
