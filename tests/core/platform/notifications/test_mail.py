"""E-mail over a real connection: secured or not sent, plain, with nothing in it that could be a header or a value."""

import ssl
from dataclasses import replace
from datetime import timedelta

import pytest

from core.db.outbox import Kind
from core.platform.notifications.details import Details, code_matches, code_of
from core.platform.notifications.errors import TargetRefused
from core.platform.notifications.mail import MailServer, MailTransport, parse_address, written
from tests.core.platform.notifications.mailbox import mailbox
from tests.core.platform.notifications.test_webhook import NOW, SECRET, batch, certificate

SENDER = "understudy@example.org"


def to_person(count=1, *, kind=Kind.JOB_SUCCEEDED):
    made = batch("", count=count)
    messages = [replace(message, kind=kind) for message in made.messages]
    details = Details(target="a.person@example.org", secret=SECRET)
    return replace(made, channel="email", details=details, messages=messages)


def plain(port):
    return MailServer(host="127.0.0.1", port=port, security="none", sender=SENDER)


def test_many_events_are_one_plain_message_of_ids_and_minutes():
    with mailbox() as box:
        assert MailTransport(plain(box.port)).send(to_person(3), at=NOW) == ["delivered"] * 3
        assert plain(box.port).answers()
    (message,) = box.received
    assert message["subject"] == "understudy: 3 events"
    assert (message["from"], message["to"]) == (SENDER, "a.person@example.org")
    assert message.get_content_type() == "text/plain"
    assert message["date"].datetime == NOW.replace(second=0, microsecond=0) + timedelta(minutes=1)
    text = message.get_content()
    assert text.count("A job has finished.") == 3
    assert "2026-03-01T12:00:00Z" in text
    assert set(message.keys()) == {
        "From", "To", "Date", "Message-ID", "Auto-Submitted", "Subject", "Content-Type", "Content-Transfer-Encoding",
        "MIME-Version",
    }  # fmt: skip
    assert len(box.envelopes) == 1


def test_the_code_confirms_and_others_do_not():
    message = written(to_person(kind=Kind.CONFIRM), sender=SENDER, at=NOW)
    code = code_of(SECRET)
    assert code in message.get_content()
    assert code_matches(f" {code[:4].lower()}-{code[4:]} ", secret=SECRET)
    assert not code_matches(code, secret=b"x" * 32)
    assert not code_matches("", secret=SECRET)


@pytest.mark.parametrize(
    "text",
    [
        "a@example.org\r\nBcc: b@example.org", "a@example.org\n", "a b@example.org", "<a@example.org>", "a@b@example.org",
        '"a"@example.org', "a@example.org, b@example.org", "A <a@example.org>", "a@localhost", "a@-example.org", "@example.org",
        ".a@example.org", "a..b@example.org", "\u00e4@example.org", "a@ex\u00e4mple.org", "a" * 65 + "@example.org",
        "a@[127.0.0.1]", "a@example.org" + ".example" * 40,
        "=?utf-8?q?b=40example.org=2C_c?=@example.org", "a=?utf-8?b?Yg==?=@example.org",
    ],
)  # fmt: skip
def test_no_address_carries_a_second_header_or_recipient(text):
    with pytest.raises(TargetRefused):
        parse_address(text)


@pytest.mark.parametrize(
    "text", ["a@example.org", "first.last+tag@sub.example.org", "o'neil@example.co.uk", "a=b.org@c.org"]
)
def test_plain_addresses_are_taken_as_they_are(text):
    assert parse_address(text) == text


def test_nothing_is_sent_to_a_server_that_does_not_secure_the_connection(tmp_path):
    path = certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    trusted = ssl.create_default_context(cafile=str(path))
    with mailbox() as box:
        without = replace(plain(box.port), security="starttls")
        assert MailTransport(without).send(to_person(), at=NOW) == ["tls-failed"]
        assert not without.answers()
    assert box.envelopes == []
    with mailbox(context) as box:
        server = replace(
            plain(box.port),
            host="localhost",
            security="starttls",
            tls=trusted,
            user="u",
            password="a password",
        )
        assert MailTransport(replace(server, tls=None)).send(to_person(), at=NOW) == ["tls-failed"]
        assert box.envelopes == []
        assert MailTransport(server).send(to_person(), at=NOW) == ["delivered"]
    assert len(box.received) == 1
    words = [command.split(" ")[0].upper() for command in box.commands]
    assert words.index("STARTTLS") < words.index("AUTH") < words.index("MAIL")


def test_refusals_and_closed_ports_have_codes():
    with mailbox() as box:
        box.refuses = True
        assert MailTransport(plain(box.port)).send(to_person(), at=NOW) == ["mail-refused"]
    assert MailTransport(plain(box.port)).send(to_person(), at=NOW) == ["unreachable"]
    assert not plain(box.port).answers()
