import numpy as np
import pytest

from benchmarks.publishing import rows_of
from benchmarks.tables.scores import auroc, distances, train_and_test, variation
from benchmarks.tables.sources import Split
from core.plan.domain.table import TableDomain

SIZES = (4, 2, 3)
DOMAIN = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": "answer",
        "columns": [
            {
                "name": "size",
                "kind": "numeric",
                "type": "integer",
                "lower": 0,
                "upper": 2,
                "null": "category",
            },
            {"name": "colour", "kind": "categorical", "categories": ["red", "green"]},
            {"name": "answer", "kind": "categorical", "categories": ["low", "middle", "high"]},
        ],
    }
)


def codes(rows: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    size = rng.integers(0, 4, rows)
    return np.column_stack([size, rng.integers(0, 2, rows), np.where(size == 3, 0, size)]).astype(np.int16)


def table() -> Split:
    return Split(domain=DOMAIN, train=rows_of(DOMAIN, codes(500), 0), test=rows_of(DOMAIN, codes(300, 1), 0))


def test_a_table_has_no_distance_to_itself_and_none_to_its_rows_in_another_order():
    found = distances(codes(200), codes(200)[::-1], SIZES, target=2)
    assert found == {"one_way": 0, "two_way": 0, "three_way": 0, "target_pairs": 0, "k_marginal": 1000}


def test_distances_by_hand():
    made, real = np.array([[0, 0, 0], [1, 1, 1]]), np.array([[0, 1, 0], [1, 0, 1]])
    assert variation(made, real, (2, 2, 2), (0, 1)) == 1.0
    found = distances(made, real, (2, 2, 2), target=2)
    assert found["one_way"] == 0.0
    assert found["two_way"] == pytest.approx(2 / 3)  # columns 0 and 2 are as they were
    assert found["three_way"] == 1.0
    assert found["target_pairs"] == 0.5
    assert found["k_marginal"] == 0.0


def test_rows_that_tell_the_answer_train_classifiers_that_do():
    found = train_and_test(table(), codes(500), seed=0)
    assert found["auroc_trees"] == found["balanced_accuracy_trees"] == pytest.approx(1.0)
    # A missing size, -1 to the classifiers, answers as 0 does, so the classes are in order.
    assert found["auroc_logistic"] > 0.9


def test_rows_of_one_class_train_nothing():
    made = codes(500)
    made[:, 2] = 1
    found = train_and_test(table(), made, seed=0)
    assert found["auroc_trees"] == found["auroc_logistic"] == 0.5
    assert found["balanced_accuracy_trees"] == pytest.approx(1 / 3)


def test_a_class_with_one_synthetic_row_is_left_out():
    made = codes(500)[codes(500)[:, 2] < 2]
    made[0, 2] = 2
    found = train_and_test(table(), made, seed=0)
    assert found["balanced_accuracy_trees"] == pytest.approx(2 / 3)


def test_the_area_of_several_classes_is_the_mean_over_those_that_occur():
    distribution = np.array([[0.8, 0.1, 0.1, 0], [0.1, 0.8, 0.1, 0], [0.2, 0.7, 0.1, 0], [0.1, 0.6, 0.3, 0]])
    truth = np.array([0, 1, 0, 2])
    assert auroc(distribution, truth) == pytest.approx(1.0)
    assert auroc(distribution[[1, 0, 2, 3]], truth) < 1.0
