"""The service's engine, used without a service: the only part of the client that imports it.

    from understudy.local import fit, set_cap

    set_cap("admissions", epsilon=4.0, delta=1e-5)                     # once
    fitted = fit(frame, domain, (1.0, 1e-6), dataset="admissions", declared_size=50_000)
    fitted.sample(1000)
    fitted.save("bundle.zip")

Names are imported on first use: sampling a bundle needs the extra ``offline``, training ``workers``, and ``all`` has
everything.

In reading order, each after those that it imports; each folder has its own map:

* `paths`: paths given by callers.
* `warned`: warnings that point at the caller's line.
* `html_tables`: tables for notebooks.
* `rows`: input rows and images, and synthetic rows in the caller's types.
* `ledger`: the budget, in a file.
* `sampling`: draws, questions and predictions from a bundle.
* `reporting`: owner reports.
* `plots`: plots of synthetic rows, alone or beside real ones.
* `generator`: a generator from a training or a bundle file.
* `fitted`: the result of a training.
* `training`: plans, quotes and trainings in this process.
* `drafted`: a draft of a frame's domain.
* `synthesizer`: draft, training and sampling with the interface of scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.local.fitted import Fitted
    from understudy.local.generator import Generator
    from understudy.local.ledger.accounts import read_account, set_cap
    from understudy.local.rows.intake import BoundsTooWide, RowsRefused, ValuesClamped
    from understudy.local.sampling.classifier import Classifier, FeaturesRefused
    from understudy.local.synthesizer import Synthesizer
    from understudy.local.training.classifying import (
        ConstantModel,
        DoubtfulOptions,
        FittedClassifier,
        fit_classifier,
    )
    from understudy.local.training.fitting import fit
    from understudy.local.training.quote import LargeExpectedError, TrainingQuote

__all__ = [
    "BoundsTooWide",
    "Classifier",
    "ConstantModel",
    "DoubtfulOptions",
    "FeaturesRefused",
    "Fitted",
    "FittedClassifier",
    "Generator",
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

_NAMES = {
    "fitted": ("Fitted",),
    "generator": ("Generator",),
    "ledger.accounts": ("read_account", "set_cap"),
    "rows.intake": ("BoundsTooWide", "RowsRefused", "ValuesClamped"),
    "sampling.classifier": ("Classifier", "FeaturesRefused"),
    "synthesizer": ("Synthesizer",),
    "training.classifying": ("ConstantModel", "DoubtfulOptions", "FittedClassifier", "fit_classifier"),
    "training.fitting": ("fit",),
    "training.quote": ("LargeExpectedError", "TrainingQuote"),
}  # fmt: skip
_HOMES = {name: home for home, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name on first use.

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
