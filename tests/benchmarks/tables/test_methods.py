import itertools
import subprocess
import sys
from functools import partial
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest

from benchmarks.results_file import merge
from benchmarks.tables import __main__ as command
from benchmarks.tables import methods
from benchmarks.tables.methods import METHODS, ROOT, make
from benchmarks.tables.peers.marginals import counts_of, megabytes, nearest
from benchmarks.tables.peers.merging import merged, unmerged
from benchmarks.tables.sources import SIZES, SOURCES
from benchmarks.tables.task import Task


def task(rows: int = 3000, epsilon: float = 1.0, seed: int = 0) -> Task:
    rng = np.random.default_rng(7)
    first = rng.choice(5, rows, p=[0.5, 0.3, 0.15, 0.05, 0])
    codes = np.column_stack([first, (first + rng.integers(0, 2, rows)) % 3, rng.integers(0, 2, rows)])
    return Task(
        codes=codes.astype(np.int16),
        cardinalities=(5, 3, 2),
        target=2,
        ordered=(False, False, False),
        epsilon=epsilon,
        delta=1e-6,
        seed=seed,
    )


def test_the_registry_names_every_method():
    assert tuple(METHODS) == ("understudy", "aim", "mst", "swift", "independent", "real")


def test_real_is_the_training_rows():
    asked = task()
    assert np.array_equal(make("real", asked).codes, asked.codes)


def test_independent_columns_keep_one_way_counts_within_their_noise_and_no_pair():
    asked = task()
    made = make("independent", asked)
    assert made.cpu_seconds >= 0
    # Noise of deviation sqrt(3) / mu, about 8 rows, and drawing of 3,000 rows: seven deviations.
    for column, cells in enumerate(asked.cardinalities):
        counts = [np.bincount(codes[:, column], minlength=cells) for codes in (made.codes, asked.codes)]
        assert np.abs(counts[0] - counts[1]).max() < 250
    pair = counts_of(made.codes.astype(np.int64), asked.cardinalities, (0, 1))
    expected = np.outer(pair.sum(axis=1), pair.sum(axis=0)) / pair.sum()
    assert np.abs(pair - expected).max() < 150
    assert np.abs(counts_of(asked.codes.astype(np.int64), asked.cardinalities, (0, 1)) - expected).max() > 150


def test_less_budget_is_more_noise_and_a_seed_repeats():
    far, near = make("independent", task(epsilon=0.001)), make("independent", task(epsilon=100.0))
    real = np.bincount(task().codes[:, 0], minlength=5)
    errors = [np.abs(np.bincount(made.codes[:, 0], minlength=5) - real).sum() for made in (far, near)]
    assert errors[0] > 3 * errors[1]
    assert np.array_equal(make("independent", task()).codes, make("independent", task()).codes)
    assert not np.array_equal(make("independent", task()).codes, make("independent", task(seed=1)).codes)


def test_the_environment_of_the_peers_has_what_their_modules_import():
    listed = (ROOT / "benchmarks" / "tables" / "requirements-peers.txt").read_text()
    required = {line.partition("==")[0].replace("_", "-") for line in listed.splitlines() if "==" in line}
    absent = [
        name
        for name, providers in packages_distributions().items()
        if not {one.replace("_", "-") for one in providers} & required and not (ROOT / name).exists()
    ]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import benchmarks.tables.peers.merging"
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_a_missing_environment_of_the_peers_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(methods, "PEERS", Path(tmp_path))
    with pytest.raises(RuntimeError, match=r"make build/peers/\.installed"):
        make("aim", task())


def test_nearest_counts_are_shares_of_the_total():
    assert nearest(np.array([5.0, 3.0, -2.0]), 6.0) == pytest.approx([4.0, 2.0, 0.0])
    assert nearest(np.array([1.0, 2.0]), 3.0) == pytest.approx([1.0, 2.0])


def test_the_size_of_a_model_is_that_of_its_junction_tree():
    sizes = (10, 20, 30, 40)
    cells = 8 / 2**20
    assert megabytes([(0,), (1,), (2,), (3,)], sizes) == pytest.approx(100 * cells)
    assert megabytes([(0, 1), (1, 2), (2, 3), (0,)], sizes) == pytest.approx((200 + 600 + 1200) * cells)
    # A cycle of four needs a chord: two tables of three columns, the cheaper way round.
    assert megabytes([(0, 1), (1, 2), (2, 3), (0, 3)], sizes) == pytest.approx(
        (20 * 30 * 10 + 30 * 40 * 10) * cells
    )


def test_merged_codes_come_back_as_one_of_those_that_were_merged():
    merging = merged(np.array([True, False, True, False]))
    assert merging.tolist() == [0, 2, 1, 2]
    made = unmerged(merging, np.array([0, 1, 2] * 200), np.random.default_rng(0))
    assert set(made[0::3]) == {0}
    assert set(made[1::3]) == {2}
    assert set(made[2::3]) == {1, 3}


def test_all_makes_what_the_results_lack(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(command, "RESULTS", tmp_path)
    monkeypatch.setattr(command, "merge", partial(merge, folder=tmp_path))
    asked: list[tuple] = []

    def cell(table, size, epsilon, method, seed, **_):
        asked.append((table, size, method, seed))
        return {"table": table}

    monkeypatch.setattr(command, "cell", cell)
    arguments = ["tables", "--all", "--table", "taxi", "--epsilon", "1", "--seed", "0"]
    arguments += ["--method", "real", "mst"]
    monkeypatch.setattr("sys.argv", arguments)
    command.main()
    # The taxi table has 5,147 training rows: no sample of 10,000.
    assert asked == [
        ("taxi", size, method, 0) for size in ("full", "500", "2000") for method in ("real", "mst")
    ]
    asked.clear()
    monkeypatch.setattr("sys.argv", [*arguments[:-2], "real", "independent"])
    command.main()
    assert [method for _, _, method, _ in asked] == ["independent"] * 3
    assert len(command.known()) == 9
    capsys.readouterr()


def test_every_cell_has_a_name_of_its_own():
    cells = list(itertools.product(SOURCES, SIZES, (0.5, 1.0), METHODS, (0, 1)))
    assert len({command.key_of(*cell) for cell in cells}) == len(cells)
