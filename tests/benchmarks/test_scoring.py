import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from benchmarks.datasets import HERE
from benchmarks.publishing import rows_of
from benchmarks.results_file import merge, rounded
from benchmarks.scoring import distances, independent, majority, train_and_test
from core.plan.domain.table import TableDomain

DOMAIN = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": "answer",
        "columns": [
            {"name": "size", "kind": "numeric", "type": "integer", "lower": 0, "upper": 3},
            {"name": "colour", "kind": "categorical", "categories": ["red", "green"]},
            {"name": "answer", "kind": "categorical", "categories": ["no", "yes"]},
        ],
    }
)


def codes(rows: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    size, colour = rng.integers(0, 4, rows), rng.integers(0, 2, rows)
    answer = (size >= 2).astype(int)
    return np.column_stack([size, colour, answer]).astype(np.int16)


def test_a_table_scores_perfectly_on_itself_and_worst_on_its_opposite():
    rows = rows_of(DOMAIN, codes(2000), 0)
    perfect = train_and_test(DOMAIN, rows, rows)
    assert perfect["auroc_trees"] == perfect["auroc_logistic"] == pytest.approx(1.0)
    opposite = codes(2000)
    opposite[:, 2] = 1 - opposite[:, 2]
    wrong = train_and_test(DOMAIN, rows_of(DOMAIN, opposite, 0), rows)
    assert wrong["auroc_trees"] == wrong["accuracy_logistic"] == pytest.approx(0.0)


def test_the_majority_class_is_answered_with_its_share():
    rows = rows_of(DOMAIN, np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 1, 1]], dtype=np.int16), 0)
    assert majority(DOMAIN, rows, rows)["accuracy"] == 0.75


def test_distances_are_zero_to_oneself_and_exact_by_hand():
    one = np.array([[0, 0], [1, 1]])
    other = np.array([[0, 1], [1, 0]])
    assert distances(one, one, (2, 2)) == {"one_way": 0.0, "two_way": 0.0}
    assert distances(one, other, (2, 2)) == {"one_way": 0.0, "two_way": 1.0}
    assert distances(np.array([[0, 0]]), np.array([[1, 1]]), (2, 2))["one_way"] == 1.0


def test_independent_columns_keep_the_one_way_counts_alone():
    real = codes(2000)
    made = distances(independent(real, 0), real, DOMAIN.cardinalities)
    assert made["one_way"] == 0.0
    assert made["two_way"] > 0.1


@pytest.mark.parametrize("name", ["adult", "poker"])
def test_the_domains_of_the_benchmarks_are_valid_and_have_a_target(name):
    domain = TableDomain.from_json(json.loads((HERE / "domains" / f"{name}.json").read_text()))
    assert domain.target_index is not None
    assert domain.cells < 300


def test_results_are_merged_run_by_run(tmp_path):
    merge("table", kind="runs", key="b", entry={"score": 1}, folder=tmp_path)
    merge("table", kind="runs", key="a", entry={"score": 2}, folder=tmp_path)
    merge("table", kind="runs", key="b", entry={"score": 3}, folder=tmp_path)
    document = merge("table", kind="baselines", key="real", entry={"score": 4}, folder=tmp_path)
    runs = {"baselines": {"real": {"score": 4}}, "runs": {"a": {"score": 2}, "b": {"score": 3}}}
    assert document == runs | {"machine": document["machine"]}
    assert document["machine"]["cores"] >= 1
    assert json.loads((tmp_path / "table.json").read_text()) == document


def test_runs_side_by_side_lose_no_entry(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(
            pool.map(
                lambda n: merge("table", kind="runs", key=str(n), entry={"n": n}, folder=tmp_path), range(40)
            )
        )
    runs = json.loads((tmp_path / "table.json").read_text())["runs"]
    assert {int(key) for key in runs} == set(range(40))


def test_only_floats_are_rounded():
    assert rounded({"a": 0.123456789, "b": 3, "c": "x"}) == {"a": 0.12346, "b": 3, "c": "x"}


def test_a_class_of_which_one_row_was_made_is_left_out_of_the_training():
    answers = {"name": "answer", "kind": "categorical", "categories": ["no", "yes", "seldom"]}
    columns = [*DOMAIN.to_json()["columns"][:2], answers]
    domain = TableDomain.from_json(DOMAIN.to_json() | {"columns": columns})
    made = codes(10_100)  # enough for the trees to set rows of every class apart
    made[0, 2] = 2
    scores = train_and_test(domain, rows_of(domain, made, 0), rows_of(domain, codes(500), 0))
    assert scores["accuracy_trees"] == scores["accuracy_logistic"] == pytest.approx(1.0)
