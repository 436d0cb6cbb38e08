"""The certificate of a selection's release, `understudy.selection-certificate/1`: its form and its making.

It differs from other certificates (`core.artifacts.certificate_form`) in plan, recorded releases and charge: these cover all
candidates on their parts, the choice, and the winner on all units. `mechanisms` is the table of the winner's training.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate import form_of, mechanism_rows
from core.artifacts.certificate_form import CertificateForm, ExecutedForm, Form, NoiseGrid
from core.artifacts.selection_execution import SelectionExecuted
from core.artifacts.signing.contexts import CERTIFICATE
from core.artifacts.signing.signed import SignedDocument, Signer
from core.dp import mechanism as mechanisms
from core.dp.charge import charge_of
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES, SelectionMechanismForm
from core.plan.selections.plan import SelectionPlan
from core.values import CountOrNone

SCHEMA: Final = "understudy.selection-certificate/1"


class SelectionExecutedForm(Form):
    """The executed releases, recorded where noise is added to private values, and the winner."""

    winner: CountOrNone
    candidates: Annotated[list[ExecutedForm], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]
    final: ExecutedForm


class SelectionGrids(Form):
    """The public grids of every training."""

    candidates: Annotated[list[NoiseGrid], Field(min_length=FEWEST_CANDIDATES, max_length=MOST_CANDIDATES)]
    final: NoiseGrid


class SelectionComposition(Form):
    """Composition of costs, within the job and across jobs."""

    within: Literal[say.SELECTION_WITHIN]  # type: ignore[valid-type]
    across: Literal[say.COMPOSITION_ACROSS]  # type: ignore[valid-type]


class SelectionCertificateForm(CertificateForm):
    """A whole certificate of a selection, with its signature."""

    schema_: Literal["understudy.selection-certificate/1"] = Field(alias="schema")  # type: ignore[assignment]
    plan: SelectionPlan  # type: ignore[assignment]
    mechanism: SelectionMechanismForm  # type: ignore[assignment]
    executed: SelectionExecutedForm  # type: ignore[assignment]
    noise_grid: SelectionGrids  # type: ignore[assignment]
    preprocessing: Annotated[list[str], Field(json_schema_extra={"const": [*say.SELECTION_PREPROCESSING]})]
    composition: SelectionComposition  # type: ignore[assignment]
    justification: Annotated[list[str], Field(json_schema_extra={"const": [*say.SELECTION_JUSTIFICATION]})]


def of_selection(
    final: Mapping[str, Any],
    *,
    plan: SelectionPlan,
    executed: SelectionExecuted,
    noise_grid: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the certificate of a selection as a JSON object, without the member `artefacts` and the signature.

    Args:
        final: The certificate of the winner's training, from `make_certificate`.
        noise_grid: The grids of every training: `candidates` in their order, and `final`.
    """
    return dict(final) | {
        "schema": SCHEMA,
        "noise_grid": dict(noise_grid),
        "preprocessing": list(say.SELECTION_PREPROCESSING),
        "composition": {"within": say.SELECTION_WITHIN, "across": say.COMPOSITION_ACROSS},
        "justification": list(say.SELECTION_JUSTIFICATION),
        "mechanism": mechanisms.to_json(plan.mechanism),
        "plan": plan.to_json(),
        "plan_digest": plan.digest(),
        "mechanisms": mechanism_rows(plan.finals[executed.winner]),
        "privacy_parameters": plan.guarantee.to_json(),
        "declared_size": plan.declared_size,
        "epsilon": plan.epsilons.to_json(),
        "charge": charge_of(plan.mechanism, delta=plan.guarantee.delta).to_json(),
        "executed": executed.stated(plan),
    }


def sign_selection_certificate(certificate: Mapping[str, Any], signer: Signer) -> SignedDocument:
    """Sign a certificate.

    Raises:
        InvalidCertificate: it is not of the published form.
    """
    signed = signer.sign(certificate, context=CERTIFICATE)
    form_of(signed.to_json(), SelectionCertificateForm)
    return signed
