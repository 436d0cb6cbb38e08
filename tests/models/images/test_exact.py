from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft

from models.images.exact import clipped, cosines, low_frequencies, nearest, unit_shares


@pytest.mark.parametrize(("height", "width", "channels"), [(9, 8, 1), (28, 28, 1), (12, 20, 3)])
def test_low_frequencies_are_those_of_the_cosine_transform(height, width, channels):
    pixels = np.random.default_rng(0).integers(0, 256, (5, height, width, channels)).astype(np.uint8)
    plain = fft.dctn(pixels / 255.0, axes=(1, 2), norm="ortho")[:, :6, :6].transpose(0, 3, 1, 2)
    made = low_frequencies(pixels, 6).reshape(plain.shape) / 2.0**12
    assert np.abs(made - plain).max() < 3e-3
    assert np.array_equal(made * 2.0**12, np.rint(made * 2.0**12)), "on the grid"


def test_the_largest_white_picture_stays_exact():
    pixels = np.full((2, 256, 256, 1), 255, dtype=np.uint8)
    exact = [[int(a) for a in row] for row in cosines(256, 2)]
    constant = 255 * sum(exact[0]) ** 2
    assert constant < 2**53
    assert low_frequencies(pixels, 2)[0, 0] == pytest.approx(256.0 * 2**12, rel=1e-4)


def test_a_record_has_the_same_numbers_whatever_stands_beside_it():
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 256, (67, 28, 28, 1)).astype(np.uint8)
    together = low_frequencies(pixels, 14)
    for first, last in ((0, 1), (3, 5), (60, 67)):
        assert np.array_equal(low_frequencies(pixels[first:last], 14), together[first:last])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    size=st.sampled_from([1e-3, 1.0, 30.0, 400.0]),
    bound=st.floats(0.1, 50.0),
    records=st.integers(1, 2000),
    lead=st.sampled_from([0.0, 0.7, 20.0]),
)
def test_clipping_never_exceeds_its_bound(seed, size, bound, records, lead):
    values = np.rint(np.random.default_rng(seed).normal(0.0, size * 2**12, (4, 30)))
    share = 1.0 / records
    short = clipped(values, bound, np.full(4, share), lead=lead)
    assert np.array_equal(short, np.rint(short))
    exact = [sum(int(x) ** 2 for x in row) for row in short]
    for square in exact:
        assert square * records <= (Fraction(lead) ** 2 + Fraction(bound) ** 2) * 2**20


def test_a_short_vector_is_not_clipped():
    values = np.array([[3.0 * 2**12, -4.0 * 2**12]])
    made = clipped(values, 6.0, np.ones(1)) / 2.0**10
    assert np.abs(made - [[3.0, -4.0]]).max() <= 2.0**-10


def test_a_long_vector_keeps_its_direction_and_has_the_norm_of_the_bound():
    values = np.array([[30.0 * 2**12, -40.0 * 2**12]])
    made = clipped(values, 5.0, np.ones(1)) / 2.0**10
    assert np.abs(made - [[3.0, -4.0]]).max() <= 2.0**-9


def test_the_nearest_centre_is_the_lowest_of_equals():
    centres = np.array([[4.0, 0.0], [0.0, 4.0], [-4.0, 0.0]])
    assert nearest(np.array([[5.0, 1.0], [0.0, 0.0], [-3.0, 1.0]]), centres).tolist() == [0, 0, 2]


def test_shares_of_a_unit_sum_to_one():
    units = np.array([0, 1, 1, 2, 2, 2])
    assert np.bincount(units, weights=unit_shares(units)) == pytest.approx([1.0, 1.0, 1.0])
    assert unit_shares(np.zeros(0, dtype=np.int64)).size == 0
