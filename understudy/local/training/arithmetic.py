"""Torch settings that the proofs need: settings of the calling program are refused, or changed for the duration of a training."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import torch

from understudy.errors import InputUnusable

# MKL reads this at its first product. Without it, it rounded a record by its place among others on an AMD EPYC, and classifiers
# were refused. A training child has the same. A program whose MKL has multiplied before keeps its setting, and the refusal.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

_EXACT: Final = frozenset({"none", "ieee"})
_SIDE: Final = 256
_TINY: Final = 2.0**-16
"""Relative difference that float32 keeps, and bfloat16 and TF32 round away."""


def require_plain_torch() -> None:
    """Refuse settings of this process under which arithmetic differs from the proven one.

    Clipping is only as good as the norms it divides by: with products of 8 or 11 bits a record could weigh more than it is
    charged for.

    Raises:
        InputUnusable: another default type or device, automatic casts, inference mode, or products of lower precision.
    """
    if (
        torch.get_default_dtype() is not torch.float32
        or torch.get_default_device().type != "cpu"
        or torch.is_autocast_enabled("cpu")
        or torch.is_inference_mode_enabled()
        or not _exact_products()
    ):
        raise InputUnusable(
            "a training needs torch as it starts: float32 of full precision, the CPU, no autocast and no inference mode around it"
        )


@contextmanager
def repeatable_torch() -> Iterator[None]:
    """Enable gradients and deterministic operations for a while; a training child sets them for good."""
    before = torch.get_deterministic_debug_mode()
    filling = torch.utils.deterministic.fill_uninitialized_memory  # type: ignore[attr-defined]
    # use_deterministic_algorithms does the same but imports torch's compiler, which nothing here needs.
    torch.set_deterministic_debug_mode("error")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    try:
        with torch.enable_grad():
            yield
    finally:
        torch.set_deterministic_debug_mode(before)
        torch.utils.deterministic.fill_uninitialized_memory = filling  # type: ignore[attr-defined]


def _exact_products() -> bool:
    """Whether products are computed in float32, by the settings and by a test product (an environment variable can change it too)."""
    mkldnn = torch.backends.mkldnn
    places = (torch.backends, mkldnn, getattr(mkldnn, "matmul", None), getattr(mkldnn, "conv", None))
    stated = {getattr(place, "fp32_precision", "none") for place in places}
    values = torch.full((_SIDE, _SIDE), 1 + _TINY)
    products = values @ torch.eye(_SIDE)
    return stated <= _EXACT and bool((products == values).all())
