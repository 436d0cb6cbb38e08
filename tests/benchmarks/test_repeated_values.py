import numpy as np

from benchmarks.tables.repeated_values import coded, uncoded, widened

CARDINALITIES, GROUPS = (4, 2, 4, 4), ((0, 2, 3),)


def drawn(rows: int = 500) -> np.ndarray:
    return np.random.default_rng(0).integers(0, CARDINALITIES, (rows, 4)).astype(np.int16)


def test_a_repeated_value_names_the_first_column_that_has_it() -> None:
    rows = np.array([[3, 0, 3, 3], [1, 1, 2, 2], [1, 0, 2, 1], [0, 1, 1, 2]], dtype=np.int16)
    assert coded(rows, CARDINALITIES, GROUPS).tolist() == [[3, 0, 4, 4], [1, 1, 2, 5], [1, 0, 2, 4], [0, 1, 1, 2]]  # fmt: skip
    assert widened(CARDINALITIES, GROUPS) == (4, 2, 5, 6)


def test_who_has_the_codes_has_the_row() -> None:
    rows = drawn()
    codes = coded(rows, CARDINALITIES, GROUPS)
    assert (codes < widened(CARDINALITIES, GROUPS)).all()
    back, again = uncoded(codes, CARDINALITIES, GROUPS, np.random.default_rng(1))
    assert np.array_equal(back, rows)
    assert again == 0


def test_a_value_that_is_coded_as_new_is_new_in_the_drawn_row() -> None:
    codes = np.random.default_rng(2).integers(0, (4, 2, 4, 4), (2000, 4)).astype(np.int16)
    back, again = uncoded(codes, CARDINALITIES, GROUPS, np.random.default_rng(3))
    group = back[:, [0, 2, 3]]
    assert all(len(set(row)) == 3 for row in group.tolist())
    # One of four for the second column, one of two for the third.
    assert 0.65 < again < 0.85
    assert np.array_equal(back[:, 1], codes[:, 1])


def test_a_value_drawn_again_follows_the_distribution_of_its_column() -> None:
    codes = np.zeros((9000, 4), dtype=np.int16)
    codes[:, 2] = np.repeat([0, 1, 1, 3, 3, 3, 0, 0, 0], 1000)
    codes[:, 3] = 5
    back, again = uncoded(codes, CARDINALITIES, GROUPS, np.random.default_rng(4))
    assert again == 4000 / 9000
    redrawn = back[codes[:, 2] == 0, 2]
    assert abs((redrawn == 3).mean() - 0.6) < 0.03
    assert np.array_equal(back[:, 3], back[:, 2])


def test_where_no_value_is_left_the_drawn_one_stays() -> None:
    codes = np.array([[0, 1, 1], [1, 0, 0]], dtype=np.int16)
    back, again = uncoded(codes, (2, 2, 2), ((0, 1, 2),), np.random.default_rng(5))
    assert np.array_equal(back, codes)
    assert again == 0
