"""An address of the keyed stream serves one draw: noise that is used twice hides nothing."""

from collections import Counter

import pytest

from models import randomness
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import Purpose
from models.synthesizer import NullHost
from tests.models.idpgan.jobs import small_plan
from tests.models.tables import small_table, streams

OPTIONS = {
    "anchor": {"critic": False},
    "label histogram, critic and adaptive thresholds": {
        "anchor": False, "acts": True, "acts_interval": 3, "grouping": "layers",
    },
}  # fmt: skip


EXPECTED = {
    "anchor": {"ANCHOR_NOISE"},
    "label histogram, critic and adaptive thresholds": {
        "LABEL_NOISE", "POISSON", "RECORD_CHOICE", "GRADIENT_NOISE", "ACTS_NOISE",
    },
}  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS)
def test_no_two_draws_of_a_job_share_an_address(options, monkeypatch):
    opened: Counter[tuple[str, int]] = Counter()
    # private: every stream is opened by its nonce, and no public call sees all of them
    nonce = randomness._nonce

    def noting(purpose: Purpose, step: int) -> bytes:
        opened[purpose.name, step] += 1
        return nonce(purpose, step)

    # private: an address of noise shows nowhere else
    monkeypatch.setattr(randomness, "_nonce", noting)
    rows = small_table()
    IdpganSynthesizer().fit(rows, small_plan(rows, **OPTIONS[options]), streams(), NullHost())
    # Ties of coins and redraws continue their stream by opening it again; they come once in 2^40 words.
    assert [address for address, times in opened.items() if times > 1] == []
    assert {purpose for purpose, _ in opened} >= EXPECTED[options]
