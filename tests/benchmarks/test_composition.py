"""The committed comparison of ways to compose is what the program computes, and its bounds are in order."""

import json

import pytest

from benchmarks.idpgan.composition import RESULT, measured


def test_the_committed_result_is_recomputed_and_tighter_accountants_give_less():
    committed, fresh = json.loads(RESULT.read_text()), measured()
    for part in ("composed", "stated_by_004"):
        for old, new in zip(committed[part], fresh[part], strict=True):
            assert old == pytest.approx(new, abs=2e-3)
    for row in committed["composed"]:
        assert row["pld"] <= row["renyi"] <= row["moments"] < row["strong"]
    first = committed["stated_by_004"][0]
    assert (first["noise_multiplier"], first["steps"], first["stated"]) == (1.0, 1, 1.0)
    assert first["exact"] == pytest.approx(4.38, abs=5e-3)
    assert all(row["stated"] < row["exact"] for row in committed["stated_by_004"])
