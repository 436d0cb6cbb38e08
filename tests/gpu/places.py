"""The devices that the tests of this folder run on: several that are all the CPU, and the GPU where there is one."""

import pytest
import torch

from models.devices.placement import CPU, Placement, Precision, settle

on_every_device = pytest.mark.parametrize(
    "device",
    [
        CPU,
        pytest.param(
            torch.device("cuda", 0),
            marks=[
                pytest.mark.gpu,
                pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here"),
            ],
        ),
    ],
    ids=["cpu", "cuda"],
)


def data_parallel_over(device: torch.device, count: int = 1, precision: Precision = "tf32") -> Placement:
    """So many devices that are all this one; a GPU's products are made as a training child has them made."""
    placement = Placement(devices=(device,) * count, data_parallel=True, precision=precision)
    if torch.cuda.is_available():
        settle(placement)
    return placement
