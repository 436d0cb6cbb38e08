from itertools import product
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.ledger.errors import IllegalFold
from core.ledger.reservation import (
    NOTHING,
    SUCCESSORS,
    EntryKind,
    at_most,
    bounded,
    fold,
    fold_all,
    fold_into,
)
from tests.core.ledger.support import charge, charges, movement

RESERVED, SPENT, VOIDED, SETTLED = EntryKind
JOB = UUID(int=1)
FULL = charge(1.0)
PART = charge(0.25, delta_femtos=10**5, rdp=(1, 2, 3, 4, 5, 6))
LEGAL = {
    (RESERVED,): FULL,
    (RESERVED, SPENT): FULL,
    (RESERVED, VOIDED): NOTHING,
    (RESERVED, SPENT, SETTLED): PART,
}


def amounts_of(kinds):
    return [{RESERVED: FULL, SPENT: FULL, VOIDED: NOTHING, SETTLED: PART}[kind] for kind in kinds]


def movements_of(kinds):
    return [movement(kind, JOB, amount) for kind, amount in zip(kinds, amounts_of(kinds), strict=True)]


@pytest.mark.parametrize(("kinds", "in_force"), LEGAL.items())
def test_what_counts_in_every_state(kinds, in_force):
    reservation = fold(movements_of(kinds))
    assert reservation.state is kinds[-1]
    assert reservation.in_force == in_force
    assert reservation.reserved == FULL


EVERY_ORDER = [kinds for length in range(1, 5) for kinds in product(EntryKind, repeat=length)]


def test_every_other_order_is_refused():
    for kinds in EVERY_ORDER:
        if kinds in LEGAL:
            assert fold(movements_of(kinds)).state is kinds[-1]
        else:
            with pytest.raises(IllegalFold):
                fold(movements_of(kinds))


def test_the_states_without_successor_are_the_ends():
    assert [kind for kind in EntryKind if not SUCCESSORS[kind]] == [VOIDED, SETTLED]


@pytest.mark.parametrize(
    ("kinds", "last", "reason"),
    [
        ((RESERVED, SPENT), PART, "spent something else than was reserved"),
        ((RESERVED, VOIDED), PART, "voided but still charged"),
        ((RESERVED, SPENT, SETTLED), charge(1.000001), "settled above what was reserved"),
    ],
)
def test_an_entry_with_a_wrong_charge_is_refused(kinds, last, reason):
    *before, _ = movements_of(kinds)
    with pytest.raises(IllegalFold) as refusal:
        fold([*before, movement(kinds[-1], JOB, last)])
    assert refusal.value.reason == reason
    assert refusal.value.job_id == JOB


def test_no_entries_are_no_reservation():
    with pytest.raises(ValueError, match="not enough values"):
        fold([])


def test_a_refused_entry_leaves_the_others_as_they_were():
    reservations = fold_all(movements_of((RESERVED,)))
    before = dict(reservations)
    with pytest.raises(IllegalFold):
        fold_into(reservations, movement(SETTLED, JOB, PART))
    assert reservations == before


@given(st.data())
def test_jobs_do_not_disturb_each_other(data):
    jobs = {uuid4(): data.draw(st.sampled_from(sorted(LEGAL))) for _ in range(data.draw(st.integers(1, 6)))}
    queues = {
        job: [movement(kind, job, amount) for kind, amount in zip(kinds, amounts_of(kinds), strict=True)]
        for job, kinds in jobs.items()
    }
    interleaved = []
    while any(queues.values()):
        job = data.draw(st.sampled_from([job for job, queue in queues.items() if queue]))
        interleaved.append(queues[job].pop(0))
    reservations = fold_all(interleaved)
    assert {job: reservation.state for job, reservation in reservations.items()} == {
        job: kinds[-1] for job, kinds in jobs.items()
    }


@given(charges(), charges())
def test_a_settlement_is_never_dearer_than_the_reservation(prefix, whole):
    charged = bounded(prefix, by=whole)
    assert at_most(charged, whole)


@given(charges(), charges())
def test_the_pair_of_a_settlement_is_one_that_was_proven(prefix, whole):
    charged = bounded(prefix, by=whole)
    pair = (charged.epsilon_micros, charged.delta_femtos)
    assert pair in {
        (prefix.epsilon_micros, prefix.delta_femtos),
        (whole.epsilon_micros, whole.delta_femtos),
    }
    both = zip(prefix.rdp_micros, whole.rdp_micros, strict=True)
    assert charged.rdp_micros == tuple(min(pair) for pair in both)


@given(charges())
def test_a_smaller_prefix_is_charged_as_it_is(whole):
    assert bounded(NOTHING, by=whole) == NOTHING
    assert bounded(whole, by=whole) == whole


def test_at_most_looks_at_every_amount():
    for dearer in (
        charge(1.1),
        charge(1.0, delta_femtos=10**7),
        charge(1.0, rdp=(10**12 + 1, *FULL.rdp_micros[1:])),
    ):
        assert not at_most(dearer, FULL)
    assert at_most(FULL, FULL)
