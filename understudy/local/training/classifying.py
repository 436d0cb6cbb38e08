"""Train a private classifier on this machine, in this process, without a service or a worker.

The order is plan, pay, train, certify, as in `understudy.local.training.fitting`: the charge is on disk before a row reaches the training.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import onnxruntime
import pyarrow as pa

from core.artifacts.asking.predictor import UNKNOWN
from core.artifacts.bundle import artefacts_of
from core.artifacts.model_bundle import ModelBundle, model_files, packed_model, unpack_model
from core.artifacts.model_certificate import Trained, described_codes, make_model_certificate
from core.artifacts.model_check import REMEDY, ModelCheck
from core.artifacts.model_readme import render_model_readme
from core.artifacts.owners_ledgers import Place
from core.clock import FixedClock, SystemClock
from core.data.intake.intake_report import MAX_REFUSED
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import Domain, domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.model_cautions import model_cautions
from core.plan.model_plan import ModelPlan
from core.plan.model_planning import ModelSpec, make_model_plan
from core.plan.quote import plan_charge
from models.classifier.model_writing import model_bundle
from models.classifier.private_training import train_classifier
from models.classifier.recorder import ModelRecorder, model_grids
from models.classifier.registered import require_registered
from models.model_check import check_model
from models.randomness import KEY_BYTES, KeyedStreams
from models.software import software_of
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.html_tables import html_table, text_table
from understudy.local.ledger.accounts import answered, folder_of, pay, settle
from understudy.local.ledger.file import ledger_path
from understudy.local.paths import AnyPath, write_bundle
from understudy.local.rows.dtypes import FrameDtypes
from understudy.local.rows.intake import taken_in
from understudy.local.sampling.predicting import classes_of, features_of, listed_classes
from understudy.local.training.arithmetic import repeatable_torch, require_plain_torch
from understudy.local.training.fitting import LocalHost, Watch, cleaned, require_share
from understudy.local.training.planning import declaration_of, guarantee_of
from understudy.local.warned import warn
from understudy.verifying.local_form import localised

_CHUNK = 256


class ConstantModel(UserWarning):
    """A trained model answers one class to (nearly) all records; from inputs drawn from the declared domain alone, so public."""


class DoubtfulOptions(UserWarning):
    """The options of an order make a useless model likely, by public rules; before anything is charged."""


class FeaturesRefused(UserWarning):
    """The domain refuses values of rows to be predicted. Counts and reasons, never values."""


def fit_classifier(
    frame: object,
    domain: Json | AnyPath,
    guarantee: PrivacyGuarantee | tuple[float, float],
    *,
    dataset: str,
    labels: object = None,
    units: object = None,
    declared_size: int | None = None,
    options: Json | None = None,
    max_refused: float = MAX_REFUSED,
    ledgers: AnyPath | None = None,
    watch: Watch | None = None,
) -> "FittedClassifier":
    """Train a classifier of a table's target or of image labels, and charge the dataset's ledger.

    Args:
        frame: the rows, or the images; see `understudy.local.fit`.
        domain: the declared domain, with a target or labels: its document, or its file.
        guarantee: epsilon and delta of this training.
        dataset: name of the dataset. The name is trusted: the same people under two names have two budgets.
        labels: the label of each image.
        units: the privacy unit of each image, if declared.
        declared_size: the public number of privacy units; default: `declared_size` of the document. It is never counted.
        options: options that replace the public rules, such as `{"network": "mlp", "accuracy_share": 0.05}`.
        max_refused: the largest share of records that the domain's rules may refuse, from 0 to 1.
        ledgers: folder of the ledgers, text or a path; default: one folder for all programs of this user.
        watch: called with stage, step and number of steps.

    Raises:
        BudgetRefused: the ledger does not admit the training; nothing was spent.
        Conflict: no cap is set.
        InvalidInput: the domain, the guarantee or an option breaks a rule, or there is nothing to predict.
        InputUnusable: the rows or images cannot be used, or torch is set up in a way that a training must not have.
        VerificationFailed: the ledger is not what was written.

    Warns:
        RowsRefused: the domain's rules refused some records.
        ValuesClamped: many values of a column lie beyond its declared bounds.
        BoundsTooWide: nearly all values of a column lie in one or two bins of its declared bounds. The warning precedes any charge.
        DoubtfulOptions: the options make a useless model likely; before the charge.
        ConstantModel: what was trained answers one class to (nearly) all inputs drawn from the declared domain.
    """
    require_plain_torch()
    require_share(max_refused)
    document, size = declaration_of(domain, declared_size)
    path = ledger_path(folder_of(ledgers), dataset)
    clock, job_id = FixedClock(SystemClock().now()), uuid4()
    with answered():
        known = domain_from_json(document)
        spec = ModelSpec(options=options or {})

        def planned(guarantee: PrivacyGuarantee) -> ModelPlan:
            return make_model_plan(
                model=spec,
                guarantee=guarantee,
                declared_size=size,
                domain=known,
                adjacency=Adjacency.ADD_OR_REMOVE,
                privacy_unit=PrivacyUnit(column=known.privacy_unit, records=known.records_per_unit),
            )

        plan = planned(guarantee_of(guarantee))
        require_registered(plan.options.module)
        intake = taken_in(cleaned(frame, labels, units, known), known, declared_size=size)
    intake.require_few_refused(max_refused)
    intake.warn()
    records = intake.records
    for caution in model_cautions(plan, of_images=isinstance(known, ImageDomain)):
        warn(
            f"{caution.detail} Nothing is charged yet: make this warning an error to stop here",
            DoubtfulOptions,
        )
    payment = pay(
        path, dataset, plan, job_id=job_id, clock=clock, charge_at=lambda other: plan_charge(planned(other))
    )
    record = ModelRecorder(plan)
    streams = KeyedStreams(secrets.token_bytes(KEY_BYTES), releases=record)
    with repeatable_torch(), answered():
        trained = train_classifier(records, plan, streams, LocalHost(watch))
        staged = model_bundle(trained, plan, known, certificate={})
    with answered():
        check = check_model(staged)
        stated = localised(
            make_model_certificate(
                plan=plan,
                trained=Trained(
                    executed=record.executed(),
                    noisy_wrong=trained.wrong,
                    noise_grid=model_grids(plan),
                    check=check,
                ),
                release_id=uuid4(),
                job_id=job_id,
                dataset_id=payment.population_id,
                population_id=payment.population_id,
                issued_at=clock.now(),
                places=[Place(reserved=payment.reserved, spent=payment.spent)],
                domain_digest=known.digest(),
                cardinalities=described_codes(known),
                software=software_of("core", "models", "understudy", synthesizers=()),
            )
        )
    settle(path, dataset, plan, payment, job_id=job_id, clock=clock)
    if check.constant:
        warn(f"{check.detail} {REMEDY}", ConstantModel)
    return FittedClassifier(
        bundle=_packed(staged, stated),
        domain=known,
        rows_refused=intake.rows_refused,
        refusals=intake.refusals,
        kind=None if isinstance(known, ImageDomain) else _kind_of_target(frame, known),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class FittedClassifier:
    """A trained classifier. Predicting, saving it and sharing the bundle cost no more budget.

    The methods have the names of scikit-learn's classifiers.

    Attributes:
        bundle: the model with its certificate; the only part to share.
        rows_refused: rows refused by the declared rules. For the owner only: not differentially private.
        refusals: the reasons, with counts. For the owner only.
        kind: the target's type in the frame; None for images.
    """

    bundle: bytes
    domain: Domain
    rows_refused: int
    refusals: Json
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
        return text_table("FittedClassifier", self._facts())

    def _repr_html_(self) -> str:
        return html_table(("FittedClassifier", ""), self._facts())

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

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: a pickle would hold the private report on refused rows.

        Raises:
            InputUnusable: always.
        """
        raise InputUnusable(
            "save() writes the bundle, which may be shared; this object also holds facts for the owner alone"
        )

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


def _kind_of_target(frame: object, domain: TableDomain) -> pa.DataType | None:
    columns: list[Json] = domain.to_json()["columns"]  # type: ignore[assignment]
    modelled = [column for column in columns if column["name"] == domain.target]
    return FrameDtypes.of(frame, modelled).kind_of(domain.target)


def _packed(staged: ModelBundle, stated: Json) -> bytes:
    """The bundle with its certificate."""
    readme = render_model_readme(staged.manifest, certificate=stated)
    certificate = {**stated, "artefacts": artefacts_of(model_files(staged, readme=readme))}
    return packed_model(replace(staged, certificate=certificate), readme=readme)
