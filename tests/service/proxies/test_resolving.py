"""Whose a request is: what a trusted proxy says, and what everybody else may say in vain."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from pydantic import ValidationError

from core.platform.settings import Settings
from service.edge.proxies import TrustedProxies
from tests.cases import daily
from tests.service.proxies import echo
from understudy.embedded import roles
from understudy.embedded.folder import DataFolder
from understudy.embedded.supervisor import free_port

ROOT = Path(__file__).parents[3]
PROXY, OTHER_PROXY, CLIENT = "10.0.0.7", "10.0.0.8", "203.0.113.9"
TRUSTED = [ip_network("10.0.0.0/24"), ip_network("fd00::/64")]


def seen(
    *headers: tuple[str, str], peer: str | None = PROXY, networks: Any = TRUSTED, host: str = "inside:8321"
) -> dict[str, Any]:
    """What the application sees of a request that a peer sends."""
    lines = [(name.lower().encode(), value.encode()) for name, value in (("Host", host), *headers)]
    scope = {
        "type": "http", "client": peer and (peer, 40_000), "scheme": "http", "headers": lines,
    }  # fmt: skip
    found: dict[str, Any] = {}

    async def app(scope: Any, receive: Any, send: Any) -> None:
        hosts = [value.decode() for name, value in scope["headers"] if name == b"host"]
        found.update(client=scope["client"] and scope["client"][0], scheme=scope["scheme"], hosts=hosts)

    anyio.run(TrustedProxies(app, networks=networks), scope, None, None)
    return found


@pytest.mark.parametrize(
    ("hops", "client"),
    [
        (["203.0.113.9"], "203.0.113.9"),
        # Written by the client itself, to the left of what the proxy appended.
        (["127.0.0.1, 10.0.0.8, 203.0.113.9"], "203.0.113.9"),
        (["127.0.0.1", "203.0.113.9"], "203.0.113.9"),
        (["198.51.100.1", "203.0.113.9, 10.0.0.8"], "203.0.113.9"),
        (["203.0.113.9, 10.0.0.8,10.0.0.9"], "203.0.113.9"),
        (["10.0.0.9, 10.0.0.8"], "10.0.0.9"),
        (["203.0.113.9:51000"], "203.0.113.9"),
        (["2001:db8::17"], "2001:db8::17"),
        (["[2001:db8::17]"], "2001:db8::17"),
        (["[2001:db8::17]:51000"], "2001:db8::17"),
        (['"[2001:db8::17]:51000"'], "2001:db8::17"),
        (["2001:db8::17, fd00::5"], "2001:db8::17"),
        (["::ffff:203.0.113.9"], "203.0.113.9"),
        (["203.0.113.9, ::ffff:10.0.0.8"], "203.0.113.9"),
        (["fe80::1%eth0"], "fe80::1"),
        (["unknown"], PROXY),
        (["203.0.113.9, unknown"], PROXY),
        (["203.0.113.9, unknown, 10.0.0.8"], OTHER_PROXY),
        (["203.0.113.9, ,"], "203.0.113.9"),
        ([""], PROXY),
        ([], PROXY),
        (["1.2.3.4.5", "203.0.113.9\x00"], PROXY),
    ],
    ids=str,
)
def test_the_client_is_the_right_most_address_that_is_no_trusted_proxy(hops: list[str], client: str) -> None:
    assert seen(*[("X-Forwarded-For", value) for value in hops])["client"] == client


@pytest.mark.parametrize("peer", ["127.0.0.1", "::1", "10.0.1.7", "203.0.113.9", "testclient", None])
@pytest.mark.parametrize("networks", [TRUSTED, ()], ids=["some", "none"])
def test_nobody_else_is_believed(peer: str | None, networks: Any) -> None:
    spoofed = [
        ("X-Forwarded-For", CLIENT),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
    ]
    unmoved = {"client": peer, "scheme": "http", "hosts": ["inside:8321"]}
    assert seen(*spoofed, ("Forwarded", f"for={CLIENT}"), peer=peer, networks=networks) == unmoved


def test_none_is_trusted_by_default() -> None:
    assert Settings.model_fields["trusted_proxies"].default == ()


@pytest.mark.parametrize("peer", [PROXY, f"::ffff:{PROXY}", "fd00::5"])
def test_a_trusted_peer_may_speak_either_version_of_ip(peer: str) -> None:
    assert seen(("X-Forwarded-For", CLIENT), peer=peer)["client"] == CLIENT


def test_the_header_that_no_proxy_of_ours_sets_is_not_read() -> None:
    assert seen(("Forwarded", f"for={CLIENT};proto=https;host=evil.example"))["client"] == PROXY


@pytest.mark.parametrize(
    ("values", "scheme"),
    [(["https"], "https"), (["HTTPS"], "https"), (["http, https"], "https"), (["http", "https"], "https"),
     (["ftp"], "http"), ([""], "http"), (["https, javascript"], "http")],
)  # fmt: skip
def test_the_scheme_is_the_nearest_proxys(values: list[str], scheme: str) -> None:
    assert seen(*[("X-Forwarded-Proto", value) for value in values])["scheme"] == scheme


@pytest.mark.parametrize(
    ("values", "host"),
    [(["data.example.org"], "data.example.org"), (["evil.example, data.example.org"], "data.example.org"),
     (["data.example.org:8443"], "data.example.org:8443"), (["[2001:db8::1]:8443"], "[2001:db8::1]:8443"),
     (["data.example.org/path"], "inside:8321"), (["a b"], "inside:8321"), (["user@host"], "inside:8321"),
     ([""], "inside:8321"), (["x" * 300], "inside:8321")],
)  # fmt: skip
def test_the_host_is_the_nearest_proxys_and_stands_alone(values: list[str], host: str) -> None:
    assert seen(*[("X-Forwarded-Host", value) for value in values])["hosts"] == [host]


@pytest.mark.parametrize("wrong", ['["10.0.0.0.7"]', '["10.0.0.7/8"]', '["proxy.example.org"]', "*"])
def test_a_setting_that_names_no_network_is_refused(
    wrong: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_TRUSTED_PROXIES", wrong)
    with pytest.raises((ValidationError, ValueError), match="trusted_proxies"):
        echo.settings_read()


@contextmanager
def started(words: list[str], **environment: str) -> Iterator[str]:
    """A server started with words, that serves the echo; its address."""
    port = free_port(0)
    words = [{"service.asgi:app": "tests.service.proxies.echo:app"}.get(word, word) for word in words]
    words[words.index("--port") + 1] = str(port)
    process = subprocess.Popen(words, cwd=ROOT, env=dict(os.environ) | environment)
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None
                assert time.monotonic() < end
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(timeout=60)


def of_the_embedded_stack(tmp_path: Path) -> list[str]:
    environment = {"UNDERSTUDY_PORT": "1"}
    return list(roles.api(DataFolder(tmp_path), environment).arguments)


def of_the_image(_: Path) -> list[str]:
    command = re.findall(r"^CMD (\[.*\])$", (ROOT / "docker" / "api.Dockerfile").read_text(), re.MULTILINE)
    assert len(command) == 1
    words = json.loads(command[0])
    return [sys.executable, "-m", *words]


@pytest.mark.parametrize("words", daily([of_the_embedded_stack, of_the_image], some=[of_the_embedded_stack]))
def test_the_servers_own_belief_in_such_headers_is_off(words: Any, tmp_path: Path) -> None:
    """uvicorn by itself believes whoever comes from 127.0.0.1, or from where an environment variable says."""
    spoofed = {"X-Forwarded-For": CLIENT, "X-Forwarded-Proto": "https"}
    with started(words(tmp_path), FORWARDED_ALLOW_IPS="*") as address:
        answer = httpx.get(address, headers=spoofed).json()
        assert (answer["client"], answer["scheme"]) == ("127.0.0.1", "http")
    with started(words(tmp_path), UNDERSTUDY_TRUSTED_PROXIES='["127.0.0.1"]') as address:
        answer = httpx.get(address, headers=spoofed).json()
        assert (answer["client"], answer["scheme"]) == (CLIENT, "https")
