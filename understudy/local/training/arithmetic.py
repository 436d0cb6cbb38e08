"""Torch settings that the proofs need. Settings of the calling program are refused, or changed for the duration of a training."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from understudy.errors import InputUnusable

# MKL reads this at its first product. Without it, MKL rounded a record by its position in the batch on an AMD EPYC, and classifiers were
# refused. A training child sets the same. A program whose MKL has multiplied before keeps its setting and is refused.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

_EXACT: Final = frozenset({"none", "ieee"})
_SIDE: Final = 256
_TINY: Final = 2.0**-16
"""A relative difference that float32 keeps and that bfloat16 and TF32 round away."""


def require_plain_torch() -> None:
    """Refuse settings of this process under which arithmetic differs from that of the proofs.

    Clipping is only as exact as the norms it divides by: with 8-bit or 11-bit products, a record's contribution could exceed the charged
    bound.

    Raises:
        InputUnusable: the default type or device is changed, or autocast, inference mode or low-precision products are on.
    """
    if (
        torch.get_default_dtype() is not torch.float32
        or torch.get_default_device().type != "cpu"
        or torch.is_autocast_enabled("cpu")
        or torch.is_inference_mode_enabled()
        or not _exact_products()
    ):
        raise InputUnusable(
            "a training needs torch's default settings: full-precision float32, the CPU, no autocast and no inference mode"
        )


@contextmanager
def repeatable_torch() -> Iterator[None]:
    """Enable gradients and deterministic operations temporarily; a training child sets them permanently."""
    before = torch.get_deterministic_debug_mode()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    # use_deterministic_algorithms does the same but imports torch's compiler, which is not needed here.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]


def _exact_products() -> bool:
    """Whether products are computed in float32, by the settings and by a test product (an environment variable can change this too)."""
    mkldnn = torch.backends.mkldnn
    places = (torch.backends, mkldnn, getattr(mkldnn, "matmul", None), getattr(mkldnn, "conv", None))
    stated = {getattr(place, "fp32_precision", "none") for place in places}
    values = torch.full((_SIDE, _SIDE), 1 + _TINY)
    products = values @ torch.eye(_SIDE)
    return stated <= _EXACT and bool((products == values).all())
