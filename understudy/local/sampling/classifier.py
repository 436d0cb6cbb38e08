"""A private classifier opened from its bundle: predicting from frames or images, and saving. Free of privacy cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import onnxruntime
import pyarrow as pa

from core.artifacts.asking.predictor import UNKNOWN
from core.artifacts.bundle import unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.private_models.bundle import ModelBundle, unpack_model
from core.artifacts.private_models.constancy_check import ModelCheck
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.images import ImageDomain
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.html_tables import html_table, text_table
from understudy.local.ledger.accounts import answered
from understudy.local.paths import AnyPath, write_bundle
from understudy.local.sampling.predicting import classes_of, features_of, listed_classes
from understudy.local.warned import warn

_CHUNK: Final = 256


class FeaturesRefused(UserWarning):
    """The domain refuses values of rows to be predicted. Counts and reasons, never values."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Classifier:
    """A private classifier. Predicting, saving it and sharing the bundle cost no budget.

    The methods have the names of scikit-learn's classifiers.

    Attributes:
        bundle: the model with its certificate; it may be shared.
        kind: the target's type in the frame that it was trained on; None if unknown, and for images.
    """

    bundle: bytes
    domain: Domain
    kind: pa.DataType | None = None

    @cached_property
    def _opened(self) -> ModelBundle:
        return unpack_model(self.bundle)

    @cached_property
    def _network(self) -> onnxruntime.InferenceSession:
        return onnxruntime.InferenceSession(self._opened.model)

    @property
    def certificate(self) -> Json:
        """The budget spent and the mechanism; unsigned."""
        return self._opened.certificate

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes in the order of `predict_proba`, in the target's type; for images the declared labels."""
        return classes_of(self.domain, self.kind)

    def __repr__(self) -> str:
        """The guarantee, the privacy unit, the task and the classes."""
        return text_table(type(self).__name__, self._facts())

    def _repr_html_(self) -> str:
        return html_table((type(self).__name__, ""), self._facts())

    def _facts(self) -> list[tuple[str, ...]]:
        stated = self.certificate
        promised, options = stated["privacy_parameters"], stated["plan"]["options"]
        of_table: list[tuple[str, ...]] = []
        if not isinstance(self.domain, ImageDomain):
            read = len(self.domain.modelled) - 1
            of_table = [
                ("target", str(self.domain.target)),
                ("predicted from", f"{read} column{'' if read == 1 else 's'}"),
            ]
        check = ModelCheck.of_certificate(stated)
        warned = [("WARNING", check.detail)] if check is not None and check.constant else []
        return [
            ("guarantee", f"epsilon {promised['epsilon']:g}, delta {promised['delta']:g}"),
            ("protects", stated["privacy_unit"]["description"]),
            ("declared size", str(stated["declared_size"])),
            ("network", f"{options['network']}, {options['steps']} noisy steps"),
            *of_table,
            ("classes", listed_classes(self.domain)),
            ("accuracy", _accuracy(stated["accuracy"])),
            *warned,
        ]

    def predict_proba(self, frame: object) -> npt.NDArray[np.float64]:
        """The probability of every class, (records, classes): one answer for each row of the frame, in order.

        A value that the domain refuses counts as missing. A row that misses a value for which the model has no code, because the
        domain declares that it is never missing, has no answer: NaN for every class.

        Args:
            frame: rows with the modelled columns, or images uint8 (images, height, width, channels). Other columns are not read and may be
                absent: the target, the unit, ignored columns.

        Raises:
            InvalidInput: a column is missing or there twice, or its type cannot be read as declared.
            InputUnusable: they cannot be used.

        Warns:
            FeaturesRefused: the domain refuses some values; with counts by column.
        """
        name, inputs, without = self._inputs(frame)
        if not len(inputs):
            return np.empty((0, len(self.classes_)))
        pieces = [inputs[start : start + _CHUNK] for start in range(0, len(inputs), _CHUNK)]
        logits = np.concatenate([self._network.run(["logits"], {name: piece})[0] for piece in pieces])
        weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
        made: npt.NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
        made[without] = np.nan
        return made

    def predict(self, frame: object) -> npt.NDArray[Any]:
        """The most probable class of every record, as a column of the target holds it; None where there is no answer; see `predict_proba`."""
        shares = self.predict_proba(frame)
        without = np.isnan(shares[:, 0])
        found: npt.NDArray[Any] = self.classes_[np.where(without, 0, shares.argmax(axis=1))]
        if without.any():
            found = found.astype(object)
            found[without] = None
        return found

    def save(self, target: AnyPath) -> Path:
        """Write the bundle to a file, for `predict.py` in it and for `understudy verify`.

        Raises:
            InputUnusable: the target folder does not exist.
        """
        return write_bundle(self.bundle, target)

    def _inputs(self, frame: object) -> tuple[str, npt.NDArray[Any], npt.NDArray[np.bool_]]:
        """The name and values of the network's input, and which records have no answer."""
        if isinstance(self.domain, ImageDomain):
            shape = (self.domain.height, self.domain.width, self.domain.channels)
            images = np.asarray(frame, dtype=np.uint8).reshape(-1, *shape)
            return "images", images, np.zeros(len(images), dtype=bool)
        with answered():
            features = features_of(self.domain, frame)
        read = [place for place in range(features.codes.shape[1]) if place != self.domain.target_index]
        codes = features.codes[:, read].astype(np.int64)
        missing = [self.domain.coded[place].null_code for place in read]
        codes = np.where(codes == UNKNOWN, [UNKNOWN if one is None else one for one in missing], codes)
        without = (codes == UNKNOWN).any(axis=1)
        _warn_of_refused(features.refusals, without)
        return "codes", np.where(codes == UNKNOWN, 0, codes), without


def _accuracy(measured: Json | None) -> str:
    """The measured and charged accuracy, or how to order it."""
    if measured is None:
        return "not measured; options={'accuracy_share': 0.05} measures it for a part of the budget"
    low, high = (f"{100 * measured[end]:.1f}" for end in ("low", "high"))
    return f"{100 * measured['estimate']:.1f} % on held-out units, between {low} and {high} % for the noise"


def _warn_of_refused(refusals: Mapping[str, int], without: npt.NDArray[np.bool_]) -> None:
    """Warn in the words of `predict.py`."""
    said = f"{sum(refusals.values())} values that the domain refuses count as missing"
    if without.any():
        said = f"{without.sum()} of {len(without)} rows have no prediction"
    elif not refusals:
        return
    reasons = ", ".join(f"{reason} {count}" for reason, count in refusals.items())
    warn(f"{said} ({reasons})" if reasons else said, FeaturesRefused)


def classifier_of(bundle: AnyPath | bytes) -> Classifier:
    """Open the bundle of a classifier; see `understudy.offline.classifier`."""
    if not isinstance(bundle, bytes):
        file = Path(bundle)
        if not file.is_file():
            message = f"there is no file {file}"
            raise InputUnusable(message)
        bundle = file.read_bytes()
    with answered():
        try:
            return Classifier(bundle=bundle, domain=domain_from_json(unpack_model(bundle).domain))
        except BundleInvalid:
            # A damaged bundle is refused as one.
            unpack(bundle)
    message = "the bundle holds a generator: open it with understudy.generator(...), or understudy.predictor(...) to predict from its counts"
    raise InputUnusable(message)
