"""The form of a utility report, `understudy.charged-report/1`, as types; its JSON Schema is generated from them.

Every member is required and no other is allowed. Members shared with certificates have the same form.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from core.artifacts.certificate_form import Form, Ledger, Moment, Randomness, Software, Unit
from core.artifacts.reports import utility_text as say
from core.dp.accountant import Epsilons
from core.dp.charge import Charge
from core.dp.guarantee import PrivacyGuarantee
from core.plan.mechanism_forms import ReportMechanismForm
from core.plan.utility_reports.plan import MOST_COLUMNS, ReportPlan
from core.values import Count, Digest, Identifier, Name, Positive

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
    privacy_parameters: PrivacyGuarantee
    privacy_parameters_description: Literal[say.PROMISE]  # type: ignore[valid-type]
    epsilon: Epsilons
    charge: Charge
    mechanisms: Annotated[list[MechanismRow], Field(min_length=1, max_length=3)]
    mechanism: ReportMechanismForm
    plan: ReportPlan
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
