"""Wire types of quotes and of the orders they are about."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from service.budgets.schemas import Delta, Epsilon
from service.wire import Document, Name

_EXAMPLE: dict[str, JsonValue] = {
    "dataset_id": "6f1c2a52-3a0b-4a53-9d2b-9f6f1d3f6a10",
    "epsilon": 1.0,
    "delta": 1e-6,
    "synthesizer": "idpgan",
    "options": {"steps": 1000},
}


class GeneratorOrder(BaseModel):
    """A generator that is asked for: from which dataset, under which guarantee, made how."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    dataset_id: UUID
    epsilon: Epsilon
    delta: Delta | None = Field(None, description="Left out: the delta of the dataset's cap over 16.")
    synthesizer: Name = Field("idpgan", description="How the generator is made.")
    options: Document = Field(default_factory=dict, description="What to choose instead of the public rules.")
    grant_id: UUID | None = Field(
        None, description="The analyst's grant that pays; left out: the only open one on the dataset."
    )
