"""The service's engine, used without a service: the only part of the client that imports it.

    from understudy.local import fit, set_cap

    set_cap("admissions", epsilon=4.0, delta=1e-5)                     # once
    fitted = fit(frame, domain, (1.0, 1e-6), dataset="admissions", declared_size=50_000)
    fitted.sample(1000)
    fitted.save("bundle.zip")

Each name is imported when it is asked for: sampling a bundle needs the extra ``offline``, training
``workers``, and ``all`` has everything.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.local.accounts import read_account, set_cap
    from understudy.local.classifying import FittedClassifier, fit_classifier
    from understudy.local.fitted import Fitted
    from understudy.local.fitting import fit
    from understudy.local.intake import RowsRefused, ValuesClamped
    from understudy.local.quoted import LargeExpectedError, TrainingQuote
    from understudy.local.synthesizer import Synthesizer

__all__ = [
    "Fitted",
    "FittedClassifier",
    "LargeExpectedError",
    "RowsRefused",
    "Synthesizer",
    "TrainingQuote",
    "ValuesClamped",
    "fit",
    "fit_classifier",
    "read_account",
    "set_cap",
]

_HOMES = {
    "Fitted": "fitted",
    "FittedClassifier": "classifying",
    "LargeExpectedError": "quoted",
    "RowsRefused": "intake",
    "Synthesizer": "synthesizer",
    "TrainingQuote": "quoted",
    "ValuesClamped": "intake",
    "fit": "fitting",
    "fit_classifier": "classifying",
    "read_account": "accounts",
    "set_cap": "accounts",
}


def __getattr__(name: str) -> object:
    """Import a name when it is asked for.

    Raises:
        AttributeError: there is no such name.
        NotInstalled: the engine is not installed.
    """
    if name not in _HOMES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from understudy.errors import library_missing

    try:
        home = import_module(f"understudy.local.{_HOMES[name]}")
    except ModuleNotFoundError as error:
        raise library_missing("training on this machine", error.name) from None
    return getattr(home, name)
