"""What the pages on notifications and dossiers tell receivers to run, run on what is really sent."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from core.artifacts.signing.contexts import DOSSIER, LEDGER_HEAD
from core.artifacts.signing.signed import Signer
from core.clock import SystemClock
from core.platform.notifications.details import shown_secret
from core.platform.notifications.messages import CHOSEN
from core.platform.notifications.webhook import signed_headers

DOCS = Path(__file__).parents[2] / "docs"


def run(page: str) -> SimpleNamespace:
    """The Python of a page."""
    (code,) = re.findall(r"^```python\n(.*?)^```", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)
    assert len(code.strip().splitlines()) <= 14
    names: dict[str, Any] = {}
    exec(code, names)
    return SimpleNamespace(**{name: names[name] for name in names if not name.startswith("__")})


def test_a_receiver_verifies_a_webhook_with_ten_lines() -> None:

    verified = run("notifications.md").verified
    new, old, body = b"n" * 32, b"o" * 32, b'{"type":"test"}'
    sent = dict(signed_headers(uuid4(), body, secrets=(new, old), at=SystemClock().now()))
    assert verified(shown_secret(new), sent, body)
    assert verified(shown_secret(old), sent, body)
    assert not verified(shown_secret(b"x" * 32), sent, body)
    assert not verified(shown_secret(new), sent, body + b" ")
    assert not verified(shown_secret(new), sent | {"webhook-timestamp": "1"}, body)


def test_a_reader_checks_a_dossier() -> None:
    checked = run("dossier.md").checked
    signer = Signer.of(Ed25519PrivateKey.generate())
    document = {"schema": DOSSIER, "dataset": {"name": "Stationen in M\u00fcnchen"}, "share": 0.1}
    keys = [{"key_id": signer.key_id, "public_key": signer.public_key.hex()}]
    signed = signer.sign(document, context=DOSSIER).to_json()
    assert checked(signed, keys) == document
    with pytest.raises(InvalidSignature):
        checked(signed | {"share": 0.2}, keys)
    with pytest.raises(InvalidSignature):
        checked(signer.sign(document, context=LEDGER_HEAD).to_json(), keys)


def test_every_kind_of_event_is_on_the_page() -> None:
    page = (DOCS / "notifications.md").read_text()
    for kind in CHOSEN:
        family, _, _ = kind.value.partition(".")
        assert f"`{kind.value}`" in page or (
            family in page and f"`.{kind.value.partition('.')[2]}`" in page
        ), kind
