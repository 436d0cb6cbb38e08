"""An order of a member of a federation: what the board states is compared with what is declared here, before anything is reserved."""

from dataclasses import replace

from core.data.boards import Board
from core.errors import Conflict
from core.plan.ordered_plan import OrderedPlan
from core.plan.several_owners.federation import shared_digest
from service.planning.facts import DatasetFacts
from service.planning.orders import GeneratorOrder


class FederationDiffers(Conflict):
    """The federation is of another domain, another declared size or another plan than this dataset has here."""

    code = "federation-differs"

    def __init__(self, *, what: str) -> None:
        super().__init__(
            f"The federation states another {what} than this service does. Nothing was reserved.",
            remedy="Ask the analyst who created the federation; every member needs the same domain and the same software.",
            what=what,
        )


def federated(order: GeneratorOrder, facts: DatasetFacts) -> DatasetFacts:
    """The facts of a dataset, with the size of all members together if the order is of a federation.

    Raises:
        FederationDiffers: The dataset declares another domain or size than the federation states.
        InvalidPlan: The members do not make a federation.
    """
    if order.federation is None:
        return facts
    federation = order.federation.seen()
    if facts.domain.digest() != order.federation.domain_sha256:
        raise FederationDiffers(what="domain")
    if facts.declared_size != federation.own_size:
        raise FederationDiffers(what="declared size")
    return replace(facts, declared_size=federation.declared_size, federation=federation)


def require_shared(order: GeneratorOrder, plan: OrderedPlan) -> None:
    """Require that the plan made here is the board's, but for the name of the member.

    Raises:
        FederationDiffers: It is another one: other options, guarantee, noise or members.
    """
    wanted = order.federation
    if wanted is not None and shared_digest(plan.to_json()) != wanted.plan_sha256:
        raise FederationDiffers(what="plan")


def board_of(order: GeneratorOrder) -> Board | None:
    """Where the job exchanges its states; None without a federation."""
    wanted = order.federation
    return None if wanted is None else Board(url=wanted.url.removesuffix("/"), token=wanted.token)
