"""``client.federations``: models and generators with owners that train in services of their own. This service is the board, or the member's own."""

from collections.abc import Mapping

from understudy.async_client.session import AsyncSession
from understudy.documents import Json
from understudy.http.calls import Call, given, read_anything, read_object


class AsyncFederations:
    """Federations of a board."""

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    async def create(
        self,
        name: str,
        *,
        domain: Json,
        epsilon: float,
        delta: float,
        model: Json | None = None,
        members: Mapping[str, int],
        generator: Json | None = None,
        round_seconds: float | None = None,
    ) -> Json:
        """Create a federation (analyst); nothing is charged. Only this answer holds the `tokens` of the members.

        Args:
            name: shown to people.
            domain: that every member has declared.
            epsilon: of every member's ledger.
            delta: of every member's ledger.
            model: options of the classifier, ``averaging_rounds`` among them.
            members: declared size of every owner by its name.
            generator: ``options`` of a generator of tables, instead of a `model`; empty for the public rules.
            round_seconds: how long a round may take; by default an hour.
        """
        sizes = [{"name": each, "declared_size": size} for each, size in members.items()]
        body = {
            "name": name,
            "domain": domain,
            "epsilon": epsilon,
            "delta": delta,
            "model": model,
            "generator": generator,
            "members": sizes,
            "round_seconds": round_seconds,
        }
        return await self._session.run(Call("POST", "/v1/federations", read_object, body=given(body)))

    async def list(self) -> tuple[Json, ...]:
        """Return the federations that the caller created, newest first (analyst): how far each is, and whom it waits for."""
        return await self._session.all_pages("/v1/federations", read_anything)

    async def read(self, federation_id: str) -> Json:
        """Return the state of a federation and the certificates handed in (the analyst who created it)."""
        return await self._session.run(Call("GET", f"/v1/federations/{federation_id}", read_object))

    async def end(self, federation_id: str) -> Json:
        """End a federation and delete the states that the board keeps (the analyst who created it)."""
        return await self._session.run(Call("DELETE", f"/v1/federations/{federation_id}", read_object))

    async def read_membership(self, federation_id: str) -> Json:
        """Return what a member has to order in its own service. The key of this client is the member's token."""
        path = f"/v1/federations/{federation_id}/membership"
        return await self._session.run(Call("GET", path, read_object))

    async def hand_in_certificate(self, federation_id: str, certificate: Json) -> None:
        """Hand in the certificate of the member's training. The key of this client is the member's token."""
        path = f"/v1/federations/{federation_id}/certificate"
        await self._session.run(Call("PUT", path, lambda _: None, body=certificate))
