from datetime import timedelta
from uuid import uuid4

from core.platform.access.directory import Known
from core.platform.access.recent import RECENT_SECONDS, Recent
from core.platform.access.roles import Principal, Role
from tests.core.platform.access.conftest import NOON


def known(expires_at=None) -> Known:
    principal = Principal(id=uuid4(), key_id=uuid4(), roles=frozenset({Role.OWNER}))
    return Known(principal=principal, expires_at=expires_at)


def test_an_entry_is_believed_for_two_seconds(clock):
    recent, entry = Recent(clock=clock), known()
    assert RECENT_SECONDS == 2.0
    recent.keep(b"a", entry)
    assert recent.find(b"b") is None
    clock.advance(seconds=1.9)
    assert recent.find(b"a") == entry
    clock.advance(seconds=0.1)
    assert recent.find(b"a") is None


def test_what_ends_meanwhile_is_not_believed(clock):
    recent = Recent(clock=clock)
    recent.keep(b"a", known(expires_at=NOON + timedelta(seconds=1)))
    assert recent.find(b"a") is not None
    clock.advance(seconds=1)
    assert recent.find(b"a") is None


def test_a_clock_set_back_prolongs_nothing(clock):
    recent = Recent(clock=clock)
    recent.keep(b"a", known())
    clock.advance(seconds=-3600)
    assert recent.find(b"a") is None


def test_a_key_is_forgotten_with_its_sessions(clock):
    recent, entry, other = Recent(clock=clock), known(), known()
    session = Known(principal=entry.principal, expires_at=None, session_id=uuid4())
    for digest, kept in ((b"key", entry), (b"cookie", session), (b"other", other)):
        recent.keep(digest, kept)
    recent.forget(entry.principal.key_id)
    assert [recent.find(digest) for digest in (b"key", b"cookie", b"other")] == [None, None, other]


def test_the_memory_is_bounded_and_the_oldest_go_first(clock):
    recent = Recent(clock=clock, capacity=2)
    entries = {bytes([number]): known() for number in range(3)}
    for digest, entry in entries.items():
        recent.keep(digest, entry)
    assert [recent.find(digest) is not None for digest in entries] == [False, True, True]
