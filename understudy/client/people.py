"""People and API keys. An admin creates and enrols people; everybody makes their own keys."""

from collections.abc import Sequence

from understudy.client.session import Session
from understudy.documents import Json, take
from understudy.http.calls import Call, given, items
from understudy.results.keys import ApiKey, NewKey


class People(Session):
    """The client's methods for people, enrolments and API keys."""

    def create_key(
        self, *, name: str, roles: Sequence[str], scopes: Sequence[str] = (), expires_at: str | None = None
    ) -> NewKey:
        """Make another API key for oneself; the answer is the only one that shows it.

        Args:
            name: a label for people.
            roles: at least one of the roles of the key in use.
            scopes: what the key is narrowed to; empty for all that its roles may do.
            expires_at: a moment (ISO 8601), or ``never``; None for the service's default.
        """
        body = {"name": name, "roles": list(roles), "scopes": list(scopes)}
        return self.run(
            Call("POST", "/v1/keys", NewKey.from_json, body=body | given({"expires_at": expires_at}))
        )

    def list_keys(self) -> tuple[ApiKey, ...]:
        """Return one's own keys, or everybody's for an admin, without their secrets."""
        return self.run(Call("GET", "/v1/keys", items(ApiKey.from_json)))

    def rotate_key(self, key_id: str) -> NewKey:
        """Make the successor of the key in use; the answer says until when the old one works."""
        return self.run(Call("POST", f"/v1/keys/{key_id}/rotate", NewKey.from_json))

    def revoke_key(self, key_id: str) -> ApiKey:
        """Revoke a key; repeating it changes nothing."""
        return self.run(Call("DELETE", f"/v1/keys/{key_id}", ApiKey.from_json))

    def name_principal(self, principal_id: str, name: str) -> Json:
        """Set the display name of a principal (admin)."""
        return self.run(Call("PUT", f"/v1/principals/{principal_id}", _read_named, body={"name": name}))

    def create_person(self, *, name: str, roles: Sequence[str]) -> Json:
        """Create a person (admin) whose keys may have these roles: owner, analyst, admin, auditor.

        ``enrolment`` holds the token to hand over; it is shown once.
        """
        body = {"name": name, "roles": list(roles)}
        return self.run(Call("POST", "/v1/people", _read_person, body=body))

    def list_people(self) -> Sequence[Json]:
        """Return everybody, and who has enrolled (admin, auditor)."""
        return self.run(Call("GET", "/v1/people", items(_read_person)))

    def create_enrolment(self, principal_id: str) -> Json:
        """Make a new enrolment for a person (admin), a recovery if the person has had keys. It shows the token once."""
        return self.run(Call("POST", f"/v1/people/{principal_id}/enrolments", _read_person))

    def list_enrolments(self) -> Sequence[Json]:
        """Return one's own enrolments, or everybody's for an admin or an auditor."""
        return self.run(Call("GET", "/v1/enrolments", items(_read_person)))

    def cancel_enrolment(self, enrolment_id: str) -> Json:
        """Cancel an enrolment that waits, or a recovery that is still held."""
        return self.run(Call("DELETE", f"/v1/enrolments/{enrolment_id}", _read_person))

    def accept_enrolment(
        self, token: str, *, name: str | None = None, expires_at: str | None = None
    ) -> NewKey:
        """Make one's first key with a token; a client with ``key=""`` will do.

        Args:
            token: the token of the enrolment.
            name: a label for the key; None for the service's.
            expires_at: a moment (ISO 8601), or ``never``; None for the service's default.
        """
        body = given({"token": token, "name": name, "expires_at": expires_at})
        return self.run(Call("POST", "/v1/enrolments", NewKey.from_json, body=body))


def _read_person(document: object) -> Json:
    """Read a person or an enrolment: both name the principal."""
    take(document, "principal_id")
    return dict(document) if isinstance(document, dict) else {}


def _read_named(document: object) -> Json:
    principal_id, name = take(document, "principal_id", "name")
    return {"principal_id": principal_id, "name": name}
