"""The form of the certificate of a selection, `understudy.selection-certificate/1`, as types.

It differs from other certificates (`core.artifacts.certificate_form`) in plan, recorded releases and charge: these cover all
candidates on their parts, the choice, and the winner on all units. `mechanisms` is the table of the winner's training.
"""

from typing import Annotated, Final, Literal

from pydantic import Field

from core.artifacts import statements as say
from core.artifacts.certificate_form import CertificateForm, ExecutedForm, Form, NoiseGrid
from core.artifacts.certificate_schema import schema_text
from core.plan.mechanism_forms import FEWEST_CANDIDATES, MOST_CANDIDATES, SelectionMechanismForm
from core.plan.selection import SelectionPlan
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


def selection_schema_text() -> str:
    """Return the file of the published JSON Schema, which is shipped with the client."""
    return schema_text(SelectionCertificateForm, name=SCHEMA)
