"""Members: the analysts to whom a dataset is shown, kept by its owner or an admin."""

from uuid import UUID

from fastapi import APIRouter

from core.governance import members
from service.audit import record
from service.datasets import repository
from service.datasets.errors import DatasetNotFound
from service.dependencies import CurrentPrincipal, InjectedContext, OpenSession
from service.members.schemas import MemberList
from service.problem import problems
from service.strict_route import StrictRoute

router = APIRouter(prefix="/datasets/{dataset_id}/members", tags=["members"], route_class=StrictRoute)


@router.get("", summary="List the members", responses=problems(DatasetNotFound))
def list_members(dataset_id: UUID, principal: CurrentPrincipal, session: OpenSession) -> MemberList:
    """The analysts to whom the dataset is shown. For its owner, admins and auditors."""
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
    """Show the dataset's public facts, jobs and releases to an analyst. Adding it again changes nothing.

    A member may file budget requests; it spends nothing before one is approved.
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
    """Show the dataset to an analyst no longer; from now on it answers 404. Removing it again changes nothing.

    Jobs already ordered go on. Grants stay open on the population, of no use for this dataset; revoke them apart.
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
