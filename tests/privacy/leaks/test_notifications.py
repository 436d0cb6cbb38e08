"""What leaves by itself: a receiver of notifications is sent the same, ids excepted, on neighbouring tables."""

import json
from collections import Counter

from tests.privacy.leaks.canaries import in_text


def _with_names(stage):
    """What was sent, with the name of each object of the stage in the place of its id."""
    names = {value: name for name, value in stage.ids.items()}
    for body in stage.told:
        told = json.loads(body)
        told["data"] = {key: names.get(value, value) for key, value in told["data"].items()}
        yield told


def test_a_receiver_is_sent_the_same_on_neighbouring_tables(played):
    one, other = (list(_with_names(played[name].stage)) for name in ("canaries", "neighbour"))
    assert one == other
    kinds = Counter(told["type"] for told in one)
    assert kinds["job.failed"] == kinds["job.cancelled"] == kinds["release.published"] == 1
    assert kinds["job.succeeded"] >= 1
    assert kinds["budget-request.filed"] == 1


def test_no_canary_is_sent(played):
    for body in played["canaries"].stage.told:
        assert not in_text(body.decode())
        assert set(json.loads(body)) == {"type", "timestamp", "data"}
