"""From a request to a grant: who may decide, what may be granted, and what ends by itself."""

import threading
from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.orm import Session

from core.dp.filters import AdmissionRule
from core.dp.guarantee import PrivacyGuarantee
from core.errors import BudgetRefused
from core.ledger import governance
from core.ledger.entries import GrantState
from core.ledger.errors import BudgetNotSet, GrantClosed, GrantRefused, PopulationFrozen
from core.platform.access.errors import PersonNotEnrolled
from core.platform.budget_requests import requests
from core.platform.budget_requests.errors import (
    ExpiryOutOfRange,
    GrantAboveRequest,
    NotAMember,
    RequestAlreadyOpen,
    RequestDecided,
    RequesterNotMember,
    RequestNotFound,
    SecondPersonNeeded,
)
from core.platform.budget_requests.requests import LONGEST_GRANT
from tests.core.platform.budget_requests.support import OPEN_DAYS, Office


def test_an_approval_makes_the_grant_that_was_asked_for(office: Office) -> None:
    request_id = office.file(1.5, 1e-6)
    grant = office.approve(request_id, by=office.admin)
    assert (grant.holder_id, grant.epsilon, grant.delta) == (office.analyst, 1.5, 1e-6)
    request = office.request(request_id)
    assert (request.state, request.decided_by, request.grant_id) == ("approved", office.admin, grant.id)
    assert office.kinds() == ["CAP_SET", "GRANTED"]


def test_an_approval_may_be_partial_and_never_more(office: Office) -> None:
    request_id = office.file(1.0, 1e-6)
    for epsilon, delta in [(1.0000001, 1e-6), (1.0, 1.0000001e-6), (2.0, 1e-9)]:
        with pytest.raises(GrantAboveRequest):
            office.approve(request_id, amounts=PrivacyGuarantee(epsilon=epsilon, delta=delta))
    assert office.request(request_id).state == "open"
    assert office.grants() == []
    grant = office.approve(request_id, amounts=PrivacyGuarantee(epsilon=0.25, delta=1e-7))
    assert (grant.epsilon, grant.delta) == (0.25, 1e-7)
    assert office.request(request_id).epsilon == 1.0
    with pytest.raises(GrantRefused):
        office.draw(grant.id, 0.5)


def test_nobody_approves_a_request_of_their_own_unless_the_rule_is_off(office: Office) -> None:
    request_id = office.file()
    with pytest.raises(SecondPersonNeeded):
        office.approve(request_id, by=office.analyst)
    assert office.grants() == []
    assert office.approve(request_id, by=office.analyst, two_person_rule=False).holder_id == office.analyst


def test_the_two_person_rule_counts_people_who_enrolled_themselves(office: Office) -> None:
    stranger = uuid4()
    request_id = office.file()
    with pytest.raises(PersonNotEnrolled) as refused:
        office.approve(request_id, by=stranger)
    assert refused.value.facts == {"whose": "approver"}
    assert office.approve(request_id, by=stranger, two_person_rule=False).holder_id == office.analyst


def test_only_members_ask(office: Office) -> None:
    stranger = uuid4()
    with pytest.raises(NotAMember):
        office.file(analyst=stranger)
    with pytest.raises(NotAMember):
        office.file(analyst=office.owner)


def test_an_analyst_has_one_open_request_per_dataset(office: Office) -> None:
    first = office.file()
    with pytest.raises(RequestAlreadyOpen) as refused:
        office.file(0.5)
    assert refused.value.facts == {"request_id": str(first)}
    other_version = office.declare()
    office.admit(office.analyst, other_version)
    office.file(dataset=other_version)
    office.withdraw(first)
    assert office.file(0.5) != first


def test_requests_filed_at_once_are_one(office: Office) -> None:
    start, outcomes = threading.Barrier(6), []

    def file() -> None:
        start.wait()
        try:
            outcomes.append(office.file())
        except RequestAlreadyOpen:
            outcomes.append(None)

    threads = [threading.Thread(target=file) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([each for each in outcomes if each is not None]) == 1
    assert len(outcomes) == 6


def test_a_decision_is_made_once_however_many_decide(office: Office) -> None:
    request_id = office.file()
    start, outcomes = threading.Barrier(6), []

    def decide(number: int) -> None:
        start.wait()
        try:
            if number % 3 == 0:
                office.approve(request_id)
            elif number % 3 == 1:
                office.deny(request_id)
            else:
                office.withdraw(request_id)
            outcomes.append("done")
        except RequestDecided:
            outcomes.append("late")

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["done"] + ["late"] * 5
    assert len(office.grants()) == (office.request(request_id).state == "approved")


@pytest.mark.parametrize("ended", ["approved", "denied", "withdrawn", "expired"])
def test_what_is_decided_stays_decided(office: Office, ended: str) -> None:
    request_id = office.file()
    match ended:
        case "approved":
            office.approve(request_id)
        case "denied":
            office.deny(request_id)
        case "withdrawn":
            office.withdraw(request_id)
        case _:
            office.clock.advance(seconds=OPEN_DAYS * 86400)
            assert office.expire() == (1, 0)
    assert office.request(request_id).state == ended
    for act in (office.approve, office.deny, office.withdraw):
        with pytest.raises(RequestDecided) as refused:
            act(request_id)
        assert refused.value.facts == {"state": ended}


def test_a_request_is_withdrawn_by_its_author_alone(office: Office) -> None:
    request_id = office.file()
    for somebody in (office.owner, office.admin, uuid4()):
        with pytest.raises(RequestNotFound):
            office.withdraw(request_id, by=somebody)
    office.approve(request_id)
    with pytest.raises(RequestNotFound):
        office.withdraw(request_id, by=office.admin)
    with pytest.raises(RequestNotFound):
        office.withdraw(uuid4())


def test_a_request_expires_at_its_moment_whether_or_not_upkeep_has_run(office: Office) -> None:
    request_id = office.file()
    office.clock.advance(seconds=OPEN_DAYS * 86400 - 1)
    assert office.expire() == (0, 0)
    office.clock.advance(seconds=1)
    with pytest.raises(RequestDecided):
        office.approve(request_id)
    another = office.file(0.5)
    assert another != request_id
    assert office.request(request_id).state == "expired"
    assert office.expire() == (0, 0), "it was ended when the next one was filed"


def test_expiry_is_noted_once_in_the_chain_and_in_the_audit_log(office: Office) -> None:
    request_id = office.file()
    grant = office.approve(request_id, expires_at=office.clock.now() + timedelta(days=1))
    other_version = office.declare()
    office.admit(office.analyst, other_version)
    office.file(dataset=other_version)
    office.clock.advance(seconds=86400)
    with pytest.raises(GrantClosed):
        office.draw(grant.id, 0.1)
    assert office.expire() == (0, 1)
    office.clock.advance(seconds=OPEN_DAYS * 86400)
    assert office.expire() == (1, 0)
    assert office.expire() == (0, 0)
    assert [each.state for each in office.grants()] == ["expired"]
    assert office.kinds() == ["CAP_SET", "GRANTED", "GRANT_CLOSED"]
    with office.database.read_only() as session:
        noted = session.execute(text("SELECT actor, action FROM audit_events ORDER BY sequence")).all()
    assert [tuple(each) for each in noted] == [
        ("upkeep", "grant.expire"),
        ("upkeep", "budget-request.expire"),
    ]


def test_two_upkeeps_at_once_expire_each_thing_once(office: Office) -> None:
    for _ in range(5):
        analyst = uuid4()
        office.admit(analyst)
        office.approve(office.file(0.1, analyst=analyst), expires_at=office.clock.now() + timedelta(days=1))
        office.file(0.1, analyst=analyst)
    office.clock.advance(seconds=OPEN_DAYS * 86400)
    start, found = threading.Barrier(4), []

    def expire() -> None:
        start.wait()
        found.append(office.expire())

    threads = [threading.Thread(target=expire) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(requests for requests, _ in found) == 5
    assert [grant.state for grant in office.grants()] == ["expired"] * 5
    assert office.kinds().count("GRANT_CLOSED") == 5


def test_a_broken_ledger_keeps_no_other_grant_from_expiring(office: Office) -> None:
    office.approve(office.file(), expires_at=office.clock.now() + timedelta(days=1))
    sound = Office(office.database, office.clock)
    sound.approve(sound.file(), expires_at=office.clock.now() + timedelta(days=1))
    with office.database.transaction() as session:
        session.execute(text("ALTER TABLE ledger_entries DISABLE TRIGGER ALL"))
        session.execute(
            text("UPDATE ledger_entries SET hash = :none WHERE population_id = :id"),
            {"none": bytes(32), "id": office.population},
        )
    office.clock.advance(seconds=86400)
    assert office.expire() == (0, 1)
    assert [grant.state for grant in sound.grants()] == ["expired"]
    assert [grant.state for grant in office.grants()] == ["open"]


def test_a_grant_ends_between_now_and_ten_years_from_now(office: Office) -> None:
    request_id = office.file()
    now = office.clock.now()
    for moment in (now, now - timedelta(seconds=1), now + LONGEST_GRANT + timedelta(seconds=1)):
        with pytest.raises(ExpiryOutOfRange):
            office.approve(request_id, expires_at=moment)
    assert office.approve(request_id, expires_at=now + LONGEST_GRANT).state == "open"


def test_the_ledger_refuses_grants_without_a_cap_and_while_frozen(office: Office) -> None:
    request_id = office.file()
    with office.database.transaction() as session:
        governance.freeze(session, office.population, by="admin", reason="a look", clock=office.clock)
    with pytest.raises(PopulationFrozen):
        office.approve(request_id)
    assert office.request(request_id).state == "open"
    with office.database.transaction() as session:
        office.population = governance.open_population(session, rule=AdmissionRule.BASIC, clock=office.clock)
    uncapped = office.declare()
    office.admit(office.analyst, uncapped)
    with pytest.raises(BudgetNotSet):
        office.approve(office.file(dataset=uncapped))


def test_who_is_no_longer_a_member_gets_no_grant(office: Office) -> None:
    request_id = office.file()
    assert office.dismiss(office.analyst)
    assert not office.dismiss(office.analyst)
    with pytest.raises(RequesterNotMember):
        office.approve(request_id)
    assert office.admit(office.analyst)
    assert not office.admit(office.analyst)
    assert office.members() == [office.analyst]
    assert office.approve(request_id).holder_id == office.analyst


def test_the_cap_binds_everybody_together_when_grants_sum_to_more(office: Office) -> None:
    """Two grants of epsilon 1.5 under a cap of 2: each holder alone could have all of its own, both together not."""
    grants = []
    for _ in range(2):
        analyst = uuid4()
        office.admit(analyst)
        grants.append(office.approve(office.file(1.5, analyst=analyst)))
    office.draw(grants[0].id, 1.5)
    with pytest.raises(BudgetRefused) as refused:
        office.draw(grants[1].id, 1.0)
    assert refused.value.code == "budget-refused"
    office.draw(grants[1].id, 0.5)
    with pytest.raises(BudgetRefused):
        office.draw(grants[1].id, 0.1)
    assert office.kinds().count("RESERVED") == 2


def test_holders_racing_never_exceed_the_cap_nor_a_grant(office: Office) -> None:
    grants = []
    for _ in range(3):
        analyst = uuid4()
        office.admit(analyst)
        grants.append(office.approve(office.file(0.8, analyst=analyst)).id)
    start, outcomes = threading.Barrier(12), []

    def draw(number: int) -> None:
        start.wait()
        try:
            office.draw(grants[number % 3], 0.2)
            outcomes.append("drawn")
        except BudgetRefused as refusal:
            outcomes.append(refusal.code)

    threads = [threading.Thread(target=draw, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Twelve times 0.2 are asked for, four per grant of 0.8, and the cap of 2 has room for ten.
    assert outcomes.count("drawn") == 10
    assert outcomes.count("budget-refused") == 2
    assert office.kinds().count("RESERVED") == 10


def test_a_grant_that_is_revoked_while_upkeep_looks_is_not_noted_as_expired(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    grant = office.approve(office.file(0.1), expires_at=office.clock.now() + timedelta(days=1))
    office.clock.advance(seconds=2 * 86400)
    grants_over = requests.repository.grants_over

    def then_revoked(session: Session, *, at: datetime) -> Sequence[UUID]:
        found = grants_over(session, at=at)
        with office.database.transaction() as other:
            governance.close_grant(
                other, found[0], outcome=GrantState.REVOKED, by=str(office.admin), clock=office.clock
            )
        return found

    monkeypatch.setattr(requests.repository, "grants_over", then_revoked)
    assert office.expire() == (0, 0)
    assert [(one.id, one.state) for one in office.grants()] == [(grant.id, "revoked")]
    with office.database.read_only() as session:
        noted = session.execute(text("SELECT action FROM audit_events")).scalars().all()
    assert "grant.expire" not in noted
