"""A stand-in for CUDA graphs on the CPU: operations are noted with the memory they touch, and replayed.

A replay runs no line of the captured code: its decisions are frozen, and what it made on the host stays as it was.
Like a real capture, it refuses every operation that waits for the device to read a number on the host.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_aten = torch.ops.aten
WAITING = {
    _aten._local_scalar_dense,  # private: torch's own name of `Tensor.item`
    _aten.nonzero,
    _aten.bincount,
    _aten.masked_select,
    _aten._unique2,  # private: torch's own name of `torch.unique`
    _aten.lift_fresh,  # numbers of the host
}
UNSET = {_aten.empty, _aten.empty_like, _aten.new_empty, _aten.empty_strided, _aten.new_empty_strided}


class Tape(TorchDispatchMode):
    """Notes every operation."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], list[Tensor]]] = []

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = [each for each in tree_leaves((args, kwargs or {})) if isinstance(each, Tensor)]
        masked = func.overloadpacket in {_aten.index, _aten.index_put_, _aten.index_put}
        if func.overloadpacket in WAITING or (masked and any(each.dtype == torch.bool for each in given[1:])):
            raise RuntimeError(f"{func} waits for the device")
        made = func(*args, **(kwargs or {}))
        theirs = {each.untyped_storage().data_ptr() for each in given}
        fresh = [
            each if isinstance(each, Tensor) and each.untyped_storage().data_ptr() not in theirs else None
            for each in tree_leaves(made)
        ]
        self._calls.append((func, args, kwargs or {}, fresh))
        return made

    def forget(self) -> None:
        """A capture computes nothing: tensors that it allocated hold no numbers until the replay."""
        for _, _, _, fresh in self._calls:
            for each in fresh:
                if each is not None and each.is_floating_point():
                    each.fill_(torch.nan)

    @torch.no_grad()
    def replay(self) -> None:
        """Repeat all operations on the same memory."""
        for func, args, kwargs, fresh in self._calls:
            if func.overloadpacket in UNSET:
                continue
            for place, number in zip(fresh, tree_leaves(func(*args, **kwargs)), strict=True):
                if place is not None:
                    place.copy_(number.view(place.shape))  # which may have been squeezed since


def captured_on_cpu(make: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """Stands in for `models.devices.cuda_graph.captured`."""
    del device
    make()
    tape = Tape()
    with torch.no_grad(), tape:
        make()
    tape.forget()
    return tape.replay
