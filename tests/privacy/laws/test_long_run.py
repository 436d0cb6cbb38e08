"""The long run, short; and what the committed one found."""

import json
from pathlib import Path

import numpy as np
import pytest

from models.randomness import KeyedStreams
from tests.privacy.laws import long_run
from tests.privacy.laws.planned import KEY

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results" / "laws.json"


def test_the_long_run_in_short() -> None:
    found = long_run.long_run(KEY, 1)
    assert [part["rung"] for part in found["parts"].values()] == [[]] * long_run.PARTS
    assert sum(part["false_alarm"] for part in found["parts"].values()) <= 1e-6 * (1 + 1e-12)


def test_streams_that_repeat_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step draws the words of step 0."""
    straight = KeyedStreams.reader
    monkeypatch.setattr(KeyedStreams, "reader", lambda self, purpose, step: straight(self, purpose, 0))
    streams = KeyedStreams(KEY)
    assert long_run.words_run(streams, 2**20)[0].rung
    assert "successive steps" in long_run.normals_run(streams, 10**6)[0].rung
    assert any(name.startswith("twice") for name in long_run.coins_run(streams, 2 * 10**6)[0].rung)


def test_keys_that_are_ignored_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyedStreams, "normals", lambda *_: np.linspace(-2.0, 2.0, long_run.LENGTH))
    assert long_run.keys_run(KEY, 10**6)[0].rung


def test_the_committed_long_run_rang_nowhere_over_a_hundred_million_numbers() -> None:
    document = json.loads(RESULTS.read_text())
    assert all(part["rung"] == [] for part in document["parts"].values())
    assert document["parts"]["gradient_noise"]["numbers"] >= 10**8
    assert document["parts"]["words"]["words"] >= 10**8
    assert document["false_alarm"] <= 1e-6
    assert document["machine"]["date"]
