"""A bundle on this machine without a service: questions to its noisy counts, the check of its rules, its predictor and its generator.

All need the engine, which the extra ``offline`` installs. They cost no privacy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.asking import Answer
from understudy.errors import library_missing
from understudy.rules import RulesCheck

if TYPE_CHECKING:
    from understudy.local.generator import Generator
    from understudy.local.sampling.classifier import Classifier
    from understudy.local.sampling.predicting import Predictor


def ask(bundle: Path | str | bytes, question: str) -> Answer:
    """Answer a question from the noisy counts of a bundle, on this machine.

    Args:
        bundle: the file, or its content. Verify it first (`understudy verify`) if you did not make it yourself.
        question: such as "age by sex where region = north", "mean of age by sex" or "share of sick = yes by ward".

    Raises:
        InputUnusable: if there is no such bundle.
        InvalidInput: if the question cannot be read or names an undeclared column or value, or the bundle is damaged.
        Conflict: if the bundle holds no counts, or none that answer for these columns together.
        NotInstalled: if the engine is missing.
    """
    with _needing("asking"):
        from understudy.local.sampling.asking import answered_from
    return Answer.from_json(answered_from(bundle, question))


def check_rules(bundle: Path | str | bytes) -> RulesCheck:
    """Check the declared rules of a bundle against its noisy counts, offline.

    Args:
        bundle: the file, or its content. Verify it first (`understudy verify`) if you did not make it yourself.

    Raises:
        InputUnusable: there is no such bundle.
        InvalidInput: the bundle is damaged.
        Conflict: the bundle holds no counts.
        NotInstalled: the engine is missing.
    """
    with _needing("checking rules"):
        from understudy.local.sampling.asking import checked_rules
    return RulesCheck.from_json(checked_rules(bundle))


def predictor(bundle: Path | str | bytes) -> "Predictor":
    """Make a linear classifier of the target from the noisy counts of a bundle, offline.

    Args:
        bundle: the file, or its content. Verify it first (`understudy verify`) if you did not make it yourself.

    Raises:
        InputUnusable: there is no such bundle.
        InvalidInput: the bundle is damaged.
        Conflict: the bundle holds no counts, its domain no target, or too little was counted with it.
        NotInstalled: the engine is missing.
    """
    with _needing("predicting"):
        from understudy.local.sampling.predicting import predictor_from
    return predictor_from(bundle)


def generator(bundle: Path | str | bytes) -> "Generator":
    """Open a bundle to draw rows or images from it, ask it and plot it, on this machine.

    Args:
        bundle: the file, or its content. Verify it first (`understudy verify`) if you did not make it yourself.

    Raises:
        InputUnusable: if there is no such bundle.
        InvalidInput: if the bundle is damaged, or holds no generator.
        NotInstalled: if the engine is missing.
    """
    with _needing("drawing"):
        from understudy.local.generator import generator_of
    return generator_of(bundle)


def classifier(bundle: Path | str | bytes) -> "Classifier":
    """Open the bundle of a private classifier to predict with it, on this machine.

    Args:
        bundle: the file, or its content. Verify it first (`understudy verify`) if you did not make it yourself.

    Raises:
        InputUnusable: if there is no such bundle.
        InvalidInput: if the bundle is damaged, or holds no classifier.
        NotInstalled: if the engine is missing.
    """
    with _needing("predicting"):
        from understudy.local.sampling.classifier import classifier_of
    return classifier_of(bundle)


@contextmanager
def _needing(action: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise library_missing(f"{action} offline", error.name, extra="offline") from None
