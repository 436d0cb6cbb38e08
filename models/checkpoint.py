"""Checkpoints: tensors as safetensors, facts as JSON. No pickle, so loading one executes no code."""

import json
from collections.abc import Mapping
from typing import Any

import safetensors.torch
import torch
from safetensors import TensorSpec, serialize
from torch import Tensor, nn

VERSION = 2
_FACTS = "facts"


def pack(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> bytes:
    """Serialise the state of a training; JSON keeps floats exactly."""
    document = json.dumps({"version": VERSION, **facts}, sort_keys=True)
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    kept[_FACTS] = torch.frombuffer(bytearray(document.encode()), dtype=torch.uint8)
    # `safetensors.torch.save` gives the same bytes in ten times the time, most of it on whether tensors share memory.
    return bytes(
        serialize(
            {
                name: TensorSpec(
                    dtype=str(tensor.dtype).removeprefix("torch."),
                    shape=tensor.shape,
                    data_ptr=tensor.data_ptr(),
                    data_len=tensor.nbytes,
                )
                for name, tensor in kept.items()
            }
        )
    )


def unpack(state: bytes) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `pack` wrote.

    Raises:
        ValueError: the checkpoint is of another version.
    """
    tensors = safetensors.torch.load(state)
    facts: dict[str, Any] = json.loads(bytes(tensors.pop(_FACTS).tolist()))
    if facts.pop("version") != VERSION:
        raise ValueError("the checkpoint is of another version")
    return tensors, facts


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The same tensors with a prefix before their names."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def inside(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors whose names begin with the prefix, without it."""
    start = f"{prefix}."
    return {name.removeprefix(start): tensor for name, tensor in tensors.items() if name.startswith(start)}


def load_module(module: nn.Module, prefix: str, tensors: Mapping[str, Tensor]) -> None:
    """Restore a module from the tensors under a prefix."""
    module.load_state_dict(inside(prefix, tensors))
