"""The form of the certificate of a private model, `understudy.model-certificate/1`, as types."""

from typing import Annotated, Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate_form import (
    Artefact,
    DataDomain,
    Form,
    Ledger,
    Moment,
    Randomness,
    Software,
    Unit,
)
from core.artifacts.owners_ledgers import OwnersLedger, Presence, Probability
from core.artifacts.private_models.constancy_check import ModelCheck
from core.artifacts.private_models.execution import ModelExecuted
from core.dp.accountant import Epsilons
from core.dp.charge import Charge
from core.dp.guarantee import PrivacyGuarantee
from core.plan.mechanism_forms import ComposedForm
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.owners import MOST_OWNERS
from core.values import Count, Digest, Identifier, OrAbsent, Positive, Share

SCHEMA: Final = "understudy.model-certificate/1"
FEDERATED_SCHEMA: Final = "understudy.federated-model-certificate/1"
AVERAGED_SCHEMA: Final = "understudy.averaged-model-certificate/1"
MEMBER_SCHEMA: Final = "understudy.member-model-certificate/1"
SCHEMAS: Final = frozenset({SCHEMA, FEDERATED_SCHEMA, AVERAGED_SCHEMA, MEMBER_SCHEMA})
"""The schemas of certificates of private models; a release with another schema is a generator."""

Bits = Annotated[int, Field(ge=20, le=52)]
Finite = Annotated[float, Field(gt=-1e13, lt=1e13, allow_inf_nan=False)]


class ModelMechanism(Form):
    """One mechanism with its parameters, for people."""

    name: Literal["principal-components", "model-steps", "model-accuracy"]
    kind: Literal["gaussian", "poisson-sampled-gaussian"]
    times: Count
    sampling_rate: Share
    sensitivity: Positive
    noise_multiplier: Positive
    noise_std: Positive


class ModelExecutedForm(Form):
    """The executed releases, recorded where noise is added to private values."""

    steps: Count
    releases: ModelExecuted


class ModelGrids(Form):
    """The public grids that sums and noise were rounded to: in records, but in bits below the noise for the steps."""

    components: Positive | None
    steps: Bits
    accuracy: Positive | None


class ModelAccuracy(Form):
    """The accuracy on held-out units, from one noisy count; `low` and `high` bound the effect of the noise at 95 %."""

    noisy_wrong: Finite
    noise_std: Positive
    held_out_size: Count
    estimate: Probability
    low: Probability
    high: Probability


class ModelDeployment(Form):
    """The registry's deployment model: the view of every party."""

    model_name: Literal["Central"]
    actors: Literal[say.MODEL_ACTORS]  # type: ignore[valid-type]
    release_type: Literal["One release"]
    data_source_type: Literal["Static"]
    access_type: Literal["Non-interactive"]


class ModelComposition(Form):
    """Composition of costs, within the job and across jobs."""

    within: Literal[say.MODEL_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.COMPOSITION_ACROSS]  # type: ignore[valid-type]


class ModelArtefacts(Form):
    """Every file of the bundle except the certificate."""

    readme: Artefact = Field(alias="README.md")
    domain: Artefact = Field(alias="domain.json")
    model: Artefact = Field(alias="model.onnx")
    weights: Artefact = Field(alias="weights.safetensors")
    manifest: Artefact = Field(alias="manifest.json")
    script: Artefact = Field(alias="predict.py")


class ModelCertificateForm(Form):
    """A whole certificate of a model, with its signature."""

    schema_: Literal["understudy.model-certificate/1"] = Field(alias="schema")
    release_id: Identifier
    job_id: Identifier
    dataset_id: Identifier
    population_id: Identifier
    issued_at: Moment
    data_product_type: Literal["Machine learning model"]
    dp_flavor: Literal["Approximate DP"]
    adjacency: Literal["add-or-remove"]
    privacy_unit: Unit
    declared_size: Count
    privacy_parameters: PrivacyGuarantee
    privacy_parameters_description: Literal[say.MODEL_READING]  # type: ignore[valid-type]
    epsilon: Epsilons
    charge: Charge
    data_domain: DataDomain
    unprotected_quantities: Annotated[list[str], Field(json_schema_extra={"const": [*say.UNPROTECTED]})]
    model: ModelDeployment
    mechanisms: Annotated[list[ModelMechanism], Field(min_length=1, max_length=3)]
    mechanism: ComposedForm
    plan: ModelPlan
    plan_digest: Digest
    executed: ModelExecutedForm
    accuracy: ModelAccuracy | None
    model_check: OrAbsent[ModelCheck] = None
    preprocessing: Annotated[list[str], Field(json_schema_extra={"const": [*say.MODEL_PREPROCESSING]})]
    post_processing: Literal[say.MODEL_POST_PROCESSING]  # type: ignore[valid-type]
    composition: ModelComposition
    ledger: Ledger
    justification: Annotated[list[str], Field(json_schema_extra={"const": [*say.MODEL_JUSTIFICATION]})]
    randomness: Randomness
    noise_grid: ModelGrids
    software: Software
    artefacts: ModelArtefacts
    not_covered: Annotated[list[str], Field(json_schema_extra={"const": [*say.NOT_COVERED]})]
    context: Literal["understudy.certificate/2"]
    algorithm: Literal["Ed25519"]
    key_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    signature: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]


class FederatedDeployment(ModelDeployment):
    """The view of every party where several owners hand in records."""

    actors: Literal[say.FEDERATED_ACTORS]  # type: ignore[valid-type]


class FederatedComposition(Form):
    """Composition of costs, within the job and across the jobs of each ledger."""

    within: Literal[say.FEDERATED_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.FEDERATED_ACROSS]  # type: ignore[valid-type]


class FederatedModelForm(ModelCertificateForm):
    """A whole certificate of a model over the datasets of several owners; `dataset_id`, `population_id` and `ledger` are the first owner's."""

    schema_: Literal["understudy.federated-model-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    privacy_parameters_description: Literal[say.FEDERATED_READING]  # type: ignore[valid-type]
    model: FederatedDeployment
    composition: FederatedComposition  # type: ignore[assignment]
    ledgers: Annotated[list[OwnersLedger], Field(min_length=2, max_length=MOST_OWNERS)]
    presence: Annotated[list[Presence], Field(min_length=2, max_length=MOST_OWNERS)]


class AveragedComposition(FederatedComposition):
    """Composition of costs where the owners' weights are averaged."""

    within: Literal[say.AVERAGED_WITHIN]  # type: ignore[valid-type]


class AveragedModelForm(FederatedModelForm):
    """A whole certificate of a model whose owners trained copies of it, each with noise of its own."""

    schema_: Literal["understudy.averaged-model-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    composition: AveragedComposition


class MemberDeployment(ModelDeployment):
    """The view of every party where every owner trains in a service of its own."""

    actors: Literal[say.MEMBER_ACTORS]  # type: ignore[valid-type]


class MemberComposition(ModelComposition):
    """Composition of costs in one member's service."""

    within: Literal[say.MEMBER_WITHIN]  # type: ignore[valid-type]


class MemberModelForm(ModelCertificateForm):
    """A whole certificate of one member of a federation; `declared_size` is of all members together, `ledger` this member's own.

    The plan's `federation` names the federation, its members with their declared sizes, and the member whose certificate this is.
    """

    schema_: Literal["understudy.member-model-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    model: MemberDeployment
    composition: MemberComposition
