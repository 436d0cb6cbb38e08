"""Specs: a synthesizer and its options, without budget or dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from core.plan.errors import InvalidSpec, TooManyFreeSteps
from core.plan.marginals import AimRequest, MstRequest
from core.plan.options import ABLATIONS, IdpganRequest, explain
from core.values import Value

Request = IdpganRequest | AimRequest | MstRequest
SYNTHESIZERS: Final[dict[str, type[Request]]] = {
    "idpgan": IdpganRequest,
    "aim": AimRequest,
    "mst": MstRequest,
}
"""Each known synthesizer and the type of its options."""
GRAPHICAL: Final = ("aim", "mst")
"""Synthesizers that fit a graphical model: for tables only, and only with the extra `graphical`."""

MOST_FREE_STEPS: Final = 40_000
"""Maximum number of pretraining steps of an order: more than ten times what the rules choose (`PRETRAINING_BY_CELLS`).

Plans, certificates and the local library have no such limit: earlier trainings stay valid.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisSpec(Value):
    """A synthesizer by name, and the requested options: those that are not None, an `ablation` as the options that it names.

    Raises:
        InvalidSpec: the synthesizer is unknown, or an option is unknown or out of range.
    """

    synthesizer: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", self.request().chosen())

    def request(self) -> Request:
        """Return the typed options.

        Raises:
            InvalidSpec: as for the class.
        """
        if self.synthesizer not in SYNTHESIZERS:
            raise InvalidSpec(
                "this synthesizer is unknown", remedy=f"choose one of: {', '.join(SYNTHESIZERS)}"
            )
        options = dict(self.options)
        if self.synthesizer == "idpgan" and (ablation := options.pop("ablation", None)) is not None:
            if not isinstance(ablation, str) or ablation not in ABLATIONS:
                raise InvalidSpec("this ablation is unknown", remedy=f"choose one of: {', '.join(ABLATIONS)}")
            options = ABLATIONS[ablation] | options
        try:
            return SYNTHESIZERS[self.synthesizer].model_validate(options)
        except ValidationError as error:
            raise explain(error, SYNTHESIZERS[self.synthesizer].model_fields) from None

    def require_few_free_steps(self) -> None:
        """Check that cost-free steps, which no budget bounds, stay within the limit of a shared service.

        Raises:
            TooManyFreeSteps: they do not.
        """
        request = self.request()
        if isinstance(request, IdpganRequest) and (request.pretraining_steps or 0) > MOST_FREE_STEPS:
            raise TooManyFreeSteps(option="pretraining_steps", limit=MOST_FREE_STEPS)
