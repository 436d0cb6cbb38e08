"""Wire types of quotes and of the orders they are about."""

from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from core.synthesis.options import ABLATIONS, IdpganRequest
from service.budgets.schemas import Delta, Epsilon
from service.wire import Document, Name

_EXAMPLE: dict[str, JsonValue] = {
    "dataset_id": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10",
    "epsilon": 1.0,
    "delta": 1e-6,
    "synthesizer": "idpgan",
    "options": {"steps": 1000},
}


def _options_schema() -> dict[str, Any]:
    """The options one by one. Rules between them are the plan's, and are told by the answer of a quote."""
    schema = IdpganRequest.model_json_schema()
    ablation = {"anyOf": [{"type": "string", "enum": sorted(ABLATIONS)}, {"type": "null"}], "default": None}
    return {
        "properties": schema["properties"] | {"ablation": ablation},
        "additionalProperties": schema["additionalProperties"],
    }


class GeneratorOrder(BaseModel):
    """A generator that is asked for: from which dataset, under which guarantee, made how."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    dataset_id: UUID
    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out: the delta of the dataset's cap over 16.")
    synthesizer: Name = Field("idpgan", description="How the generator is made.")
    options: Document = Field(
        default_factory=dict,
        description="What to choose instead of the public rules.",
        json_schema_extra=_options_schema(),
    )
    grant_id: UUID | None = Field(
        None, description="The analyst's grant that pays; left out: the only open one on the dataset."
    )
