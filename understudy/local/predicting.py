"""The linear predictor that a bundle's noisy counts give, applied to rows on this machine. It costs no privacy."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from core.artifacts.asking.predictor import LinearPredictor
from core.artifacts.model_script import class_names
from core.plan.domain.codec import encode
from core.plan.domain.table import TableDomain
from understudy.local.accounts import answered
from understudy.local.asking import opened_counts
from understudy.local.frames import clean_frame


class Predictor:
    """Probabilities of the classes of a table's target, from released counts."""

    def __init__(self, domain: TableDomain, linear: LinearPredictor) -> None:
        self._domain, self._linear = domain, linear

    @property
    def classes(self) -> list[str]:
        """Names of the classes in the order of `probabilities`."""
        return class_names(self._domain)

    def probabilities(self, frame: object) -> npt.NDArray[np.float64]:
        """The probability of every class, (records, classes).

        Args:
            frame: rows with the columns of the domain, of which the target is not read but must be there.

        Raises:
            InvalidInput: a column is missing, or one is not declared.
            InputUnusable: they cannot be used.
        """
        with answered():
            codes = encode(self._domain, clean_frame(frame, self._domain).batch)
        return self._linear.probabilities(codes)

    def predict(self, frame: object) -> list[str]:
        """The most probable class of every record; see `probabilities`."""
        names = self.classes
        return [names[code] for code in self.probabilities(frame).argmax(axis=1)]


def predictor_from(bundle: Path | str | bytes) -> Predictor:
    """Read the predictor of a bundle; see `understudy.offline.predictor`."""
    with opened_counts(bundle) as counts:
        return Predictor(counts.domain, counts.predictor)
