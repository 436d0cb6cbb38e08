"""Sending over real connections: what is sent, what counts as delivered, and what a receiver cannot do to us."""

import base64
import datetime as dt
import hmac
import json
import ssl
import time
from hashlib import sha256
from ipaddress import ip_network
from uuid import UUID

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from core.db.outbox import Kind
from core.platform.notifications.attempts import FIRST_WAIT, LONGEST_WAIT, wait_after
from core.platform.notifications.details import Details, shown_secret
from core.platform.notifications.dispatch import SENDING_SECONDS
from core.platform.notifications.messages import Batch, Message
from core.platform.notifications.webhook import (
    BATCH_SECONDS,
    CONNECT_SECONDS,
    WHOLE_SECONDS,
    WebhookTransport,
    signature_of,
    signed_headers,
)
from tests.core.platform.notifications.receiver import receiving

LOOPBACK = (ip_network("127.0.0.0/8"),)
NOW = dt.datetime(2026, 3, 1, 12, 0, 59, 999999, tzinfo=dt.UTC)
SECRET, OLD = b"s" * 32, b"o" * 32


def batch(url, *, count=1, **details):
    messages = [
        Message(
            fence=1,
            delivery_id=UUID(int=number), event_id=UUID(int=number), kind=Kind.JOB_SUCCEEDED,
            at=NOW.replace(second=0, microsecond=0), ids={"job_id": str(UUID(int=9))}, attempts=0,
        )
        for number in range(1, count + 1)
    ]  # fmt: skip
    made = Details(target=url, secret=SECRET, **details)
    return Batch(endpoint_id=UUID(int=0), channel="webhook", details=made, messages=messages)


def transport(**options):
    return WebhookTransport(**{"networks": LOOPBACK, "plain_allowed": True} | options)


def verified(received, secret):
    """As a receiver verifies that has read the specification and nothing of ours."""
    head, body = received
    signed = f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + body
    mark = base64.b64encode(hmac.new(secret, signed, sha256).digest()).decode()
    return f"v1,{mark}" in head["webhook-signature"].split(" ")


def test_the_vector_of_the_specification():
    # https://github.com/standard-webhooks/standard-webhooks: secret, id, time, body and signature of its libraries' tests.
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    mark = signature_of(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert mark == "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_message_is_signed_and_holds_ids_and_minutes_only():
    with receiving() as receiver:
        assert transport().send(batch(receiver.url("/a?b=c")), at=NOW) == ["delivered"]
    (received,) = receiver.received
    head, body = received
    assert head[":request"] == "POST /a?b=c HTTP/1.1"
    assert head["content-type"] == "application/json"
    assert verified(received, SECRET)
    assert not verified((head, body + b" "), SECRET)
    assert int(head["webhook-timestamp"]) % 60 == 0
    assert 0 <= NOW.timestamp() - int(head["webhook-timestamp"]) < 60
    assert json.loads(body) == {
        "type": "job.succeeded",
        "timestamp": "2026-03-01T12:00:00Z",
        "data": {"job_id": str(UUID(int=9))},
    }


def test_after_a_rotation_both_secrets_verify_until_the_old_one_ends():
    until = NOW + dt.timedelta(seconds=1)
    with receiving() as receiver:
        sent = batch(receiver.url(), previous=OLD, previous_until=until)
        transport().send(sent, at=NOW)
        transport().send(sent, at=until)
    during, after = receiver.received
    assert verified(during, SECRET)
    assert verified(during, OLD)
    assert verified(after, SECRET)
    assert not verified(after, OLD)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "delivered"),
        (b"HTTP/1.1 500 No\r\n\r\n", "http-500"),
        (b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n\r\n", "http-302"),
        (b"HTTP/1.1 410 Gone\r\n\r\n", "http-410"),
        (b"nonsense\r\n\r\n", "answer-broken"),
        (b"", "answer-broken"),
    ],
)
def test_only_a_success_counts_and_redirects_are_not_followed(answer, outcome):
    with receiving() as receiver:
        receiver.answer = answer
        assert transport().send(batch(receiver.url(), count=2), at=NOW)[0] == outcome
    assert len(receiver.received) == (2 if outcome == "delivered" else 1)


def test_a_receiver_that_drips_is_broken_off():
    def drip(connection):
        connection.settimeout(60)
        try:
            for _ in range(3000):
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                time.sleep(0.01)
        except OSError:
            return

    with receiving() as receiver:
        receiver.behave = drip
        started = time.monotonic()
        assert transport(whole_seconds=0.3).send(batch(receiver.url()), at=NOW) == ["timeout"]
        assert time.monotonic() - started < 20


def test_a_slow_receiver_is_not_sent_more_than_a_round_waits_for():
    """Otherwise what it took would be noted as a timeout, and sent again until it is paused."""
    assert BATCH_SECONDS + CONNECT_SECONDS + WHOLE_SECONDS < SENDING_SECONDS
    with receiving() as receiver:
        sent = batch(receiver.url(), count=3)
        assert transport(batch_seconds=0).send(sent, at=NOW) == ["delivered"]
        assert len(receiver.received) == 1
        assert transport().send(sent, at=NOW) == ["delivered"] * 3


def test_nothing_inside_is_connected_to_whatever_its_name_says():
    asked = []

    def resolver(host, port):
        asked.append((host, port))
        return ["127.0.0.1"]

    with receiving() as receiver:
        inside = transport(networks=(), resolver=resolver)
        url = receiver.url(host="example.org")
        assert inside.send(batch(url), at=NOW) == ["address-refused"]
        assert inside.send(batch(receiver.url()), at=NOW) == ["address-refused"]
        assert receiver.received == []
        # The name is asked for once; the connection goes to what was looked at.
        assert transport(resolver=resolver).send(batch(url), at=NOW) == ["delivered"]
    assert asked.count(("example.org", receiver.port)) == 2
    assert receiver.received[0][0]["host"] == f"example.org:{receiver.port}"


def test_names_that_are_unknown_closed_ports_and_plain_http_elsewhere():
    def unknown(host, port):
        raise OSError

    with receiving() as receiver:
        pass
    assert transport(resolver=unknown).send(batch("http://example.org/"), at=NOW) == ["name-unknown"]
    assert transport().send(batch(receiver.url()), at=NOW) == ["unreachable"]
    assert transport(plain_allowed=False).send(batch(receiver.url()), at=NOW) == ["address-refused"]


def certificate(tmp_path, name):
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    path = tmp_path / "certificate.pem"
    path.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return path


def test_the_certificate_is_held_against_the_name_though_the_address_was_looked_up(tmp_path):
    path = certificate(tmp_path, "hooks.example.org")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(path)
    trusted = ssl.create_default_context(cafile=str(path))
    with receiving(server) as receiver:
        loopback = {"resolver": lambda *_: ["127.0.0.1"], "plain_allowed": False}
        good = batch(receiver.url(host="hooks.example.org", scheme="https"))
        bad = batch(receiver.url(host="other.example.org", scheme="https"))
        assert transport(tls=trusted, **loopback).send(good, at=NOW) == ["delivered"]
        assert transport(tls=trusted, **loopback).send(bad, at=NOW) == ["tls-failed"]
        assert transport(**loopback).send(good, at=NOW) == ["tls-failed"], "nobody vouches for it"
    assert len(receiver.received) == 1


def test_waits_double_up_to_a_limit_and_differ():
    least = [wait_after(attempts, entropy=bytes) for attempts in range(1, 12)]
    most = [wait_after(attempts, entropy=lambda count: b"\xff" * count) for attempts in range(1, 12)]
    assert least[0] == FIRST_WAIT / 2
    assert all(low * 2 - high < dt.timedelta(milliseconds=1) for low, high in zip(least, most, strict=True))
    assert least[3] == 8 * least[0]
    assert max(most) == LONGEST_WAIT
    whole = sum(least, dt.timedelta()), sum(most, dt.timedelta())
    assert whole[0] > dt.timedelta(hours=7)
    assert whole[1] < dt.timedelta(hours=15)


def test_secrets_are_shown_as_the_specification_says():
    assert shown_secret(b"\x00" * 32) == "whsec_" + base64.b64encode(b"\x00" * 32).decode()
    head = signed_headers(UUID(int=1), b"{}", secrets=(SECRET, OLD), at=NOW)
    assert head["webhook-id"] == "msg_" + UUID(int=1).hex
    assert len(head["webhook-signature"].split(" ")) == 2


def test_details_do_not_show_themselves():
    assert "example" not in repr(batch("https://example.org/secret-token"))
