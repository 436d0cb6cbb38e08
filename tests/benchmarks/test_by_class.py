import json
from unittest.mock import patch

import numpy as np
import pytest

from benchmarks.datasets import HERE, Table
from benchmarks.idpgan.by_class import cell, real
from benchmarks.publishing import rows_of
from benchmarks.tables.repeated_values import equal_ranks
from core.plan.domain.table import TableDomain


def hands(count: int) -> np.ndarray:
    """Hands of five cards drawn one by one; the class is whether two ranks are equal."""
    rng = np.random.default_rng(0)
    codes = np.empty((count, 11), dtype=np.int16)
    codes[:, :10:2], codes[:, 1:10:2] = rng.integers(0, 4, (count, 5)), rng.integers(0, 13, (count, 5))
    ordered = np.sort(codes[:, 1:10:2], axis=1)
    codes[:, 10] = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    return codes


@pytest.fixture
def table() -> Table:
    domain = TableDomain.from_json(json.loads((HERE / "domains" / "poker.json").read_text()))
    codes = hands(3000)
    return Table(domain=domain, train=rows_of(domain, codes[:2000], 0), test=rows_of(domain, codes[2000:], 0))


def test_equal_ranks_are_counted_over_all_pairs_of_places():
    codes = np.zeros((2, 11), dtype=np.int16)
    codes[:, 1:10:2] = [[3, 3, 5, 6, 7], [1, 1, 1, 1, 1]]
    codes[1, 10] = 1
    assert equal_ranks(codes, 0) == pytest.approx(0.1)
    assert equal_ranks(codes, 1) == 1.0


@pytest.mark.long
def test_an_arm_counts_by_class_where_the_rule_does_not_and_its_targets_tell_the_classes_apart(table):
    with patch("core.plan.defaults.MIXTURE_STEPS", 2), patch("benchmarks.idpgan.by_class.SAMPLED_ROWS", 2000):
        by_rule, by_class, of_all = (cell(table, 40.0, arm, 0) for arm in ("rule", "class", "all"))
    assert not by_rule["counted_by_class"]
    assert by_class["counted_by_class"]
    assert of_all["counted_by_class"]
    assert of_all["rank_pairs_counted"] == 10
    assert by_rule["targets_nothing"] == by_rule["targets_one_pair"]
    assert of_all["targets_nothing"] < 0.6 * of_all["targets_one_pair"]


def test_real_hands_without_a_pair_have_no_equal_ranks(table):
    scores = real(table)
    assert scores["drawn_nothing"] == 0.0
    assert scores["drawn_one_pair"] > 0.1
