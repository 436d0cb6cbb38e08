"""Members: the analysts who can see a dataset, managed by its owner or an admin."""

from uuid import UUID

from fastapi import APIRouter

from core.platform.budget_requests import members
from service.audit import record
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.members.schemas import MemberList
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/datasets/{dataset_id}/members", tags=["members"], route_class=StrictRoute)


@router.get("", summary="List members", responses=problems(DatasetNotFound))
def list_members(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> MemberList:
    """The analysts who can see the dataset. For its owner, admins and auditors."""
    repository.overseen(session, dataset_id, principal)
    return MemberList.of(members.of(session, dataset_id))


@router.put("/{principal_id}", summary="Add a member", responses=problems(DatasetNotFound))
def add_member(
    dataset_id: UUID,
    principal_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> MemberList:
    """Let an analyst see the dataset's public facts, jobs and releases. Adding a member again changes nothing.

    A member can file budget requests, and can spend budget only after one is approved.
    """
    repository.governed(session, dataset_id, principal)
    if members.add(session, dataset_id, principal_id, by=principal.id, clock=context.clock):
        record(
            session,
            principal,
            action="member.add",
            object_id=f"{dataset_id}/{principal_id}",
            clock=context.clock,
        )
    return MemberList.of(members.of(session, dataset_id))


@router.delete("/{principal_id}", summary="Remove a member", responses=problems(DatasetNotFound))
def remove_member(
    dataset_id: UUID,
    principal_id: UUID,
    principal: CurrentPrincipal,
    context: InjectedContext,
    session: OpenSession,
) -> MemberList:
    """Hide the dataset from an analyst, who gets 404 from now on. Removing a member again changes nothing.

    Jobs already ordered continue. Grants on the population stay open but cannot be used for this dataset; revoke them
    separately.
    """
    repository.governed(session, dataset_id, principal)
    if members.remove(session, dataset_id, principal_id):
        record(
            session,
            principal,
            action="member.remove",
            object_id=f"{dataset_id}/{principal_id}",
            clock=context.clock,
        )
    return MemberList.of(members.of(session, dataset_id))
