"""Synthetic records in the memory of a program: a data frame, an Arrow table, or arrays. Libraries are imported late."""

import io
from collections.abc import Mapping
from typing import Any, Final, Literal

from understudy.errors import InputUnusable, NotInstalled, library_missing

Form = Literal["pandas", "polars", "arrow", "numpy"]
FILE_FORMATS: Final[Mapping[str, str]] = {
    "pandas": "arrow",
    "polars": "arrow",
    "arrow": "arrow",
    "numpy": "npz",
}
"""The forms, and in which format the service sends what they are made of; numpy is for images."""
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = {
    "pandas": ("pyarrow", "pandas"),
    "polars": ("pyarrow", "polars"),
    "arrow": ("pyarrow",),
    "numpy": ("numpy",),
}


def drawn(content: bytes, *, form: str) -> Any:  # noqa: ANN401 - the libraries are not there when types are checked
    """Return the records of a file in one of the forms.

    Args:
        content: the file, of the form's format.
        form: one of `FILE_FORMATS`, for which `require_form` found the libraries.

    Returns:
        A DataFrame of pandas or polars; an Arrow table; or arrays by name: `images` uint8 (images, height, width, channels),
        `labels` and `label_names`.
    """
    if form == "numpy":
        import numpy as np

        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)
    import pyarrow as pa

    return in_form(pa.ipc.open_stream(content).read_all(), form=form)


def in_form(table: Any, *, form: str) -> Any:  # noqa: ANN401 - the libraries are not there when types are checked
    """Return an Arrow table as a data frame, or as it is."""
    if form == "polars":
        import polars as pl

        return pl.from_arrow(table)
    return table if form == "arrow" else table.to_pandas()


def require_form(form: str) -> str:
    """Check, before anything is drawn, that records can be given in this form; gives the format to ask for.

    Raises:
        InputUnusable: the form is unknown.
        NotInstalled: a library is not installed.
    """
    if form not in FILE_FORMATS:
        message = f"unknown form {form!r}; rows come as pandas, polars or arrow, images as numpy"
        raise InputUnusable(message)
    for name in _NEEDED[form]:
        try:
            __import__(name)
        except ModuleNotFoundError:
            otherwise = '; or ask for form="arrow"' if name in {"pandas", "polars"} else ""
            missing = library_missing(f"a sample in the form {form}", name)
            raise NotInstalled(f"{missing}{otherwise}") from None
    return FILE_FORMATS[form]
