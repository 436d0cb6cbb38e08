"""Which addresses may be notified."""

from ipaddress import ip_address, ip_network

import pytest

from core.platform.notifications.addresses import allowed_addresses, is_allowed, parse_target
from core.platform.notifications.errors import TargetRefused

INSIDE = (
    "0.0.0.0", "10.1.2.3", "100.100.100.200", "127.0.0.1", "127.1.2.3", "169.254.169.254", "172.16.0.1", "192.168.1.1",
    "192.0.0.192", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1",
    "::", "::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:4136:e378:8000:63bf:f5ff:fffe", "fc00::1", "fd00:ec2::254", "fe80::1",
    "fec0::1", "ff02::1", "2001:db8::1", "100::1", "::10.0.0.1", "::ffff:0:10.0.0.1", "5f00::1", "4000::1",
)  # fmt: skip
OUTSIDE = (
    "8.8.8.8",
    "93.184.216.34",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
    "2606:4700::1111",
    "2002:808:808::1",
)


@pytest.mark.parametrize("text", INSIDE)
def test_nothing_inside_is_reached(text):
    assert not is_allowed(ip_address(text), ())


@pytest.mark.parametrize("text", OUTSIDE)
def test_the_open_internet_is(text):
    assert is_allowed(ip_address(text), ())


def test_a_network_that_the_operator_names_is_reached_and_no_other():
    named = (ip_network("10.20.0.0/16"), ip_network("fd00:1::/32"))
    assert is_allowed(ip_address("10.20.3.4"), named)
    assert is_allowed(ip_address("fd00:1::5"), named)
    assert not is_allowed(ip_address("10.21.3.4"), named)
    assert not is_allowed(ip_address("169.254.169.254"), named)


def test_one_forbidden_address_among_those_of_a_name_forbids_the_name():
    assert allowed_addresses(["8.8.8.8", "127.0.0.1"], ()) == ()
    assert allowed_addresses(["8.8.8.8"], ()) == ["8.8.8.8"]
    assert allowed_addresses([], ()) == ()


@pytest.mark.parametrize(
    "url",
    [
        "http://canary.example/", "ftp://canary.example/", "https://", "https:///path", "https://user@canary.example/",
        "https://user:password@canary.example/", "https://canary.example/#part", "https://canary.example:0/",
        "https://canary.example:99999/", "https://exa mple.org/", "https://canary.example/\r\nX-Header: 1", "https://ex\x7fample.org/",
        "https://[::1/", "https://b\u00fccher.canary/", "https://canary.example\\@127.0.0.1/", "canary.example/hook",
        "https://canary.example/" + "a" * 1000,
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_webhook_is_refused_and_not_repeated(url):
    with pytest.raises(TargetRefused) as refusal:
        parse_target(url, plain_allowed=False)
    assert "canary" not in refusal.value.detail + refusal.value.remedy


def test_an_address_is_taken_apart():
    target = parse_target("https://Example.org:8443/a/b?c=d", plain_allowed=False)
    assert (target.is_tls, target.host, target.port, target.path) == (True, "example.org", 8443, "/a/b?c=d")
    assert target.host_header == "Example.org:8443"
    assert parse_target("https://example.org", plain_allowed=False).path == "/"
    assert parse_target("http://example.org", plain_allowed=True).port == 80
