"""Small uploads of images, made in tests: NPZ, idx, ZIP of pictures with a label file."""

import gzip
import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image

from core.plan.domain.images import ImageDomain

Pixels = npt.NDArray[np.uint8]
DIGITS = tuple("0123456789")


def images(
    *, side: int = 5, channels: int = 1, labels: Sequence[str] = DIGITS, unit: str | None = None
) -> ImageDomain:
    return ImageDomain(
        height=side, width=side + 1, channels=channels, labels=tuple(labels), privacy_unit=unit
    )


def noise(domain: ImageDomain, count: int, seed: int = 1) -> Pixels:
    """Random images: (count, height, width, channels)."""
    shape = (count, domain.height, domain.width, domain.channels)
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def picture(pixels: Pixels, form: str = "PNG", mode: str | None = None, **options: object) -> bytes:
    """One image file; of one channel it is grey."""
    target = io.BytesIO()
    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    (image if mode is None else image.convert(mode)).save(target, form, **options)
    return target.getvalue()


def archive(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as made:
        for name, content in files.items():
            made.writestr(name, content)
    return target.getvalue()


def npz(**arrays: npt.ArrayLike) -> bytes:
    target = io.BytesIO()
    np.savez_compressed(target, **arrays)
    return target.getvalue()


def idx(values: npt.NDArray[np.uint8]) -> bytes:
    return struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape) + values.tobytes()


def mnist(pixels: Pixels, labels: npt.NDArray[np.uint8]) -> bytes:
    squeezed = pixels[..., 0] if pixels.shape[-1] == 1 else pixels
    return archive(
        {"t10k-images-idx3-ubyte.gz": gzip.compress(idx(squeezed)), "t10k-labels-idx1-ubyte": idx(labels)}
    )


def labelled(pictures: Sequence[bytes], labels: Sequence[str], units: Sequence[str] | None = None) -> bytes:
    """A ZIP of files 0.png, 1.png, ... and their label file."""
    head = "file,label" + (",who" if units is not None else "")
    lines = [
        f"{place}.png,{label}" + (f",{units[place]}" if units is not None else "")
        for place, label in enumerate(labels)
    ]
    files = {f"{place}.png": content for place, content in enumerate(pictures)}
    return archive(files | {"labels.csv": "\n".join([head, *lines, ""]).encode()})
