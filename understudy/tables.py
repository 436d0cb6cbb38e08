"""Synthetic rows in the memory of a program: a pandas DataFrame or an Arrow table. Both libraries are imported late."""

from typing import Any, Final

from understudy.errors import InputUnusable, NotInstalled

FORMS: Final = ("pandas", "arrow")


def drawn(content: bytes, *, form: str) -> Any:  # noqa: ANN401 - neither library is there when types are checked
    """Give the rows of an Arrow stream.

    Args:
        content: the stream.
        form: one of `FORMS`.

    Raises:
        InputUnusable: the form is unknown.
        NotInstalled: the library is not installed.
    """
    require_form(form)
    import pyarrow as pa

    table = pa.ipc.open_stream(content).read_all()
    return table if form == "arrow" else table.to_pandas()


def require_form(form: str) -> None:
    """Check, before anything is drawn, that the rows can be given in this form.

    Raises:
        InputUnusable: the form is unknown.
        NotInstalled: the library is not installed.
    """
    if form not in FORMS:
        message = f"unknown form {form!r}; it is one of {', '.join(FORMS)}"
        raise InputUnusable(message)
    needed = ("pyarrow", "pandas") if form == "pandas" else ("pyarrow",)
    for name in needed:
        try:
            __import__(name)
        except ModuleNotFoundError:
            message = f"rows as {form} need {name}: pip install {' '.join(needed)}" + (
                '; or ask for form="arrow"' if name == "pandas" else ""
            )
            raise NotInstalled(message) from None
