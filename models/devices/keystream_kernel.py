"""The ChaCha20 keystream as one CUDA kernel, where the cuda.bindings are installed, as they are beside CUDA builds of torch.

NVRTC compiles it when a training begins and needs no compiler on the machine. Five hundred small kernels of torch do the
same and took about thirty times as long on an H100.
"""

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

_SOURCE: Final = r"""
__device__ __forceinline__ unsigned rotated(unsigned x, int bits) { return (x << bits) | (x >> (32 - bits)); }

#define QUARTER_ROUND(a, b, c, d)               \
    a += b; d = rotated(d ^ a, 16);             \
    c += d; b = rotated(b ^ c, 12);             \
    a += b; d = rotated(d ^ a, 8);              \
    c += d; b = rotated(b ^ c, 7);

extern "C" __global__ void keystream(const unsigned *start, unsigned *words, unsigned blocks)
{
    const unsigned block = blockIdx.x * blockDim.x + threadIdx.x;
    if (block >= blocks) return;
    unsigned first[16], x[16];
    for (int i = 0; i < 16; i++) first[i] = start[i];
    first[12] = block;
    for (int i = 0; i < 16; i++) x[i] = first[i];
    for (int round = 0; round < 10; round++) {
        QUARTER_ROUND(x[0], x[4], x[8], x[12])
        QUARTER_ROUND(x[1], x[5], x[9], x[13])
        QUARTER_ROUND(x[2], x[6], x[10], x[14])
        QUARTER_ROUND(x[3], x[7], x[11], x[15])
        QUARTER_ROUND(x[0], x[5], x[10], x[15])
        QUARTER_ROUND(x[1], x[6], x[11], x[12])
        QUARTER_ROUND(x[2], x[7], x[8], x[13])
        QUARTER_ROUND(x[3], x[4], x[9], x[14])
    }
    uint4 *out = (uint4 *)(words + 16ull * block);
    for (int i = 0; i < 16; i += 4)
        out[i / 4] = make_uint4(
            x[i] + first[i], x[i + 1] + first[i + 1], x[i + 2] + first[i + 2], x[i + 3] + first[i + 3]);
}
"""
"""RFC 8439, section 2.3: a thread makes one block, whose number is the block counter."""
_THREADS: Final = 128


def keystream_kernel(start: Tensor, words: Tensor) -> Callable[[], None] | None:
    """Compile the kernel for a device; None without a GPU, or without the bindings.

    Args:
        start: (16,) int32 on a GPU: the input of block 0. Read at every launch.
        words: (16 blocks,) int32 there. Written at every launch.

    Returns:
        What launches it on the thread's current stream.

    Raises:
        RuntimeError: CUDA refused the source or the launch.
    """
    if start.device.type != "cuda":
        return None
    try:
        from cuda.bindings import driver, nvrtc  # type: ignore[import-not-found]
    except ImportError:
        return None
    device, blocks = start.device, len(words) // 16
    with torch.cuda.device(device):
        module = _made(driver.cuModuleLoadData(_compiled(nvrtc, device)))
        function = _made(driver.cuModuleGetFunction(module, b"keystream"))
    values = (
        np.array([start.data_ptr(), words.data_ptr()], dtype=np.uint64),
        np.array([blocks], dtype=np.uint32),
    )
    pointers, count = (each.ctypes.data for each in values)
    arguments = np.array([pointers, pointers + 8, count], dtype=np.uint64)

    grid = -(-blocks // _THREADS)

    def launch(_kept: tuple[object, ...] = (start, words, values, module)) -> None:  # which the launch reads
        stream = torch.cuda.current_stream(device).cuda_stream
        _made(
            driver.cuLaunchKernel(function, grid, 1, 1, _THREADS, 1, 1, 0, stream, arguments.ctypes.data, 0)
        )

    return launch


def _compiled(nvrtc: ModuleType, device: torch.device) -> bytes:
    """The machine code for a device."""
    major, minor = torch.cuda.get_device_capability(device)
    options = [f"--gpu-architecture=sm_{major}{minor}".encode()]
    program = _made(nvrtc.nvrtcCreateProgram(_SOURCE.encode(), b"keystream.cu", 0, [], []))
    _made(nvrtc.nvrtcCompileProgram(program, len(options), options))
    code = bytes(_made(nvrtc.nvrtcGetCUBINSize(program)))
    _made(nvrtc.nvrtcGetCUBIN(program, code))
    _made(nvrtc.nvrtcDestroyProgram(program))
    return code


def _made(answer: tuple[Any, ...]) -> Any:  # noqa: ANN401 - the bindings have no types
    """The results of a call of CUDA without its status.

    Raises:
        RuntimeError: the status is not success.
    """
    status, *made = answer
    if int(status):
        raise RuntimeError(f"CUDA refused: {status}")
    return made[0] if made else None
