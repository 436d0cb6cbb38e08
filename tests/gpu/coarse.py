"""TF32 products emulated on the CPU: factors are rounded to ten bits after the first."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

_aten = torch.ops.aten
PRODUCTS = {_aten.mm, _aten.addmm, _aten.bmm, _aten.baddbmm, _aten.convolution, _aten.addmv}


class CoarseProducts(TorchDispatchMode):
    """While active, every product of float32 numbers in this thread is rounded as in TF32."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket in PRODUCTS:
            args = tuple(coarse(each) if isinstance(each, Tensor) else each for each in args)
        return func(*args, **(kwargs or {}))


def coarse(numbers: Tensor) -> Tensor:
    """Round float32 numbers to the nearest TF32 number."""
    if numbers.dtype != torch.float32:
        return numbers
    return ((numbers.contiguous().view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)
