"""The codes of rows to predict, and the linear predictor of a bundle's noisy counts. Free of privacy cost.

Every row of a frame has an answer, in order, so a refused value does not drop its row.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from core.artifacts.asking.predictor import UNKNOWN, LinearPredictor
from core.artifacts.private_models.script import class_names, class_values
from core.plan.domain.codec import Codes, codes_type, encode_place
from core.plan.domain.declared import Domain
from core.plan.domain.table import TableDomain
from understudy.local.ledger.accounts import answered
from understudy.local.paths import AnyPath
from understudy.local.rows.dtypes import words_as_numbers
from understudy.local.rows.frames import clean_features
from understudy.local.sampling.asking import opened_counts

_NAMED: Final = 20
"""Maximum number of classes shown."""


class Predictor:
    """Probabilities of the classes of a table's target, from released counts; with the method names of scikit-learn's classifiers.

    Args:
        linear: the predictor of its codes.
        kind: the target's type in the fitted frame; None if unknown.
    """

    def __init__(
        self, domain: TableDomain, linear: LinearPredictor, *, kind: pa.DataType | None = None
    ) -> None:
        self._domain, self._linear, self._kind = domain, linear, kind

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes in the order of `predict_proba`, in the target's type; see `classes_of`."""
        return classes_of(self._domain, self._kind)

    def predict_proba(self, frame: object) -> npt.NDArray[np.float64]:
        """The probability of every class, (records, classes): one answer for each row of the frame, in order.

        A row with a refused value is answered from its other columns.

        Args:
            frame: rows with the modelled columns. Others are not read and may be absent: the target, the unit, ignored columns.

        Raises:
            InvalidInput: a column is missing or repeated, or its type does not fit the declaration.
            InputUnusable: the input is unusable.
        """
        with answered():
            codes = features_of(self._domain, frame).codes
        return self._linear.probabilities(codes)

    def predict(self, frame: object) -> npt.NDArray[Any]:
        """The most probable class of every record, in the target's type; see `predict_proba`."""
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(frame).argmax(axis=1)]
        return found

    def __repr__(self) -> str:
        """The target, its classes, and the number of columns that predict it."""
        facts = {"target": self._domain.target, "classes": listed_classes(self._domain)}
        text = ", ".join(f"{name}: {value}" for name, value in facts.items())
        return f"Predictor({text}, from the noisy counts of {len(self._linear.weights)} columns)"


def classes_of(domain: Domain, kind: pa.DataType | None = None) -> npt.NDArray[Any]:
    """Return the classes of a target, or of image labels, in the target's type: one type, None for missing values.

    Classes are booleans, words, or numbers if each class is one number; else names of ranges. Words that are numbers, such as "0" and "1", get the
    type of the target in a frame, if it is known.
    """
    values = class_values(domain)
    words = [value for value in values if value is not None]
    if kind is not None and all(isinstance(word, str) for word in words):
        numbers = words_as_numbers(pa.array(words, pa.string()), kind)
        values[: len(words)] = words if numbers is None else numbers.to_pylist()
    # No text array if None or numbers are among the values.
    same = len({type(value) for value in values}) == 1
    return np.array(values, dtype=None if same else object)


def listed_classes(domain: Domain) -> str:
    """Return the names of the classes on one line, shortened if there are many."""
    names = class_names(domain)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


@dataclass(frozen=True, kw_only=True)
class Features:
    """The rows of a frame as codes.

    Attributes:
        codes: (rows, coded columns): `UNKNOWN` where the domain refuses a value, and for the target.
        refusals: how often the domain refused a value, by column and kind.
    """

    codes: Codes
    refusals: Mapping[str, int]


def features_of(domain: TableDomain, frame: object) -> Features:
    """Return the features of a frame's rows.

    Raises:
        InputUnusable: the input is no frame, or a column holds values of several kinds.
        core.errors.UnderstudyError: the columns are not the modelled ones.
    """
    batch, kinds = clean_features(frame, domain)
    none = np.zeros(batch.num_rows, dtype=bool)
    refused = {name: np.logical_or.reduce([none, *masks.values()]) for name, masks in kinds.items()}
    codes: Codes = np.full((batch.num_rows, len(domain.coded)), UNKNOWN, codes_type(domain.cardinalities))
    for place in range(len(domain.coded)):
        sources = _sources(domain, place)
        if domain.target not in sources:
            known = ~np.logical_or.reduce([refused[name] for name in sources])
            codes[known, place] = encode_place(domain, place, batch.filter(known))
    counts = {
        f"{name}: {kind}": int(mask.sum()) for name, masks in kinds.items() for kind, mask in masks.items()
    }
    return Features(codes=codes, refusals=dict(sorted(counts.items())))


def _sources(domain: TableDomain, place: int) -> tuple[str, ...]:
    """Names of the source columns of a coded column."""
    modelled = domain.modelled
    if place >= len(modelled):
        time, _ = domain.patterns[place - len(modelled)]
        return (time.name,)
    starts = [modelled[one["start"]].name for one in domain.differences if one["place"] == place]
    return (modelled[place].name, *starts)


def predictor_from(bundle: AnyPath | bytes, *, kind: pa.DataType | None = None) -> Predictor:
    """Read the predictor of a bundle; see `understudy.offline.predictor`."""
    with opened_counts(bundle) as counts:
        return Predictor(counts.domain, counts.predictor, kind=kind)
