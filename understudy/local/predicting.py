"""Rows to be predicted as codes, and the linear predictor that a bundle's noisy counts give. It costs no privacy.

Every row of a frame has an answer, in its order, so a value that the domain refuses does not leave its row out.
"""

import numpy as np
import numpy.typing as npt

from core.artifacts.asking.predictor import UNKNOWN, LinearPredictor
from core.artifacts.model_script import class_names
from core.plan.domain.codec import Codes, codes_type, encode_place
from core.plan.domain.table import TableDomain
from understudy.local.accounts import answered
from understudy.local.asking import opened_counts
from understudy.local.frames import clean_features
from understudy.local.paths import AnyPath


class Predictor:
    """Probabilities of the classes of a table's target, from released counts."""

    def __init__(self, domain: TableDomain, linear: LinearPredictor) -> None:
        self._domain, self._linear = domain, linear

    @property
    def classes(self) -> list[str]:
        """Names of the classes in the order of `probabilities`."""
        return class_names(self._domain)

    def probabilities(self, frame: object) -> npt.NDArray[np.float64]:
        """The probability of every class, (records, classes): one answer for each row of the frame, in its order.

        A row with a value that the domain refuses is answered from its other columns.

        Args:
            frame: rows with the modelled columns. Others are not read and may be absent: the target, the unit, ignored columns.

        Raises:
            InvalidInput: a column is missing or there twice, or its type cannot be read as declared.
            InputUnusable: they cannot be used.
        """
        with answered():
            codes = feature_codes(self._domain, frame)
        return self._linear.probabilities(codes)

    def predict(self, frame: object) -> list[str]:
        """The most probable class of every record; see `probabilities`."""
        names = self.classes
        return [names[code] for code in self.probabilities(frame).argmax(axis=1)]


def feature_codes(domain: TableDomain, frame: object) -> Codes:
    """Return the codes of a frame's rows, (rows, coded columns): `UNKNOWN` where the domain refuses a value, and for the target.

    Raises:
        InputUnusable: it is no frame, or a column holds values of several kinds.
        core.errors.UnderstudyError: its columns are not the modelled ones.
    """
    batch, refused = clean_features(frame, domain)
    codes: Codes = np.full((batch.num_rows, len(domain.coded)), UNKNOWN, codes_type(domain.cardinalities))
    for place in range(len(domain.coded)):
        sources = _sources(domain, place)
        if domain.target not in sources:
            known = ~np.logical_or.reduce([refused[name] for name in sources])
            codes[known, place] = encode_place(domain, place, batch.filter(known))
    return codes


def _sources(domain: TableDomain, place: int) -> tuple[str, ...]:
    """Names of the columns that one of the coded columns is made of."""
    modelled = domain.modelled
    if place >= len(modelled):
        time, _ = domain.patterns[place - len(modelled)]
        return (time.name,)
    starts = [modelled[one["start"]].name for one in domain.differences if one["place"] == place]
    return (modelled[place].name, *starts)


def predictor_from(bundle: AnyPath | bytes) -> Predictor:
    """Read the predictor of a bundle; see `understudy.offline.predictor`."""
    with opened_counts(bundle) as counts:
        return Predictor(counts.domain, counts.predictor)
