import numpy as np
import pytest

from benchmarks.datasets import Table, load
from benchmarks.idpgan.inception import Judge, ceiling
from benchmarks.publishing import rows_of
from tests.benchmarks.test_scoring import DOMAIN, codes


def rows(values):
    return rows_of(DOMAIN, values, 0)


def test_rows_that_tell_their_class_score_the_ceiling_and_rows_of_one_class_score_one():
    table = Table(domain=DOMAIN, train=rows(codes(10)), test=rows(codes(2000)))
    judge = Judge(table)
    scores = judge.scores(table.test)
    assert scores["inception_ceiling"] == pytest.approx(2.0, abs=0.01)
    assert scores["inception_score"] == pytest.approx(2.0, abs=0.05)
    alike = np.array([[0, 0, 0]] * 100, dtype=np.int16)
    assert judge.scores(rows(alike))["inception_score"] == pytest.approx(1.0)


def test_the_ceiling_is_that_of_the_shares():
    quarter = rows(np.array([[0, 0, 0]] * 3 + [[3, 0, 1]], dtype=np.int16))
    entropy = -(0.75 * np.log(0.75) + 0.25 * np.log(0.25))
    assert ceiling(DOMAIN, quarter) == pytest.approx(np.exp(entropy))


@pytest.mark.real_data
def test_the_paper_s_score_of_real_hands_is_above_what_hands_can_score(real_data_folder):
    poker = load("poker")
    # The paper prints 4.43 for real hands; half of them are "nothing", two fifths "one pair".
    assert ceiling(poker.domain, poker.train) == pytest.approx(2.679, abs=0.001)
