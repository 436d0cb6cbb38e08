"""Where a training runs: on the CPU, or on one or several GPUs of one kind.

A GPU's sums round differently from a CPU's, and those of one GPU model from another's. So a job stays on the kind of
device on which its first checkpoint was made (docs/decisions/gpu-path.md). The kind is a public text.
"""

from dataclasses import dataclass
from typing import Final, Literal

import torch

from models.devices.errors import DeviceAbsent

CPU: Final = torch.device("cpu")

Precision = Literal["float32", "tf32", "bf16"]
"""Precision of the products that make a critic's factors on a GPU; norms and sums are float64 products of these factors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The devices of one training.

    Args:
        devices: at least one, all of one kind; the critic's parameters and the noise are on the first.
        data_parallel: whether steps go through `models.devices.data_parallel`; the CPU's own path does not.
        precision: of the products; another precision gives other results, so it is part of the kind.
    """

    devices: tuple[torch.device, ...] = (CPU,)
    data_parallel: bool = False
    precision: Precision = "tf32"

    @property
    def main(self) -> torch.device:
        """The first device."""
        return self.devices[0]

    @property
    def kind(self) -> str:
        """Everything that decides how sums round; empty on the CPU's own path, whose checkpoints never named a kind."""
        if not self.data_parallel:
            return ""
        if self.main.type != "cuda":
            return f"{self.main.type}, torch {torch.__version__}, {self.precision}"
        facts = torch.cuda.get_device_properties(self.main)
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        # cuBLAS promises the same bits only on the same number of multiprocessors, and a process may be given a part of them.
        return (
            f"{facts.name}, {facts.major}.{facts.minor}, {facts.multi_processor_count} multiprocessors,"
            f" CUDA {torch.version.cuda}, cuDNN {cudnn}, torch {torch.__version__},"
            f" {self.precision}"
        )


HOST: Final = Placement()
"""The CPU's own path."""


def move_tensors(owner: object, device: torch.device) -> None:
    """Move every tensor that is an attribute of an object to a device."""
    for name, value in vars(owner).items():
        if isinstance(value, torch.Tensor):
            setattr(owner, name, value.to(device))


def placed(wish: str, precision: Precision = "tf32") -> Placement:
    """The devices that the settings ask for, among those that torch sees.

    Args:
        wish: "cpu"; "auto": all GPUs that this process may see, else the CPU; "cuda": the GPUs, or an error.

    Raises:
        DeviceAbsent: a GPU is required and there is none, or the GPUs are of different models.
    """
    if wish == "cpu" or (wish == "auto" and not torch.cuda.is_available()):
        return HOST
    if not torch.cuda.is_available():
        raise DeviceAbsent(wish)
    found = Placement(
        devices=tuple(torch.device("cuda", index) for index in range(torch.cuda.device_count())),
        data_parallel=True,
        precision=precision,
    )
    if len({torch.cuda.get_device_name(device) for device in found.devices}) > 1:
        raise DeviceAbsent(wish)
    return found


def settle(placement: Placement) -> None:
    """Set this process's precision of products on GPUs; call before anything is computed there.

    TF32 and bfloat16 may round the factors of gradients: the rounded factors themselves are measured and clipped. Norms and
    sums are float64 products, or float32 numbers squared and added without tensor cores, which no TF32 setting affects.
    Benchmark mode chooses convolutions by timing them, so two runs could differ; it is off.
    """
    if placement.main.type == "cuda":
        rounded = placement.precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = rounded
        torch.backends.cudnn.allow_tf32 = rounded
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
