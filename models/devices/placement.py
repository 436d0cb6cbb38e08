"""Where a training runs: on the CPU, or on one or several GPUs of one kind.

A GPU's sums round differently from a CPU's, and one model's from another's, so a job stays on the kind of device on which
its first checkpoint was made (docs/decisions/gpu-path.md). What a kind is, is a public text.
"""

from dataclasses import dataclass
from typing import Final, Literal

import torch

from models.devices.errors import DeviceAbsent

CPU: Final = torch.device("cpu")

Precision = Literal["float32", "tf32", "bf16"]
"""Of the products that make a critic's factors on a GPU; norms and sums are made of float64 products of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """The devices of one training.

    Args:
        devices: at least one, all of one kind; the first holds the critic's parameters and takes its noise.
        spread: whether steps take the path of devices (`models.devices.spread`); the CPU's own path does not.
        precision: of products there; another one gives another result, so it is part of the kind.
    """

    devices: tuple[torch.device, ...] = (CPU,)
    spread: bool = False
    precision: Precision = "tf32"

    @property
    def main(self) -> torch.device:
        """The first device."""
        return self.devices[0]

    @property
    def kind(self) -> str:
        """What decides how sums round here; empty on the CPU's own path, whose checkpoints never named a kind."""
        if not self.spread:
            return ""
        if self.main.type != "cuda":
            return f"{self.main.type}, torch {torch.__version__}, {self.precision}"
        facts = torch.cuda.get_device_properties(self.main)
        cudnn = torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        # cuBLAS promises the same bits on as many multiprocessors, of which a process may be given a part.
        return (
            f"{facts.name}, {facts.major}.{facts.minor}, {facts.multi_processor_count} multiprocessors,"
            f" CUDA {torch.version.cuda}, cuDNN {cudnn}, torch {torch.__version__},"
            f" {self.precision}"
        )


HOST: Final = Placement()
"""The CPU, by its own path."""


def move_tensors(owner: object, device: torch.device) -> None:
    """Move every tensor that is an attribute of an object to a device."""
    for name, value in vars(owner).items():
        if isinstance(value, torch.Tensor):
            setattr(owner, name, value.to(device))


def placed(wish: str, precision: Precision = "tf32") -> Placement:
    """What the settings ask for, as far as torch sees it.

    Args:
        wish: "cpu"; "auto", all GPUs that this process may see, or the CPU without one; or "cuda", which insists.
        precision: of products on GPUs.

    Raises:
        DeviceAbsent: a GPU is asked for and none is there, or those there are of different models.
    """
    if wish == "cpu" or (wish == "auto" and not torch.cuda.is_available()):
        return HOST
    if not torch.cuda.is_available():
        raise DeviceAbsent(wish)
    found = Placement(
        devices=tuple(torch.device("cuda", index) for index in range(torch.cuda.device_count())),
        spread=True,
        precision=precision,
    )
    if len({torch.cuda.get_device_name(device) for device in found.devices}) > 1:
        raise DeviceAbsent(wish)
    return found


def settle(placement: Placement) -> None:
    """Set this process's precision of products on GPUs; call before anything is computed there.

    TF32 and bfloat16 may round the factors of gradients, because what is clipped is what they are, however rounded; norms
    and sums are made of float64 products and of float32 numbers that are squared and added without tensor cores, which
    no setting of TF32 touches. Choosing convolutions by timing them would make two runs differ, so it is off.
    """
    if placement.main.type == "cuda":
        rounded = placement.precision != "float32"
        torch.backends.cuda.matmul.allow_tf32 = rounded
        torch.backends.cudnn.allow_tf32 = rounded
        torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
        torch.backends.cudnn.benchmark = False
        torch.backends.cudnn.deterministic = True
