"""Train a private classifier on this machine, in this process, without a service or a worker.

The order is plan, pay, train, certify, as in `understudy.local.training.fitting`: the charge is on disk before a row reaches the training.
"""

import secrets
from dataclasses import dataclass, replace
from typing import NoReturn
from uuid import uuid4

import pyarrow as pa

from core.artifacts.bundle import artefacts_of
from core.artifacts.owners_ledgers import Place
from core.artifacts.private_models.bundle import ModelBundle, model_files, packed_model
from core.artifacts.private_models.certificate import Trained, described_codes, make_model_certificate
from core.artifacts.private_models.constancy_check import REMEDY
from core.artifacts.private_models.readme import render_model_readme
from core.clock import FixedClock, SystemClock
from core.data.intake.intake_report import MAX_REFUSED
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from core.plan.learning import learns_records
from core.plan.private_models.cautions import model_cautions
from core.plan.private_models.plan import ModelPlan
from core.plan.private_models.planning import ModelSpec, make_model_plan
from core.plan.quote import plan_charge
from models.classifier.model_writing import model_bundle
from models.classifier.private_training import require_trainable, train_classifier
from models.classifier.recorder import ModelRecorder, model_grids
from models.model_check import check_model
from models.randomness import KEY_BYTES, KeyedStreams
from models.software import software_of
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.local.ledger.accounts import answered, folder_of, pay, settle
from understudy.local.ledger.file import ledger_path
from understudy.local.paths import AnyPath
from understudy.local.rows.dtypes import FrameDtypes
from understudy.local.rows.intake import taken_in
from understudy.local.sampling.classifier import Classifier
from understudy.local.training.arithmetic import repeatable_torch, require_plain_torch
from understudy.local.training.fitting import LocalHost, Watch, cleaned, require_share
from understudy.local.training.planning import declaration_of, guarantee_of
from understudy.local.warned import warn
from understudy.verifying.local_form import localised


class ConstantModel(UserWarning):
    """A trained model answers one class to (nearly) all records; from inputs drawn from the declared domain alone, so public."""


class DoubtfulOptions(UserWarning):
    """The options of an order make a useless model likely, by public rules; before anything is charged."""


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
        Conflict: no cap is set, or earlier trainings protect another privacy unit.
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
        _require_no_bound(known)
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
        with repeatable_torch():
            require_trainable(plan)
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
class FittedClassifier(Classifier):
    """A trained classifier.

    Attributes:
        bundle: the model with its certificate; the only part to share.
        rows_refused: rows refused by the declared rules. For the owner only: not differentially private.
        refusals: the reasons, with counts. For the owner only.
    """

    rows_refused: int
    refusals: Json

    def __getstate__(self) -> NoReturn:
        """Refuse to be pickled: a pickle would hold the private report on refused rows.

        Raises:
            InputUnusable: always.
        """
        raise InputUnusable(
            "save() writes the bundle, which may be shared; this object also holds facts for the owner alone"
        )


def _require_no_bound(domain: TableDomain | ImageDomain) -> None:
    """Refuse a bound on the records of a unit, declared or to be learnt: a training takes one record of a unit at a time.

    Raises:
        InputUnusable: there is a bound.
    """
    if isinstance(domain, TableDomain) and (domain.records_per_unit is not None or learns_records(domain)):
        unit = str(domain.privacy_unit)
        message = (
            f"a classifier takes no bound on the records of a unit: leave 'records' out of the column {unit!r}, in Python by"
            f" accept_draft(columns={{{unit!r}: {{'kind': 'unit'}}}}). All records of a unit are protected together all the same"
        )
        raise InputUnusable(message)


def _kind_of_target(frame: object, domain: TableDomain) -> pa.DataType | None:
    columns: list[Json] = domain.to_json()["columns"]  # type: ignore[assignment]
    modelled = [column for column in columns if column["name"] == domain.target]
    return FrameDtypes.of(frame, modelled).kind_of(domain.target)


def _packed(staged: ModelBundle, stated: Json) -> bytes:
    """The bundle with its certificate."""
    readme = render_model_readme(staged.manifest, certificate=stated)
    certificate = {**stated, "artefacts": artefacts_of(model_files(staged, readme=readme))}
    return packed_model(replace(staged, certificate=certificate), readme=readme)
