"""Allowed destinations of webhooks and boards: the public internet and networks that the operator allows (protection against SSRF).

A service that calls URLs chosen by its users can be used to reach its own network: the database, the cloud's
metadata service. The name is therefore resolved here, every address that it resolves to must be allowed, and
the connection is made to one of the checked addresses. A name that resolves differently a moment later (DNS
rebinding) has no effect.
"""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

from core.platform.notifications.errors import TargetRefused

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]

LONGEST_URL: Final = 1000
_NAT64: Final = ip_network("64:ff9b::/96")
# All IPv6 space assigned to the public internet (RFC 4291). Outside it are obsolete IPv4 encodings such as
# ::10.0.0.1.
_UNICAST: Final = ip_network("2000::/3")
# Not global according to some registries, or global and still never a legitimate destination.
_NEVER: Final = tuple(
    ip_network(text)
    for text in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/3",
        "::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A parsed webhook URL.

    Args:
        host: Name or address, as the certificate must name it.
        path: Path and query.
        host_header: Value of the Host header.
    """

    is_tls: bool
    host: str
    port: int
    path: str
    host_header: str


def parse_target(url: str, *, plain_allowed: bool) -> Target:
    """Parse a webhook URL strictly.

    Args:
        plain_allowed: Whether http without TLS is accepted (embedded stack).

    Raises:
        TargetRefused: The URL is not acceptable.
    """
    if len(url) > LONGEST_URL or not url.isascii() or any(ord(letter) <= ord(" ") for letter in url):
        raise TargetRefused(
            f"The address is longer than {LONGEST_URL} characters, or contains spaces or non-ASCII characters.",
            remedy="Encode the host name (punycode) and the path (percent-encoding).",
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    schemes = {"https", "http"} if plain_allowed else {"https"}
    plain = "@" not in parts.netloc and not parts.fragment and "\\" not in url and "\x7f" not in url
    if parts.scheme not in schemes or not host or not plain or port == 0:
        raise TargetRefused(
            "A webhook is an https address with a host, without user name, password or fragment.",
            remedy="Register an address such as https://example.org/hooks/understudy.",
        )
    is_tls = parts.scheme == "https"
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(
        is_tls=is_tls,
        host=host,
        port=port or (443 if is_tls else 80),
        path=path,
        host_header=parts.netloc,
    )


def is_allowed(address: Address, networks: Sequence[Network]) -> bool:
    """Whether connecting is allowed: a public address, or one in a network that the operator allows."""
    return any(address in network for network in networks) or all(map(_is_public, _reached_by(address)))


def allowed_addresses(found: Sequence[str], networks: Sequence[Network]) -> Sequence[str]:
    """The resolved addresses if all of them are allowed; otherwise none."""
    return found if found and all(is_allowed(ip_address(one), networks) for one in found) else ()


def _is_public(address: Address) -> bool:
    outside = isinstance(address, IPv4Address) or address in _UNICAST or address in _NAT64
    return outside and address.is_global and not any(address in network for network in _NEVER)


def _reached_by(address: Address) -> Sequence[Address]:
    """An address, and the IPv4 addresses that routers may translate it to."""
    if isinstance(address, IPv4Address):
        return (address,)
    inside = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64:
        inside.append(IPv4Address(int(address) & 0xFFFFFFFF))
    found = [one for one in inside if one is not None]
    # An IPv4-mapped address is only the IPv4 address; the other forms are also addresses of their own.
    return found if address.ipv4_mapped is not None else [address, *found]


def resolve(host: str, port: int) -> Sequence[str]:
    """The addresses of a host, as the machine resolves names.

    Raises:
        OSError: The name does not exist, or no name server answers.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
