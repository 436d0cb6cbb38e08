"""The attacks: by hand on tiny tables, silent on a generator that knows the distribution, loud on one that knows records."""

import numpy as np
import pytest

from core.artifacts.reports.attacks import attack, copies
from core.artifacts.reports.columns import columns_of
from core.artifacts.reports.halves import Halves
from core.artifacts.reports.learning import MOST_ANSWERS, REST, learn
from core.plan.domain.table import TableDomain

COLUMNS = columns_of(
    TableDomain.from_json(
        {
            "schema": "understudy.domain/1",
            "target": None,
            "privacy_unit": None,
            "columns": [
                *(
                    {"name": f"n{index}", "kind": "numeric", "type": "integer", "lower": 0, "upper": 9}
                    for index in range(5)
                ),
                {"name": "word", "kind": "categorical", "categories": [f"w{index}" for index in range(14)]},
                {"name": "flag", "kind": "boolean"},
            ],
        }
    )
)


def distribution(rows, rng):
    """Numbers that hang together, a word that follows the first, a flag that follows the second."""
    base = rng.integers(0, 10, (rows, 1))
    numbers = np.clip(base + rng.integers(-3, 4, (rows, 5)), 0, 9)
    word = (numbers[:, :1] + rng.integers(0, 5, (rows, 1))) % 14
    flag = numbers[:, 1:2] > 4
    return np.hstack([numbers, word, flag]).astype(np.int16)


def halves_of(rng, rows=3000):
    return Halves(attacked=distribution(rows, rng), others=distribution(rows, rng))


def test_copies_by_hand():
    real = Halves(
        attacked=np.array([[0, 0], [1, 1]], dtype=np.int16), others=np.array([[0, 0], [2, 2]], dtype=np.int16)
    )
    synthetic = np.array([[1, 1], [0, 0], [5, 5], [5, 5]], dtype=np.int16)
    found = copies(real, synthetic, np.random.default_rng(0))
    assert (found.rows, found.synthetic, found.others) == (2, 1.0, 0.5)
    assert found.independent in {0.0, 0.5}


def test_of_independent_columns_nothing_is_guessed():
    """Many rows are equally near. Rounding that depends on the guessed value decided among them: 49 % right of a third."""
    rng = np.random.default_rng(1)

    def independent(rows):
        return np.stack([rng.integers(0, 10, rows), rng.integers(0, 3, rows)], axis=1).astype(np.int16)

    columns = (
        COLUMNS[0],
        columns_of(
            TableDomain.from_json(
                {
                    "schema": "understudy.domain/1",
                    "privacy_unit": None,
                    "columns": [{"name": "g", "kind": "categorical", "categories": ["a", "b", "c"]}],
                }
            )
        )[0],
    )
    real = Halves(attacked=independent(2500), others=independent(2500))
    found = attack(real, independent(5000), columns, rng, records=1000, rows=2500)
    # 1,000 records: a standard error of 0.015.
    assert found.inferences[1].synthetic == pytest.approx(1 / 3, abs=0.05)
    assert found.inferences[1].others == pytest.approx(1 / 3, abs=0.05)


def test_a_generator_that_knows_the_distribution_and_no_record_does_not_stand_out():
    rng = np.random.default_rng(4)
    found = attack(halves_of(rng), distribution(6000, rng), COLUMNS, rng, records=800, rows=3000)
    # 800 records: a standard error of 0.018, and the rows searched add about as much again; fixed seed.
    assert found.closeness.nearer == pytest.approx(0.5, abs=0.1)
    assert found.copies.synthetic == pytest.approx(found.copies.others, abs=0.02)
    assert all(abs(inference.excess) < 0.1 for inference in found.inferences)
    assert found.inferences[6].lead > 0.2, "the flag follows from a number: the distribution itself tells it"


def test_a_generator_that_repeats_records_is_caught():
    rng = np.random.default_rng(5)
    real = halves_of(rng)
    found = attack(real, real.attacked[::-1][:3000].copy(), COLUMNS, rng, records=800, rows=3000)
    assert found.closeness.nearer > 0.8
    assert found.closeness.synthetic[1] == 0.0
    assert found.copies.synthetic == 1.0
    assert found.copies.others < 0.5
    assert found.copies.independent < found.copies.others


def test_every_attack_is_the_same_again():
    made = distribution(500, np.random.default_rng(6))
    first, second = (
        attack(halves_of(np.random.default_rng(7), 400), made, COLUMNS, np.random.default_rng(8), records=50, rows=300)
        for _ in range(2)
    )  # fmt: skip
    assert first == second


def test_models_that_learn_from_the_distribution_are_as_good_as_from_records_and_noise_teaches_nothing():
    rng = np.random.default_rng(9)
    real, made = halves_of(rng, 500), distribution(500, rng)
    told = learn(real, made, COLUMNS, 6, rows=500)
    assert told is not None
    assert (told.answers, told.trained_rows, told.tested_rows) == (("false", "true"), 500, 500)
    for synthetic, records in zip(told.from_synthetic, told.from_real, strict=True):
        assert synthetic.accuracy == pytest.approx(records.accuracy, abs=0.1)
        assert synthetic.auroc is not None
        assert synthetic.auroc > 0.75
    shuffled = np.column_stack([rng.permutation(column) for column in made.T])
    noise = learn(real, shuffled, COLUMNS, 6, rows=500)
    assert noise is not None
    assert max(score.accuracy for score in noise.from_synthetic) < told.majority + 0.12


@pytest.mark.parametrize(("target", "answers"), [(5, MOST_ANSWERS), (0, 10)])
def test_questions_have_few_answers(target, answers):
    rng = np.random.default_rng(10)
    told = learn(halves_of(rng, 120), distribution(120, rng), COLUMNS, target, rows=120)
    assert told is not None
    assert len(told.answers) == answers
    assert (told.answers[-1] == REST) == (target == 5)


def test_there_is_nothing_to_learn_from_one_answer():
    rng = np.random.default_rng(11)
    made = distribution(100, rng)
    made[:, 6] = 0
    assert learn(halves_of(rng, 100), made, COLUMNS, 6, rows=100) is None
