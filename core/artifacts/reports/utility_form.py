"""The form of a utility report, `understudy.charged-report/1`, as types; its JSON Schema is generated from them.

Every member is required and no other is allowed. Members shared with certificates have the same form.
"""

import json
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from core.artifacts.certificate_form import ChargeForm, Ledger, Randomness, Software, Unit
from core.artifacts.certificate_schema import strict_object
from core.artifacts.plan_form import (
    Count,
    Digest,
    Epsilon,
    Form,
    GaussianForm,
    Identifier,
    Moment,
    Name,
    Parameters,
    Positive,
)
from core.artifacts.reports import utility_text as say
from core.plan.report_plan import LARGEST_SIZE, MOST_COLUMNS, PAIR_BINS

SCHEMA: Final = "understudy.charged-report/1"
_MOST_PAIRS: Final = MOST_COLUMNS * (MOST_COLUMNS - 1) // 2

Probability = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Number = Annotated[float, Field(gt=-1e13, lt=1e13, allow_inf_nan=False)]
Kind = Literal["columns", "pairs", "score"]


class Measured(Form):
    """One noisy number with its estimate and interval."""

    noisy: Number
    noise_std: Positive
    estimate: Probability
    low: Probability
    high: Probability


class ColumnError(Measured):
    """Error of one column."""

    name: Name
    by_chance: Probability


class PairError(Measured):
    """Error of one pair of columns."""

    names: Annotated[list[Name], Field(min_length=2, max_length=2)]
    by_chance: Probability


class MeanError(Measured):
    """Mean error over all columns, or over all pairs, at no extra cost."""

    by_chance: Probability


class Score(Measured):
    """Score of the classifier trained on synthetic rows."""

    target: Name
    on_synthetic: Probability
    most_frequent: Probability


class Results(Form):
    """The measured errors."""

    columns: Annotated[list[ColumnError], Field(min_length=1, max_length=MOST_COLUMNS)]
    pairs: Annotated[list[PairError], Field(max_length=_MOST_PAIRS)]
    mean_of_columns: MeanError
    mean_of_pairs: MeanError | None
    score: Score | None


class NoiseStds(Form):
    """Standard deviation of the noise on every term of a kind, in records; null for a kind without terms."""

    columns: Positive
    pairs: Positive | None
    score: Positive | None


class UnitColumn(Form):
    """The column of the privacy unit; null if every record is its own unit."""

    column: Name | None


class ReportMechanismForm(GaussianForm):
    """One Gaussian mechanism on all terms."""

    version: Literal[1]


class ReportPlanForm(Form):
    """The ordered measurement."""

    version: Literal[1]
    kind: Literal["report"]
    guarantee: Parameters
    adjacency: Literal["add-or-remove"]
    privacy_unit: UnitColumn
    declared_size: Annotated[int, Field(ge=1, le=LARGEST_SIZE)]
    release_id: Identifier
    manifest_sha256: Digest
    columns: Annotated[list[Name], Field(min_length=1, max_length=MOST_COLUMNS)]
    target: Name | None
    pair_bins: Literal[PAIR_BINS]  # type: ignore[valid-type]
    synthetic_rows: Count
    steps: Literal[0]
    noise_multiplier: Positive
    noise_stds: NoiseStds
    epsilons: Epsilon
    mechanism: ReportMechanismForm


class MechanismRow(Form):
    """One kind of term of the joint Gaussian, for people."""

    name: Kind
    kind: Literal["gaussian"]
    times: Count
    sensitivity: Literal[1]
    noise_std: Positive


class ReportComposition(Form):
    """Composition of costs, within the job and across jobs."""

    within: Literal[say.WITHIN]  # type: ignore[valid-type]
    across: Literal[say.ACROSS]  # type: ignore[valid-type]


class UtilityReportForm(Form):
    """A complete utility report, with its signature."""

    schema_: Literal["understudy.charged-report/1"] = Field(alias="schema")
    report_id: Identifier
    release_id: Identifier
    job_id: Identifier
    dataset_id: Identifier
    population_id: Identifier
    issued_at: Moment
    dp_flavor: Literal["Approximate DP"]
    adjacency: Literal["add-or-remove"]
    privacy_unit: Unit
    declared_size: Count
    privacy_parameters: Parameters
    privacy_parameters_description: Literal[say.PROMISE]  # type: ignore[valid-type]
    epsilon: Epsilon
    charge: ChargeForm
    mechanisms: Annotated[list[MechanismRow], Field(min_length=1, max_length=3)]
    mechanism: ReportMechanismForm
    plan: ReportPlanForm
    plan_digest: Digest
    releases_heard: Literal[1]
    results: Results
    reading: Annotated[list[str], Field(json_schema_extra={"const": [*say.READING]})]
    public_side: Literal[say.PUBLIC_SIDE]  # type: ignore[valid-type]
    composition: ReportComposition
    ledger: Ledger
    randomness: Randomness
    noise_grid: Positive
    software: Software
    unprotected_quantities: Annotated[list[str], Field(json_schema_extra={"const": [*say.UNPROTECTED]})]
    not_covered: Annotated[list[str], Field(json_schema_extra={"const": [*say.NOT_COVERED]})]
    context: Literal["understudy.charged-report/1"]
    algorithm: Literal["Ed25519"]
    key_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    signature: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]


def utility_schema_text() -> str:
    """Return the published JSON Schema (draft 2020-12) as text."""
    head: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:{SCHEMA.replace('/', ':')}",
        "title": "Utility report on a differentially private release",
    }
    return (
        json.dumps(
            head | strict_object(UtilityReportForm.model_json_schema(by_alias=True)), indent=1, sort_keys=True
        )
        + "\n"
    )
