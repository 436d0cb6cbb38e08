"""Torch modules that the operator of a worker registered, by the name that an order gives.

A module is code, so it is installed with the worker and never comes with an order: the entry point group
`understudy.classifiers` names a function of (inputs, classes) that returns a module from flat records (n, inputs) in [0, 1] to
logits (n, classes).
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Final

import torch
from torch import nn

from core.plan.errors import InvalidSpec
from models.randomness import KeyedStreams, Purpose

GROUP: Final = "understudy.classifiers"

MakeModule = Callable[[int, int], nn.Module]


def registered_module(name: str, *, inputs: int, classes: int, streams: KeyedStreams) -> nn.Module:
    """Make the module of this name, in float64, with keyed weights: a resumed job begins with the same.

    Matrices and kernels get He-scaled normals, biases zeros; other parameters, such as the scales of a group normalisation,
    keep what the module sets.

    Raises:
        InvalidSpec: none is registered under this name.
    """
    make: MakeModule = _point(name).load()
    module = make(inputs, classes).to(torch.float64)
    for number, (called, parameter) in enumerate(module.named_parameters()):
        with torch.no_grad():
            if parameter.dim() > 1:
                normals = streams.normals(Purpose.CRITIC_INIT, number, tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(normals) * (2.0 / parameter[0].numel()) ** 0.5)
            elif called.endswith("bias"):
                parameter.zero_()
    return module


def require_registered(name: str | None) -> None:
    """Check, without importing it, that a module of this name is registered here, if a name is given.

    Raises:
        InvalidSpec: none is.
    """
    if name is not None:
        _point(name)


def _point(name: str) -> EntryPoint:
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        raise InvalidSpec(
            f"no module {name!r} is registered where the training runs",
            remedy=f"choose the network linear, mlp or cnn, or install there a package with the entry point {GROUP} that names the module",
        )
    return found[name]
