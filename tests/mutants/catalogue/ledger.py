"""Bugs in the ledger: what was spent does not count, or stops counting."""

from tests.mutants.mutant import Mutant

LEDGER = "core.ledger.ledger"
RESERVATION = "core.ledger.reservation"
SEVERAL = "tests/core/jobs/test_several_owners.py"
ORDER_REFUSED = "tests/core/ledger/test_reservation.py::test_every_other_order_is_refused"

MUTANTS = (
    Mutant(
        name="spent-in-one-of-several-ledgers",
        module=LEDGER,
        function="spend",
        before="moves = list(_moves(locked, EntryKind.SPENT))",
        after="moves = list(_moves(locked[:1], EntryKind.SPENT))",
        bug="rows of several owners are opened once the first one's ledger is charged",
        source="all or none, without all",
        killed_by=f"{SEVERAL}::test_every_ledger_is_charged_the_whole_plan_and_settled_alike",
    ),
    Mutant(
        name="owner-who-withdrew-is-read",
        module=LEDGER,
        function="spend",
        before="""
            if len(locked) > 1 and any(_withdrawn(session, budget, reservation) for budget, reservation in locked):
                raise OwnerWithdrew
        """,
        after="",
        bug="a job over several owners begins although one of them revoked its grant before the claim",
        source="consent that was taken back",
        killed_by=f"{SEVERAL}::test_an_owner_that_withdraws_before_the_claim_voids_all",
    ),
    Mutant(
        name="void-after-claim",
        module=RESERVATION,
        function="",
        before="frozenset({EntryKind.SETTLED})",
        after="frozenset({EntryKind.SETTLED, EntryKind.VOIDED})",
        bug="a job that has begun can be voided, and everything it released is free",
        source="refund after claim",
        killed_by=ORDER_REFUSED,
    ),
    Mutant(
        name="settled-job-runs-again",
        module=RESERVATION,
        function="",
        before="""
            {
                None: frozenset({EntryKind.RESERVED}),
                EntryKind.RESERVED: frozenset({EntryKind.SPENT, EntryKind.VOIDED}),
                EntryKind.SPENT: frozenset({EntryKind.SETTLED}),
                EntryKind.VOIDED: frozenset(),
                EntryKind.SETTLED: frozenset(),
            }
        """,
        after="""
            {
                None: frozenset({EntryKind.RESERVED}),
                EntryKind.RESERVED: frozenset({EntryKind.SPENT, EntryKind.VOIDED}),
                EntryKind.SPENT: frozenset({EntryKind.SETTLED}),
                EntryKind.VOIDED: frozenset(),
                EntryKind.SETTLED: frozenset({EntryKind.SPENT}),
            }
        """,
        bug="an ended job can be run again under its old reservation: a retry without a new charge",
        source="retries that reuse a budget token",
        killed_by=ORDER_REFUSED,
    ),
    Mutant(
        name="settlement-by-the-smaller-of-each",
        module=RESERVATION,
        function="bounded",
        before="pair.delta_femtos",
        after="min(charge.delta_femtos, by.delta_femtos)",
        bug="a settlement takes epsilon from one valid pair and delta from the other",
        source="epsilon and delta mixed from two bounds",
        killed_by="tests/core/ledger/test_reservation.py::test_the_pair_of_a_settlement_is_one_that_was_proven",
    ),
    Mutant(
        name="admission-ignores-what-is-reserved",
        module=RESERVATION,
        function="Balance.in_force",
        before="return total((self.spent, self.reserved))",
        after="return total((self.spent,))",
        bug="orders that wait do not count, so any number of them is admitted",
        source="check when ordering, charge when running",
        killed_by="tests/core/ledger/test_ledger.py::test_a_reservation_counts_at_once",
    ),
    Mutant(
        name="reservation-not-locked",
        module=LEDGER,
        function="",
        before='select(*_BUDGET).where(Budget.population_id == bindparam("population_id")).with_for_update()',
        after='select(*_BUDGET).where(Budget.population_id == bindparam("population_id"))',
        bug="two orders at once both see room for one",
        source="read, check, write without a lock: Lomas and most per-user budgets",
        killed_by="tests/core/ledger/test_waiting.py::test_a_second_order_waits_for_the_first",
    ),
    Mutant(
        name="grants-not-counted",
        module=LEDGER,
        function="_require_grant",
        before="drawn.in_force",
        after="NOTHING",
        bug="an order draws on a grant without regard to what is left of it",
        source="sub-budgets that are only shown",
        killed_by="tests/core/ledger/test_governance.py::TestGrants::test_an_order_draws_on_the_grant_and_on_the_cap",
    ),
    Mutant(
        name="each-analyst-has-a-budget",
        module=LEDGER,
        function="_admitted",
        before="admission = require_room(cap, balances.population.in_force, charge)",
        after="""
            own = balances.population if balances.grant is None else balances.grant
            admission = require_room(cap, own.in_force, charge)
        """,
        bug="the cap is held against the orders of one grant instead of all orders",
        source="budgets per user, which do not bound a coalition: Lomas",
        killed_by="tests/core/ledger/test_governance.py::TestGrants::test_the_cap_binds_everybody_together_whatever_was_granted",
    ),
    Mutant(
        name="spent-although-frozen",
        module=LEDGER,
        function="spend",
        before="budget.frozen_at is not None",
        after="budget.frozen_at is not None and fence < 0",
        bug="a frozen dataset's waiting jobs still open its rows",
        source="a stop button that stops orders alone",
        killed_by="tests/core/ledger/test_governance.py::TestFreeze::test_nothing_is_reserved_or_spent_until_it_is_unfrozen",
    ),
    Mutant(
        name="last-entry-believed",
        module=LEDGER,
        function="current_balances",
        before="last is None or last.hash != budget.head_hash or LEDGER_CHAIN.hash_of(last) != last.hash",
        after="last is None or last.hash != budget.head_hash",
        bug="an entry edited in the database is believed, totals and all",
        source="ledgers that anybody with database access can lower",
        killed_by="tests/core/ledger/test_governance.py::TestTampering::test_a_last_entry_that_was_changed_refuses_orders_at_once_and_can_be_frozen",
    ),
    Mutant(
        name="restored-backup-believed",
        module="core.ledger.hash_chain",
        function="HashChain.verify",
        before="any(witness.sequence > last.sequence for witness in noted)",
        after="any(witness.sequence > last.sequence and last == EMPTY for witness in noted)",
        bug="a ledger restored from an old backup passes for whole, and its spend is forgotten",
        source="budget reset by restore",
        killed_by="tests/core/ledger/test_chain.py::test_a_rehashed_tail_is_found_by_the_head_and_by_a_witness",
    ),
    Mutant(
        name="a-version-gets-its-own-budget",
        module="service.datasets.endpoints",
        function="_population",
        before="return parent.population_id",
        after="return governance.open_population(session, rule=order.rule, clock=clock)",
        bug="a re-upload of the same people starts with a fresh budget",
        source="ledgers keyed by file or table instead of by people",
        killed_by="tests/service/test_datasets.py::test_a_version_shares_its_parents_population",
    ),
    Mutant(
        name="local-training-settled-for-anchor-only",
        module="understudy.local.ledger.accounts",
        function="settle",
        before="plan_charge(plan)",
        after='__import__("core.dp.charge").dp.charge.charge_of(plan.executed(0), delta=plan.guarantee.delta)',
        bug="a whole training without a service is settled as if no step of the critic had run",
        source="ours, found by an attack from outside",
        killed_by="tests/understudy/local/test_ledger_file.py::test_a_training_that_never_settled_cost_as_much_as_one_that_did[critic]",
    ),
    Mutant(
        name="one-cap-for-two-units",
        module="understudy.local.ledger.accounts",
        function="other_unit",
        before="return PrivacyUnit(column=units.pop()) if units else None",
        after="return None",
        bug="a cap of the local library adds up charges per record and per person, and bounds neither for a person",
        source="ours, found by comparing the library with the service",
        killed_by="tests/understudy/local/test_ledger_file.py::test_trainings_of_another_privacy_unit_are_refused_and_leave_no_trace",
    ),
)
