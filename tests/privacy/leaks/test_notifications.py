"""What leaves by itself: a receiver of notifications is sent the same, ids excepted, on neighbouring tables."""

import json
from collections import Counter

from tests.privacy.leaks.canaries import in_bytes


def _without_ids(body):
    told = json.loads(body)
    return told["type"], told["timestamp"], tuple(sorted(told["data"]))


def test_a_receiver_is_sent_the_same_on_neighbouring_tables(played):
    one, other = (played[name].stage.told for name in ("canaries", "neighbour"))
    assert [_without_ids(body) for body in one] == [_without_ids(body) for body in other]
    kinds = Counter(json.loads(body)["type"] for body in one)
    assert kinds["job.failed"] == kinds["job.cancelled"] == kinds["release.published"] == 1
    assert kinds["job.succeeded"] >= 1
    assert kinds["budget-request.filed"] == 1


def test_no_canary_is_sent(played):
    for body in played["canaries"].stage.told:
        assert not list(in_bytes(body))
        assert set(json.loads(body)) == {"type", "timestamp", "data"}
