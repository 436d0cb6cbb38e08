"""Arrays of images as clean records: labels and units are validated as the service does, image by image.

Shape, labels and size are those of the domain. Nothing is scaled, guessed or counted.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.data.intake.clean_rows import CleanBlock
from core.data.intake.image_rows import ImageRows
from core.plan.domain.images import ImageDomain
from understudy.errors import InputUnusable

_GREY_DIMENSIONS: Final = 3
_KINDS: Final = "iufUSO"
"""Kinds of arrays for labels and units: numbers, text, bytes of UTF-8, and objects of these types."""


def clean_images(images: object, labels: object, units: object, domain: ImageDomain) -> Iterator[CleanBlock]:
    """Validate every image by its own label and unit; an error of the whole arrays is raised at once.

    Args:
        images: uint8, (images, height, width, channels), or (images, height, width) if one channel is declared.
        labels: (images,) declared words, or numbers: a number is the word itself if all declared words are numbers, else its index in the
            declared list, from 0. None if no labels are declared.
        units: (images,) the privacy unit of each image, as text or whole numbers; None if none is declared.

    Returns:
        The clean blocks, made one after another.

    Raises:
        InputUnusable: an array is missing, superfluous, or not of the declared shape and type.
    """
    pixels = _pixels(images, domain)
    words = _column("labels", labels, len(pixels), declared=bool(domain.labels))
    names = _column("units", units, len(pixels), declared=domain.privacy_unit is not None)
    return _blocks(pixels, words, names, domain)


def _blocks(
    pixels: npt.NDArray[np.uint8], words: list[Any] | None, names: list[Any] | None, domain: ImageDomain
) -> Iterator[CleanBlock]:
    rows = ImageRows(domain)
    for place, image in enumerate(pixels):
        label = None if words is None else _word(words[place])
        unit = None if names is None else _word(names[place])
        named = None if unit is None else str(unit)
        if flaws := rows.flaws(label, named):
            rows.refuse(place + 1, flaws)
        else:
            rows.accept(image.tobytes(), label, named)
        if rows.is_full:
            yield rows.take()
    yield rows.take()


def _pixels(images: object, domain: ImageDomain) -> npt.NDArray[np.uint8]:
    shape = (domain.height, domain.width, domain.channels)
    wanted = f"uint8 of the shape (images, {', '.join(map(str, shape))})"
    if domain.channels == 1:
        wanted += f" or (images, {domain.height}, {domain.width})"
    # A masked array is refused, because its mask would be lost.
    if (
        not isinstance(images, np.ndarray)
        or isinstance(images, np.ma.MaskedArray)
        or images.dtype != np.uint8
    ):
        message = f"the images must be one array, {wanted}, as the domain declares them"
        raise InputUnusable(message)
    array: npt.NDArray[np.uint8] = images
    if domain.channels == 1 and array.ndim == _GREY_DIMENSIONS:
        array = array[..., np.newaxis]
    if array.shape[1:] != shape or array.ndim == 0:
        message = f"the array of images does not have the declared shape: {wanted}"
        raise InputUnusable(message)
    return array


def _column(name: str, values: object, count: int, *, declared: bool) -> list[Any] | None:
    """The values of labels or units."""
    if not declared:
        if values is not None:
            message = f"{name} are given, and the domain declares none"
            raise InputUnusable(message)
        return None
    listed = _listed(values)
    if listed is None:
        message = f"the domain declares {name}: pass {name}=, one for each image, as one-dimensional text or whole numbers"
        raise InputUnusable(message)
    if len(listed) != count:
        message = f"there must be as many {name} as images"
        raise InputUnusable(message)
    return listed


def _listed(values: object) -> list[Any] | None:
    """Labels or units one by one; None if the value is no such list.

    An array keeps the type that its owner chose. Other values are not converted to an array: numpy would choose a type by all values, and
    one text would turn all numbers into text.
    """
    if isinstance(values, np.ma.MaskedArray):
        return None
    if isinstance(values, np.ndarray):
        fits = values.ndim == 1 and values.dtype.kind in _KINDS
        return list(values.tolist()) if fits else None
    if (
        isinstance(values, str | bytes)
        or not isinstance(values, Iterable)
        or isinstance(values, Mapping | AbstractSet)
    ):
        return None
    return list(values)


def _word(value: object) -> str | int | None:
    """A valid label or unit; None if it is neither UTF-8 text nor a whole number.

    A whole float is read as an integer: one missing value turns a pandas column into floats.
    """
    match value:
        case bool() | np.bool_():
            return None
        case int() | np.integer():
            return int(value)
        case float() | np.floating() if float(value).is_integer():
            return int(value)
        case bytes():
            return _text(value.decode("utf-8", "surrogateescape"))
        case str():
            return _text(str(value))
        case _:
            return None


def _text(text: str) -> str | None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return text
