"""A check of a private model before its release: is its answer the same whatever the record?

Only the model and the declared domain are read, so the check is post-processing and costs no privacy (`core.artifacts.private_models.constancy_check`).
Rows are drawn evenly from the declared codes. Images are scenes of discs, strokes, waves and noise at all sizes and levels: evenly drawn
pixels look alike to a network that averages them, so a useful model may give one answer to all.
"""

import math
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.artifacts.private_models.bundle import ModelBundle
from core.artifacts.private_models.constancy_check import ModelCheck
from core.artifacts.private_models.script import class_names
from core.plan.domain.declared import domain_from_json

DRAWS: Final = 4096
SCENES: Final = (256, 4096)
"""The fewest and the most images that a model of images answers."""
_NUMBERS: Final = 1 << 24
"""Numbers of all scenes together in between: drawing them takes seconds at any size."""
_SEED: Final = 20_261_129
_CHUNK: Final = 512
_CHUNK_NUMBERS: Final = 1 << 16
"""Numbers of the scenes that are made at once, unless one has more."""
_STROKES: Final = 6
_THERE: Final = 0.6
"""Probability of each stroke."""
_THINNEST, _THICKEST = 0.02, 0.3
"""Radius of a stroke, as a share of the image's sides."""
_WAVES: Final = 3.0
"""Standard deviation of the waves across an image."""
_WAVE_LEVEL, _NOISE_LEVEL = 0.3, 0.15
"""Standard deviations of their amplitudes; the half below zero is none."""


def check_model(bundle: ModelBundle) -> ModelCheck:
    """Let a model answer inputs of the declared domain.

    Args:
        bundle: The model and its domain; its certificate is not read.
    """
    # Imported late: most trainings' processes do without it.
    import onnxruntime

    # The draws are public, so a bundle that is certified twice states the same.
    rng = np.random.default_rng(_SEED)
    manifest = bundle.manifest
    pieces: Iterator[npt.NDArray[Any]]
    if manifest.image is None:
        name, pieces = "codes", _rows(manifest.cardinalities, rng)
    else:
        name, pieces = "images", _images(manifest.image, rng)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    network = onnxruntime.InferenceSession(bundle.model, options)
    answers = np.concatenate([network.run(["logits"], {name: piece})[0].argmax(axis=1) for piece in pieces])
    counts = np.bincount(answers, minlength=manifest.classes)
    names = class_names(domain_from_json(bundle.domain))
    return ModelCheck(
        draws=len(answers),
        answer=names[int(counts.argmax())],
        share=float(counts.max()) / len(answers),
        unanimous_only=manifest.image is not None,
    )


def _rows(sizes: tuple[int, ...], rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    codes = np.stack([rng.integers(0, size, DRAWS, dtype=np.int64) for size in sizes], axis=1)
    yield from (codes[start : start + _CHUNK] for start in range(0, DRAWS, _CHUNK))


def _images(shape: tuple[int, int, int], rng: np.random.Generator) -> Iterator[npt.NDArray[np.uint8]]:
    values, (fewest, most) = math.prod(shape), SCENES
    count = min(max(_NUMBERS // values, fewest), most)
    chunk = max(_CHUNK_NUMBERS // values, 1)
    for start in range(0, count, chunk):
        yield scenes(shape, min(chunk, count - start), rng)


def scenes(shape: tuple[int, int, int], count: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Images of strokes on a plain ground, with waves and noise; (count, height, width, channels).

    Args:
        shape: height, width and channels.
        count: how many.
        rng: of all draws.
    """
    height, width, channels = shape
    y = ((np.arange(height) + 0.5) / height)[:, None, None]
    x = ((np.arange(width) + 0.5) / width)[None, :, None]
    each = (count, 1, 1, 1)

    def levels() -> npt.NDArray[np.float64]:
        # A quarter is black, a quarter white.
        return rng.uniform(-0.5, 1.5, (count, 1, 1, channels)).clip(0.0, 1.0)

    pixels: npt.NDArray[Any] = np.broadcast_to(levels(), (count, *shape)).copy()
    for _ in range(_STROKES):
        from_y, from_x, to_y, to_x = rng.random((4, *each))
        # The square makes short strokes common; the shortest are discs.
        length = rng.random(each) ** 2
        slope_y, slope_x = (to_y - from_y) * length, (to_x - from_x) * length
        square = np.maximum(slope_y**2 + slope_x**2, 1e-9)
        along = (((y - from_y) * slope_y + (x - from_x) * slope_x) / square).clip(0.0, 1.0)
        distance = np.hypot(y - from_y - along * slope_y, x - from_x - along * slope_x)
        radius = _THINNEST + (_THICKEST - _THINNEST) * rng.random(each) ** 2
        drawn = (distance < radius) & (rng.random(each) < _THERE)
        pixels = np.where(drawn, levels(), pixels)
    down, across, phase = rng.normal(0.0, _WAVES, (3, *each))
    wave = rng.normal(0.0, _WAVE_LEVEL, (count, 1, 1, channels)).clip(0.0)
    pixels += wave * np.cos(2 * np.pi * (down * y + across * x + phase))
    noise = rng.normal(0.0, _NOISE_LEVEL, each).clip(0.0)
    pixels += noise * rng.standard_normal(pixels.shape)
    return (pixels.clip(0.0, 1.0) * 255.0).round().astype(np.uint8)
