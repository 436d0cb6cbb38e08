"""What both clients send about members, budget requests, grants and freezing, and how it is shown."""

import httpx
import pytest

from tests.understudy.scripted import Documented, Script, check_documented, client_of
from understudy import BudgetRequest, Grant, WhatIf
from understudy.results.budgets import Budget
from understudy.wording.budgets import beyond_the_cap, budget_lines, grant_line, request_line, what_if_lines

GRANT = {
    "id": "g", "population_id": "p", "holder_id": "a", "epsilon": 1.0, "delta": 2e-6, "state": "open",
    "expires_at": "2026-05-30T12:00:00Z",
}  # fmt: skip
STANDING = GRANT | {
    "spent": {"epsilon": "0.25", "delta": "1e-6"}, "reserved": {"epsilon": "0.5", "delta": "1e-6"},
    "remaining_epsilon": 0.125, "dataset_ids": ["d"],
}  # fmt: skip
REQUEST = {
    "id": "r", "dataset_id": "d", "population_id": "p", "requested_by": "a", "epsilon": 2.0, "delta": 2e-6,
    "purpose": "to learn", "state": "approved", "note": "half", "grant": GRANT,
}  # fmt: skip
BUDGET = {
    "cap": {"epsilon": 2.0, "delta": 1e-5},
    "spent": {"epsilon": "1.499999", "delta": "0.000002"},
    "reserved": {"epsilon": "0", "delta": "0"},
    "frozen_at": None,
}
MEMBERS = {"items": [{"principal_id": "a", "added_at": "2026-03-01T12:00:00Z"}]}
BOUND = {
    "epsilon": 2.0, "delta": 1e-5, "fits": True, "carried_by": "basic", "remaining_delta": 5e-7,
    "remaining_epsilon": 2.0, "remaining_epsilon_after": 1.5,
}  # fmt: skip
WHAT_IF = {
    "fits": False,
    "refusal": "grant-refused",
    "cap": BOUND,
    "grant": BOUND | {"id": "g", "fits": False},
}
PAGE = {"items": [REQUEST], "next_before": None}

CALLS: list[Documented] = [
    ("who_am_i", {}, {"principal_id": "a", "roles": ["analyst"]}, "GET", "/v1/session", None),
    ("list_members", {"dataset_id": "d"}, MEMBERS, "GET", "/v1/datasets/d/members", None),
    ("add_member", {"dataset_id": "d", "principal_id": "a"}, MEMBERS, "PUT", "/v1/datasets/d/members/a", None),
    ("remove_member", {"dataset_id": "d", "principal_id": "a"}, MEMBERS, "DELETE", "/v1/datasets/d/members/a", None),
    (
        "file_request", {"dataset_id": "d", "epsilon": 1.0, "delta": 2e-6, "purpose": "to learn"}, REQUEST,
        "POST", "/v1/datasets/d/budget-requests", {"epsilon": 1.0, "delta": 2e-6, "purpose": "to learn"},
    ),
    (
        "file_request", {"dataset_id": "d", "epsilon": 1.0, "purpose": "to learn"}, REQUEST,
        "POST", "/v1/datasets/d/budget-requests", {"epsilon": 1.0, "purpose": "to learn"},
    ),
    ("list_requests", {"state": "open"}, PAGE, "GET", "/v1/budget-requests?limit=200&state=open", None),
    ("read_request", {"request_id": "r"}, REQUEST, "GET", "/v1/budget-requests/r", None),
    (
        "approve_request", {"request_id": "r", "epsilon": 0.5}, REQUEST,
        "POST", "/v1/budget-requests/r/approve", {"epsilon": 0.5},
    ),
    ("deny_request", {"request_id": "r", "note": "no"}, REQUEST, "POST", "/v1/budget-requests/r/deny", {"note": "no"}),
    ("withdraw_request", {"request_id": "r"}, REQUEST, "POST", "/v1/budget-requests/r/withdraw", None),
    ("list_grants", {"dataset_id": "d"}, {"items": [GRANT]}, "GET", "/v1/datasets/d/grants", None),
    (
        "list_all_grants", {"dataset_id": "d", "state": "open"}, {"items": [STANDING], "next_before": None},
        "GET", "/v1/grants?limit=200&dataset_id=d&state=open", None,
    ),
    ("read_grant", {"grant_id": "g"}, STANDING, "GET", "/v1/grants/g", None),
    ("revoke_grant", {"grant_id": "g"}, GRANT, "DELETE", "/v1/grants/g", None),
    ("freeze", {"dataset_id": "d", "reason": "why"}, BUDGET, "POST", "/v1/datasets/d/freeze", {"reason": "why"}),
    ("unfreeze", {"dataset_id": "d", "reason": "why"}, BUDGET, "POST", "/v1/datasets/d/unfreeze", {"reason": "why"}),
    (
        "ask_what_if", {"dataset_id": "d", "epsilon": 0.5}, WHAT_IF,
        "POST", "/v1/datasets/d/budget/what-if", {"epsilon": 0.5},
    ),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_both_clients_send_the_documented_request(call: Documented) -> None:
    check_documented((f"governance.{call[0]}", *call[1:]))


def test_every_call_is_tried_by_both_clients() -> None:
    with client_of(Script()) as client:
        offered = {name for name in dir(client.governance) if not name.startswith("_")}
    assert offered == {call[0] for call in CALLS}


def test_an_approval_is_repeated_under_one_idempotency_key() -> None:
    script = Script(httpx.ReadTimeout("lost"), httpx.Response(200, json=REQUEST))
    with client_of(script) as client:
        client.governance.approve_request("r")
    first, second = script.requests
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]


def test_requests_are_read_page_by_page() -> None:
    script = Script(
        httpx.Response(200, json={"items": [REQUEST], "next_before": "r"}),
        httpx.Response(200, json={"items": [REQUEST | {"id": "q", "grant": None}], "next_before": None}),
    )
    with client_of(script) as client:
        assert [request.id for request in client.governance.list_requests()] == ["r", "q"]
    assert script.requests[1].url.params["before"] == "r"


def test_grants_over_all_datasets_are_read_page_by_page() -> None:
    script = Script(
        httpx.Response(200, json={"items": [STANDING], "next_before": "g"}),
        httpx.Response(200, json={"items": [STANDING | {"id": "h"}], "next_before": None}),
    )
    with client_of(script) as client:
        found = client.governance.list_all_grants(holder_id="a")
    assert [grant.id for grant in found] == ["g", "h"]
    assert script.requests[1].url.params["before"] == "g"
    assert script.requests[1].url.params["holder_id"] == "a"
    assert grant_line(found[0]).endswith("spent 0.25  reserved 0.5  left 0.125")
    over = Grant.from_json(STANDING | {"state": "revoked", "remaining_epsilon": None})
    assert grant_line(over).endswith("left -")


def test_lines_say_what_a_person_needs() -> None:
    line = request_line(BudgetRequest.from_json(REQUEST))
    for part in ("r  approved", "epsilon 2", "'to learn'", "'half'", "grant g  open  epsilon 1", "holder a"):
        assert part in line
    assert Grant.from_json(GRANT).document == GRANT
    told = what_if_lines(WhatIf.from_json(WHAT_IF))
    assert "does NOT fit (grant-refused)" in told[0]
    assert "carried by filter basic" in told[1]
    assert told[2] == (
        "  grant  epsilon 2  delta 1e-05: does not fit; left for one more job: delta 5e-07, and epsilon 2 at the default delta"
    )
    assert what_if_lines(WhatIf.from_json({"fits": True, "refusal": None, "cap": None, "grant": None})) == [
        "one more job: fits"
    ]
    assert budget_lines(Budget.from_json(BUDGET)) == [
        "cap       epsilon 2  delta 1e-05",
        "spent     epsilon 1.499999  delta 2e-06",
        "reserved  epsilon 0  delta 0",
        "takes orders",
    ]
    beyond = BUDGET | {
        "cap": {"epsilon": 1.0, "delta": 1e-5},
        "spent": {"epsilon": "1.5", "delta": "0.000001"},
    }
    assert "compose to no more than the cap" in budget_lines(Budget.from_json(beyond))[3]
    many = BUDGET | {"spent": {"epsilon": "1.5", "delta": "0.0000116"}}
    assert "own epsilons and deltas" in budget_lines(Budget.from_json(many))[3], (
        "a sum of deltas above the cap's"
    )
    assert budget_lines(Budget.from_json(BUDGET))[-1] == "takes orders"
    frozen = budget_lines(Budget.from_json(BUDGET | {"cap": None, "frozen_at": "2026-03-01T12:00:00Z"}))
    assert (frozen[0], frozen[-1]) == ("cap       not set", "FROZEN since 2026-03-01T12:00:00Z")


@pytest.mark.parametrize(
    ("epsilon", "left", "said"), [(50.0, 0.1, True), (1.0, 0.9999, False), (1.0, None, False)]
)
def test_an_amount_above_what_the_cap_has_left_is_reported(
    epsilon: float, left: float | None, said: bool
) -> None:
    document = {"remaining_epsilon": left}
    lines = beyond_the_cap(epsilon, Budget(cap=None, spent={}, reserved={}, document=document))
    assert lines == (
        ["The cap has epsilon 0.1 left for one more order, less than this: an order beyond it is refused."]
        if said
        else []
    )
