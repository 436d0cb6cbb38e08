"""Warnings that point at the line of the caller's own program, through any number of functions of this package."""

import inspect
import warnings
from typing import Final

_OWN: Final = frozenset({"understudy", "core", "models"})


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the nearest line outside this package."""
    frame, level = inspect.currentframe(), 1
    while (
        frame is not None
        and frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in _OWN
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
