import inspect

import pytest

from understudy import errors
from understudy.errors import Refused, UnderstudyError, refusal


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "malformed-request", errors.InvalidInput),
        (401, "unauthenticated", errors.Unauthenticated),
        (403, "forbidden", errors.Forbidden),
        (404, "dataset-not-found", errors.NotFound),
        (409, "rows-already-stored", errors.Conflict),
        (409, "budget-refused", errors.BudgetRefused),
        (413, "too-large", errors.TooLarge),
        (415, "unsupported", errors.Unsupported),
        (422, "domain-invalid", errors.InvalidInput),
        (418, "teapot", Refused),
        (500, "internal-error", errors.ServiceFailed),
        (503, "unavailable", errors.ServiceFailed),
    ],
)
def test_a_problem_becomes_the_error_of_its_code_or_status(
    status: int, code: str, kind: type[Refused]
) -> None:
    error = refusal(
        status,
        {"code": code, "detail": "It is so.", "remedy": "Do that.", "facts": {"n": 1}, "request_id": "r"},
    )
    assert type(error) is kind
    assert (error.code, error.status, error.facts, error.request_id) == (code, status, {"n": 1}, "r")
    assert str(error) == f"It is so. Do that. [{code}]"


def test_what_is_wrong_and_what_to_do_do_not_run_together() -> None:
    problem = {"code": "invalid-spec", "detail": "steps is too large", "remedy": "choose fewer"}
    assert str(refusal(422, problem)) == "steps is too large; choose fewer [invalid-spec]"
    assert str(refusal(422, {**problem, "remedy": ""})) == "steps is too large [invalid-spec]"


def test_a_refusal_without_a_problem_document_still_says_something() -> None:
    assert str(refusal(502, {})) == "HTTP status 502 [http-502]"


def test_every_error_is_drawn_in_the_tree() -> None:
    drawn = errors.__doc__ or ""
    classes = [
        name
        for name, member in vars(errors).items()
        if inspect.isclass(member) and issubclass(member, UnderstudyError)
    ]
    assert [name for name in classes if name not in drawn] == []
