"""Refusals of dummy mode, in the form and with the codes of the service."""

from understudy.documents import Json


class DummyRefusal(Exception):
    """A refusal; the client raises the same class as for a refusal of the service.

    Args:
        code: stable name of the reason.
        **facts: public values.
    """

    def __init__(self, status: int, code: str, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.status = status
        self.problem: Json = {
            "type": f"urn:understudy:problem:{code}",
            "title": "Dummy mode says no",
            "status": status,
            "detail": detail,
            "code": code,
            "remedy": "",
            "facts": facts,
            "request_id": "",
        }
