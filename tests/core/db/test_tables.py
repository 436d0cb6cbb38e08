"""The tables say what the domain says."""

import pytest
from sqlalchemy import CheckConstraint, ForeignKeyConstraint

from core.db.base import Base, UtcDateTime
from core.db.tables import api_key, budget, dataset, grant, job, ledger_entry
from core.dp.adjacency import Adjacency
from core.dp.charge import ORDERS
from core.dp.filters import AdmissionRule
from core.jobs.states import JobState
from core.ledger.entries import DecisionKind, GrantState
from core.ledger.hash_chain import NO_HASH
from core.ledger.reservation import EntryKind
from core.platform.access.roles import Role

TABLES = Base.metadata.tables


@pytest.mark.parametrize(
    ("listed", "domain"),
    [
        (job.STATES, JobState),
        (ledger_entry.MOVEMENTS, EntryKind),
        (ledger_entry.DECISIONS, DecisionKind),
        (grant.STATES, GrantState),
        (budget.RULES, AdmissionRule),
        (dataset.ADJACENCIES, Adjacency),
    ],
)
def test_check_constraints_list_what_the_domain_knows(listed, domain):
    assert set(listed) == {member.value for member in domain}


def test_every_role_may_be_stored():
    assert {role.value for role in Role} <= set(api_key.ROLES)


def test_one_amount_per_order():
    assert len(ORDERS) == 6


def test_an_empty_chain_begins_with_the_same_hash_everywhere():
    assert budget.NO_ENTRY_HASH == NO_HASH


@pytest.mark.parametrize("table", TABLES.values(), ids=str)
def test_times_are_aware_and_constraints_are_named(table):
    for column in table.columns:
        if column.name.endswith("_at") or column.name == "at":
            assert isinstance(column.type, UtcDateTime)
    for constraint in table.constraints:
        assert constraint.name, constraint
        if isinstance(constraint, CheckConstraint | ForeignKeyConstraint):
            assert str(constraint.name).startswith(table.name)


@pytest.mark.parametrize("mapper", sorted(Base.registry.mappers, key=str), ids=str)
def test_relationships_never_load_by_surprise(mapper):
    assert all(relationship.lazy == "raise" for relationship in mapper.relationships)


def test_one_table_per_file():
    modules = [mapper.class_.__module__ for mapper in Base.registry.mappers]
    assert len(modules) == len(set(modules)) == len(TABLES)
