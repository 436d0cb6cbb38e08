"""The form of a certificate, `understudy.certificate/2`, as types; the published JSON Schema is made from them.

Members are named as in the public registry of deployments of differential privacy if it has a name
(docs/certificate.md has the table). Every member is required, except `generator_check` and the unit's `records`,
which came later; no other member is allowed.
"""

from typing import Annotated, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field

from core.artifacts import statements as say
from core.artifacts.execution import Executed
from core.artifacts.sampling.generator_check import GeneratorCheck
from core.artifacts.signing.contexts import CERTIFICATE
from core.dp.accountant import Epsilons
from core.dp.charge import Charge
from core.dp.guarantee import PrivacyGuarantee
from core.plan.mechanism_forms import ComposedForm
from core.plan.plan import Plan
from core.values import Count, CountOrNone, Digest, Identifier, Name, OrAbsent, Positive, Published, Share

SCHEMA: Final = "understudy.certificate/2"
Moment = Annotated[
    str,
    Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00$"),
]


class Form(BaseModel):
    """Without other members, and frozen. `core.values.read` refuses converted types."""

    model_config = ConfigDict(
        frozen=True, defer_build=True, extra="forbid", protected_namespaces=(), serialize_by_alias=True
    )


class Unit(Form):
    """The privacy unit: one record, or one value of a named column with all its records."""

    column: Name | None
    records: OrAbsent[Count] = None
    description: Literal[say.UNIT_OF_RECORD, say.UNIT_OF_COLUMN]  # type: ignore[valid-type]


class DataDomain(Form):
    """The declared domain, by the hash of its canonical JSON, and its size."""

    sha256: Digest
    columns: Count
    cells: Count


class Model(Form):
    """The registry's deployment model: the view of every party."""

    model_name: Literal["Central"]
    actors: Literal[say.ACTORS]  # type: ignore[valid-type]
    release_type: Literal["One release"]
    data_source_type: Literal["Static"]
    access_type: Literal["Non-interactive"]


class MechanismForm(Form):
    """One mechanism with its parameters, for people."""

    name: Literal[
        "label-histogram", "anchor", "anchor-columns", "anchor-screening", "anchor-tables", "anchor-brightness", "anchor-means", "anchor-basis", "anchor-cells", "anchor-moments", "critic-steps",
        "threshold-histograms", "one-way-counts", "marginal-scores", "chosen-marginals",
        "learning-bounds", "learning-bins", "learning-categories", "learning-records", "learning-crowded",
    ]  # fmt: skip
    kind: Literal["discrete-gaussian", "gaussian", "poisson-sampled-gaussian"]
    times: Count
    sampling_rate: Share
    sensitivity: Positive
    noise_multiplier: Positive | None
    noise_std: Positive | None


_Run = Annotated[
    tuple[Count, Positive], Published(Annotated[list[Positive], Field(min_length=2, max_length=2)])
]


class Runs(Form):
    """Runs of steps with one effective noise multiplier, `[steps, multiplier]` each, repeated."""

    repeat: Count
    runs: Annotated[list[_Run], Field(min_length=1, max_length=2)]


class ExecutedForm(Form):
    """The executed releases, recorded where noise is added to private values."""

    steps: CountOrNone
    releases: Executed
    noise_multipliers: Annotated[list[Runs], Field(max_length=1024)]


class Composition(Form):
    """Composition of costs, within the job and across jobs."""

    within: Literal[say.COMPOSITION_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.COMPOSITION_ACROSS]  # type: ignore[valid-type]


class LedgerLink(Form):
    """One link of the ledger's chain."""

    sequence: Count
    hash: Digest


class Ledger(Form):
    """The ledger's links: the reservation, the spend, and the chain's head before the first row was opened."""

    reserved: LedgerLink
    spent: LedgerLink
    head: LedgerLink


class Randomness(Form):
    """The source of noise and sampling coins, and the destruction of their key."""

    cipher: Literal[say.CIPHER]  # type: ignore[valid-type]
    key: Literal[say.KEY]  # type: ignore[valid-type]
    addressing: Literal[say.ADDRESSING]  # type: ignore[valid-type]


class CriticGrid(Form):
    """A step, and the number of bits by which the grid is finer than the noise from that step on."""

    first_step: CountOrNone
    bits_below_noise: Annotated[int, Field(ge=20, le=52)]


class NoiseGrid(Form):
    """The public grids that sums and noise were rounded to."""

    learning: OrAbsent[Positive] = None
    anchor: Positive | None
    label_counts: Literal[1] | None
    critic: Annotated[list[CriticGrid], Field(max_length=64)]
    histograms: Annotated[int, Field(ge=20, le=52)] | None


class Distribution(Form):
    """One installed distribution that was used, by the hash of its files."""

    name: Name
    version: Name
    files_sha256: Digest | None


class Software(Form):
    """The executing software; see `models.software` for the hashes."""

    name: Literal["understudy"]
    version: Name
    source_sha256: Digest
    python: Name
    distributions: Annotated[list[Distribution], Field(max_length=64)]


class Artefact(Form):
    """One file of the bundle."""

    sha256: Digest
    bytes: CountOrNone


class Artefacts(Form):
    """Every file of the bundle except the certificate."""

    readme: Artefact = Field(alias="README.md")
    domain: Artefact = Field(alias="domain.json")
    network: Artefact = Field(alias="generator.onnx")
    weights: Artefact = Field(alias="generator.safetensors")
    manifest: Artefact = Field(alias="manifest.json")


class ArtefactsWithScript(Artefacts):
    """The same, for a bundle with the script; bundles of the first releases have none."""

    script: Artefact = Field(alias="sample.py")


class ArtefactsWithCounts(ArtefactsWithScript):
    """The same, for a bundle with noisy counts, which tables have whose plan has an anchor."""

    counts: Artefact = Field(alias="counts.bin")


class CertificateForm(Form):
    """A whole certificate, with its signature."""

    schema_: Literal["understudy.certificate/2"] = Field(alias="schema")
    release_id: Identifier
    job_id: Identifier
    dataset_id: Identifier
    population_id: Identifier
    issued_at: Moment
    data_product_type: Literal["Synthetic data"]
    dp_flavor: Literal["Approximate DP"]
    adjacency: Literal["add-or-remove"]
    privacy_unit: Unit
    declared_size: Count
    privacy_parameters: PrivacyGuarantee
    privacy_parameters_description: Literal[say.READING, say.READING_BESIDE_EARLIER]  # type: ignore[valid-type]
    epsilon: Epsilons
    charge: Charge
    data_domain: DataDomain
    unprotected_quantities: Annotated[list[str], Field(json_schema_extra={"const": [*say.UNPROTECTED]})]
    model: Model
    mechanisms: Annotated[list[MechanismForm], Field(min_length=1, max_length=70)]
    mechanism: ComposedForm
    plan: Plan
    plan_digest: Digest
    executed: ExecutedForm
    preprocessing: Annotated[
        list[str],
        Field(
            json_schema_extra={
                "enum": [
                    [*say.PREPROCESSING],
                    [*say.LEARNT_PREPROCESSING],
                    [*say.BOUNDED_PREPROCESSING],
                    [*say.LEARNT_BOUNDED_PREPROCESSING],
                    [*say.LEARNT_NAMES_PREPROCESSING],
                    [*say.LEARNT_NAMES_BOUNDED_PREPROCESSING],
                ]
            }
        ),
    ]
    post_processing: Literal[say.POST_PROCESSING]  # type: ignore[valid-type]
    composition: Composition
    ledger: Ledger
    justification: Annotated[
        list[str],
        Field(json_schema_extra={"enum": [[*say.JUSTIFICATION], [*say.ORDERED_JUSTIFICATION]]}),
    ]
    randomness: Randomness
    noise_grid: NoiseGrid
    software: Software
    generator_check: OrAbsent[GeneratorCheck] = None
    artefacts: ArtefactsWithCounts | ArtefactsWithScript | Artefacts
    not_covered: Annotated[list[str], Field(json_schema_extra={"const": [*say.NOT_COVERED]})]
    context: Literal["understudy.certificate/2"]
    algorithm: Literal["Ed25519"]
    key_id: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
    signature: Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]{86}==$")]


assert get_args(CertificateForm.model_fields["context"].annotation) == (CERTIFICATE,)
