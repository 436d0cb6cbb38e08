"""Errors of federations.

Unauthenticated
  * FederationTokenRefused  401  no token of a member, or of a member of another federation
NotFound
  * FederationNotFound      404  no such federation, or another principal's
  * StateNotFound           404  the member has not handed in this round, or it is no longer kept
Conflict
  * FederationOver          409  it has failed or was ended
  * RoundNotOpen            409  an earlier round is not complete
  * StateDiffers            409  the member has handed in another state, or another certificate
InvalidInput
  * CertificateOfAnother    422  the certificate is not one of this member's training
"""

from core.errors import Conflict, InvalidInput, NotFound, Unauthenticated


class FederationTokenRefused(Unauthenticated):
    """The request has no token of a member of this federation."""

    code = "federation-token-refused"
    default_detail = "The request carries no token of a member of this federation."
    default_remedy = "Send the token that the analyst gave to this member: Authorization: Bearer uf_..."


class FederationNotFound(NotFound):
    """There is no such federation, or another principal created it."""

    code = "federation-not-found"
    default_detail = "There is no such federation."
    default_remedy = "Use an id that POST /v1/federations gave."


class StateNotFound(NotFound):
    """The member has not handed in its state of this round, or the round is no longer kept."""

    code = "federation-state-not-found"
    default_detail = "The board has no state of this member in this round."
    default_remedy = "List the round first; a round is kept until the next one is complete."


class FederationOver(Conflict):
    """The federation has failed or was ended; no state is taken or handed out."""

    code = "federation-over"

    def __init__(self, *, state: str, vanished: str | None) -> None:
        super().__init__(
            "The federation has ended before its last round.",
            remedy="Ask the analyst who created it for a new one.",
            state=state,
            vanished=vanished,
        )


class RoundNotOpen(Conflict):
    """An earlier round is not complete, or the federation has no such round."""

    code = "federation-round-not-open"

    def __init__(self, *, round_open: int) -> None:
        super().__init__(
            "This round does not take states now.",
            remedy="Hand in the round that is open.",
            round_open=round_open,
        )


class StateDiffers(Conflict):
    """The member has handed in something else before; what was handed in is never replaced."""

    code = "federation-state-differs"
    default_detail = "The member has handed in something else here before."
    default_remedy = "Resume the training that handed it in: it makes the same bytes again."


class CertificateOfAnother(InvalidInput):
    """The certificate does not state the plan of this member."""

    code = "federation-certificate-of-another"
    default_detail = "The certificate does not state the plan of this member of the federation."
    default_remedy = "Hand in the file certificate.json of the bundle of this member's training."
