"""Specs: a synthesizer and its options, without budget or dataset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import ValidationError

from core.plan.errors import InvalidSpec, TooManyFreeSteps
from core.plan.graphical import AimRequest, MstRequest
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

PROFILES: Final[dict[str, dict[str, bool]]] = {
    "auto": {},
    "idpgan": {"anchor": False, "critic": True},
    "anchor": {"anchor": True, "critic": False},
}
"""Parts of "idpgan" that run, by name: those of the public rules, the critic alone, or the anchor alone."""

MOST_FREE_STEPS: Final = 40_000
"""Maximum number of pretraining steps of an order: more than ten times what the rules choose (`PRETRAINING_BY_CELLS`).

Plans, certificates and the local library have no such limit: earlier trainings stay valid.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisSpec(Value):
    """A synthesizer by name, and the requested options: those that are not None, `ablation` and `profile` as the options that they name.

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
        known = [*SYNTHESIZERS[self.synthesizer].model_fields]
        if self.synthesizer == "idpgan":
            known += ["ablation", "profile"]
            options = _with_named(options)
        try:
            return SYNTHESIZERS[self.synthesizer].model_validate(options)
        except ValidationError as error:
            raise explain(error, known) from None

    def require_few_free_steps(self) -> None:
        """Check that cost-free steps, which no budget bounds, stay within the limit of a shared service.

        Raises:
            TooManyFreeSteps: they do not.
        """
        request = self.request()
        if isinstance(request, IdpganRequest) and (request.pretraining_steps or 0) > MOST_FREE_STEPS:
            raise TooManyFreeSteps(option="pretraining_steps", limit=MOST_FREE_STEPS)


def _with_named(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with `ablation` and `profile` replaced by the options that they name.

    An option beside an ablation takes precedence over it. An option that contradicts the profile is refused.

    Raises:
        InvalidSpec: an unknown ablation or profile, or a contradiction.
    """
    if (ablation := options.pop("ablation", None)) is not None:
        options = _named("ablation", ablation, ABLATIONS) | options
    if (profile := options.pop("profile", None)) is not None:
        named = _named("profile", profile, PROFILES)
        against = [
            part
            for part, runs in named.items()
            if options.get(part) is not None and options[part] is not runs
        ]
        if against:
            raise InvalidSpec(
                f"the profile {profile} contradicts the option {against[0]}",
                remedy="leave out the profile, or the options anchor, critic and ablation",
            )
        options |= named
    return options


def _named(kind: str, name: object, known: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    if not isinstance(name, str) or name not in known:
        raise InvalidSpec(f"this {kind} is unknown", remedy=f"choose one of: {', '.join(known)}")
    return dict(known[name])
