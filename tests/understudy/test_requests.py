"""What both clients send about datasets, caps, ledgers, keys and releases' certificates."""

import pytest

from tests.understudy.scripted import DATASET, Documented, check_documented
from tests.understudy.test_governance import BUDGET
from tests.understudy.test_secrets import KEY

STATEMENT = BUDGET | {"carried_by": "basic", "entries": []}
PERSON = {"principal_id": "p"}
PAGE = {"items": [DATASET], "next_before": None}
ANSWER = {
    "measure": "count",
    "columns": [],
    "rows": [],
    "counted": "records",
    "drawn_rows": None,
    "notes": [],
}
CALLS: list[Documented] = [
    ("declare_dataset", {"name": "n", "domain": {}, "declared_size": 10}, DATASET, "POST", "/v1/datasets", {"name": "n", "domain": {}, "declared_size": 10}),
    ("list_datasets", {}, PAGE, "GET", "/v1/datasets?limit=200", None),
    ("read_dataset", {"dataset_id": "d"}, DATASET, "GET", "/v1/datasets/d", None),
    ("read_intake_report", {"dataset_id": "d"}, {"rows_accepted": 1, "rows_refused": 0}, "GET", "/v1/datasets/d/intake-report", None),
    ("accept_rows", {"dataset_id": "d"}, {"rows_accepted": 1, "rows_refused": 9}, "POST", "/v1/datasets/d/rows/accept", None),
    ("discard_rows", {"dataset_id": "d"}, {}, "POST", "/v1/datasets/d/rows/discard", None),
    ("set_budget", {"dataset_id": "d", "epsilon": 1.0, "delta": 1e-6}, BUDGET, "PUT", "/v1/datasets/d/budget", {"epsilon": 1.0, "delta": 1e-6}),
    ("read_budget", {"dataset_id": "d"}, BUDGET, "GET", "/v1/datasets/d/budget", None),
    ("read_ledger", {"dataset_id": "d"}, STATEMENT, "GET", "/v1/datasets/d/ledger", None),
    ("ask_quote", {"dataset_id": "d", "epsilon": 1.0}, {"fits": True}, "POST", "/v1/quotes", {"dataset_id": "d", "epsilon": 1.0, "synthesizer": "idpgan", "options": {}}),
    ("read_certificate", {"release_id": "r"}, {"schema": "s"}, "GET", "/v1/releases/r/certificate", None),
    ("ask_counts", {"release_id": "r", "question": "a by b"}, ANSWER, "GET", "/v1/releases/r/counts?question=a+by+b", None),
    ("read_known_counts", {"dataset_id": "d"}, {"releases": []}, "GET", "/v1/datasets/d/known-counts", None),
    ("ask_quote", {"dataset_id": "d", "epsilon": 1.0, "reuse": False}, {"fits": True}, "POST", "/v1/quotes", {"dataset_id": "d", "epsilon": 1.0, "synthesizer": "idpgan", "options": {}, "reuse": False}),
    ("check_rules", {"release_id": "r"}, {"rules": [], "counted": "records", "remedy": None}, "GET", "/v1/releases/r/rules", None),
    ("create_key", {"name": "n", "roles": ("owner",)}, KEY, "POST", "/v1/keys", {"name": "n", "roles": ["owner"], "scopes": []}),
    ("list_keys", {}, {"items": [KEY]}, "GET", "/v1/keys", None),
    ("rotate_key", {"key_id": "k"}, KEY, "POST", "/v1/keys/k/rotate", None),
    ("revoke_key", {"key_id": "k"}, KEY, "DELETE", "/v1/keys/k", None),
    ("name_principal", {"principal_id": "p", "name": "n"}, {"principal_id": "p", "name": "n"}, "PUT", "/v1/principals/p", {"name": "n"}),
    ("create_person", {"name": "n", "roles": ("owner",)}, PERSON, "POST", "/v1/people", {"name": "n", "roles": ["owner"]}),
    ("list_people", {}, {"items": [PERSON]}, "GET", "/v1/people", None),
    ("create_enrolment", {"principal_id": "p"}, PERSON, "POST", "/v1/people/p/enrolments", None),
    ("list_enrolments", {}, {"items": [PERSON]}, "GET", "/v1/enrolments", None),
    ("cancel_enrolment", {"enrolment_id": "e"}, PERSON, "DELETE", "/v1/enrolments/e", None),
    ("accept_enrolment", {"token": "ue_x", "name": "n", "expires_at": "never"}, KEY, "POST", "/v1/enrolments", {"token": "ue_x", "name": "n", "expires_at": "never"}),
    ("read_health_report", {}, {"findings": []}, "GET", "/v1/health/report", None),
    ("check_health", {}, {"status": "ok"}, "GET", "/v1/health", None),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=[call[0] for call in CALLS])
def test_both_clients_send_the_documented_request(call: Documented) -> None:
    check_documented(call)
