"""The form of the certificate of a generator over the datasets of several owners, `understudy.federated-certificate/1`, as types."""

from typing import Annotated, Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate_form import CertificateForm, Composition, Model
from core.artifacts.owners_ledgers import OwnersLedger, Presence
from core.plan.several_owners.joint_plan import JointPlan
from core.plan.several_owners.owners import MOST_OWNERS

JOINT_SCHEMA: Final = "understudy.federated-certificate/1"


class JointDeployment(Model):
    """The view of every party where several owners hand in records."""

    actors: Literal[say.JOINT_ACTORS]  # type: ignore[valid-type]


class JointComposition(Composition):
    """Composition of costs, within the job and across the jobs of each ledger."""

    within: Literal[say.JOINT_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.FEDERATED_ACROSS]  # type: ignore[valid-type]


class JointCertificateForm(CertificateForm):
    """A whole certificate of a generator over several owners' datasets; `dataset_id`, `population_id` and `ledger` are the first owner's."""

    schema_: Literal["understudy.federated-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    privacy_parameters_description: Literal[say.JOINT_READING]  # type: ignore[valid-type]
    model: JointDeployment
    composition: JointComposition
    plan: JointPlan
    ledgers: Annotated[list[OwnersLedger], Field(min_length=2, max_length=MOST_OWNERS)]
    presence: Annotated[list[Presence], Field(min_length=2, max_length=MOST_OWNERS)]
