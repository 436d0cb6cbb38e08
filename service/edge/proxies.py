"""Client address, scheme and host of a request, as stated by a trusted proxy.

Anyone can send ``X-Forwarded-*``. The headers count only if the connection itself comes from a proxy that the operator
has configured; otherwise they are ignored. ``Forwarded`` (RFC 7239) is never read: a proxy that sets one kind of header
passes the other on as the client sent it.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_FOR: Final = b"x-forwarded-for"
_HOST: Final = b"x-forwarded-host"
_PROTO: Final = b"x-forwarded-proto"
_SCHEMES: Final = frozenset({"http", "https"})
_HOST_FORM: Final = re.compile(r"[A-Za-z0-9.\-_]{1,253}(:\d{1,5})?|\[[0-9A-Fa-f:.]{2,45}\](:\d{1,5})?")


class TrustedProxies:
    """Replace address, scheme and host of a request by those stated by a proxy in one of the trusted networks."""

    def __init__(self, app: ASGIApp, *, networks: Sequence[Network]) -> None:
        self._app = app
        self._networks = tuple(networks)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the request with the client's address, scheme and host instead of the proxy's."""
        if scope["type"] == "http" and self._networks:
            peer = _address(scope["client"][0]) if scope.get("client") else None
            if peer is not None and self._trusts(peer):
                scope = self._resolved(scope, peer)
        await self._app(scope, receive, send)

    def _trusts(self, address: Address) -> bool:
        return any(address in network for network in self._networks)

    def _resolved(self, scope: Scope, peer: Address) -> Scope:
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        resolved: dict[str, object] = {"client": (str(self._client(peer, _values(headers, _FOR))), 0)}
        # The nearest proxy appends the last value.
        scheme = next(iter(reversed(_values(headers, _PROTO))), "").lower()
        if scheme in _SCHEMES:
            resolved["scheme"] = scheme
        host = next(iter(reversed(_values(headers, _HOST))), "")
        if _HOST_FORM.fullmatch(host):
            others = [(name, value) for name, value in headers if name != b"host"]
            resolved["headers"] = [*others, (b"host", host.encode())]
        return {**scope, **resolved}

    def _client(self, peer: Address, hops: Sequence[str]) -> Address:
        """The right-most address that is not a trusted proxy's: each proxy appends the address of its peer.

        The client controls everything to the left of it. An invalid hop ends the search at the proxy that reported it.
        """
        client = peer
        for hop in reversed(hops):
            found = _address(hop)
            if found is None:
                return client
            client = found
            if not self._trusts(found):
                return client
        return client


def _values(headers: Iterable[tuple[bytes, bytes]], wanted: bytes) -> list[str]:
    """The comma-separated values of all occurrences of a header, in order."""
    joined = ",".join(value.decode("latin-1") for name, value in headers if name == wanted)
    return [part for value in joined.split(",") if (part := value.strip())]


def _address(text: str) -> Address | None:
    """Parse an address, with or without port, brackets, quotes or zone; an IPv4-mapped IPv6 address becomes IPv4."""
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        parsed = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed
