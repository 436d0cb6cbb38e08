"""A checkpoint holds the bytes that the library of its format writes."""

import json

import safetensors.torch
import torch

from models.checkpoint import VERSION, pack, unpack

STATE = {
    "second": torch.arange(12, dtype=torch.float32).reshape(3, 4),
    "first": torch.tensor(0.1, dtype=torch.float64),
    "turned": torch.arange(6.0).reshape(2, 3).t(),
    "coins": torch.tensor([True, False]),
    "step": torch.tensor([7], dtype=torch.int64),
    "nothing": torch.empty(0, 5),
    "learnt": torch.ones(3, requires_grad=True),
}


def test_the_bytes_are_those_of_the_library() -> None:
    facts = {"step": 3, "epsilon": 0.1}
    document = json.dumps({"version": VERSION, **facts}, sort_keys=True).encode()
    kept = {name: tensor.detach().clone().contiguous() for name, tensor in STATE.items()}
    kept["facts"] = torch.frombuffer(bytearray(document), dtype=torch.uint8)
    assert pack(STATE, facts) == safetensors.torch.save(kept)


def test_what_was_packed_comes_back_and_memory_may_be_shared() -> None:
    shared = torch.arange(4.0)
    tensors, facts = unpack(pack(STATE | {"shared": shared, "again": shared}, {"step": 3}))
    assert facts == {"step": 3}
    for name, tensor in (STATE | {"shared": shared, "again": shared}).items():
        assert torch.equal(tensors[name], tensor), name
        assert tensors[name].dtype == tensor.dtype
