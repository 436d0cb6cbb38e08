import pytest

from core.data import sealing
from core.data.errors import SealBroken
from core.data.master_keys import MARK_BYTES, MasterKeys

OLD, NEW, OTHER = (bytes([seed]) * 31 + b"x" for seed in range(3))
SECRET = b"s" * 32


def test_both_keys_open_during_a_rotation_and_the_new_one_seals():
    before = MasterKeys(current=OLD).wrap(SECRET, context="a")
    both = MasterKeys(current=NEW, previous=OLD)
    assert both.unwrap(before, context="a") == SECRET
    assert not both.is_current(before)
    after = both.wrap(SECRET, context="a")
    assert both.is_current(after)
    assert MasterKeys(current=NEW).unwrap(after, context="a") == SECRET
    with pytest.raises(SealBroken):
        MasterKeys(current=OLD).unwrap(after, context="a")
    with pytest.raises(SealBroken):
        MasterKeys(current=NEW).unwrap(before, context="a")


def test_what_was_sealed_before_there_were_marks_opens_too():
    unmarked = sealing.wrap(OLD, SECRET, context="a")
    for keys in (MasterKeys(current=OLD), MasterKeys(current=NEW, previous=OLD)):
        assert keys.unwrap(unmarked, context="a") == SECRET
        assert not keys.is_current(unmarked)
    with pytest.raises(SealBroken):
        MasterKeys(current=NEW, previous=OTHER).unwrap(unmarked, context="a")


def test_context_and_bytes_are_bound():
    keys = MasterKeys(current=OLD, previous=NEW)
    wrapped = keys.wrap(SECRET, context="a")
    with pytest.raises(SealBroken):
        keys.unwrap(wrapped, context="b")
    for place in (0, MARK_BYTES - 1, MARK_BYTES, len(wrapped) - 1):
        changed = bytearray(wrapped)
        changed[place] ^= 1
        with pytest.raises(SealBroken):
            keys.unwrap(bytes(changed), context="a")
    with pytest.raises(SealBroken):
        keys.unwrap(b"", context="a")


def test_keys_are_not_shown():
    assert repr(MasterKeys(current=OLD, previous=NEW)) == "MasterKeys()"
