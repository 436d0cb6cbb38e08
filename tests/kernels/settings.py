"""Environment variables that make numerical libraries use the kernels of another processor.

OpenBLAS, oneDNN, torch's own kernels and numpy's each pick theirs by what the processor can do, and sums differ in their
last bits. MKL, which multiplies matrices for torch, picks by the maker of the processor too, and `MKL_CBWR` limits it.
"""

from pathlib import Path
from typing import Final

from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__

NATIVE: Final = "native"
SETTINGS: Final = {
    "haswell": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_CBWR": "AVX2,STRICT"},
    "zen": {"OPENBLAS_CORETYPE": "Zen", "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41", "MKL_CBWR": "COMPATIBLE"},
    "skylakex": {"OPENBLAS_CORETYPE": "SkylakeX", "ATEN_CPU_CAPABILITY": "avx512", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_CBWR": "AVX512,STRICT"},
}  # fmt: skip
"""Every value that is to be tried of every variable, in as few runs of the suite as there are values."""
_BEYOND: Final = {"haswell": ("X86_V4", "AVX512"), "zen": ("X86_V3", "X86_V4", "AVX"), "skylakex": ()}
"""Beginnings of numpy's names for what such a processor cannot do."""


def environment(name: str) -> dict[str, str]:
    """The variables of a setting; none for "native"."""
    if name == NATIVE:
        return {}
    lacking = [
        feature
        for feature in __cpu_dispatch__
        if feature.startswith(_BEYOND[name]) and __cpu_features__[feature] and feature not in __cpu_baseline__
    ]
    return SETTINGS[name] | ({"NPY_DISABLE_CPU_FEATURES": " ".join(lacking)} if lacking else {})


def can_run(name: str) -> bool:
    """Whether this processor has the instructions that a setting asks for."""
    return name != "skylakex" or "avx512f" in Path("/proc/cpuinfo").read_text()
