"""Warnings that point at the line of the caller's own program, however many functions of this package lie between."""

import inspect
import warnings
from typing import Final

_OWN: Final = frozenset({"understudy", "core", "models"})


def warn(message: str, category: type[Warning]) -> None:
    """Warn, at the nearest line that is not of this package.

    Args:
        message: what to say.
        category: of the warning.
    """
    frame, level = inspect.currentframe(), 1
    while (
        frame is not None
        and frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in _OWN
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
