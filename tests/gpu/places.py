"""The devices that the tests of this folder run on: several that are all the CPU, and the GPU if there is one."""

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
    """`count` devices that are all this one, with the products of a training process on a GPU."""
    placement = Placement(devices=(device,) * count, data_parallel=True, precision=precision)
    if torch.cuda.is_available():
        settle(placement)
    return placement
