"""Bounds, bins and special values of a draft keep the ends and the heaps of numbers, and the note says what they cost."""

import numpy as np
import pyarrow as pa
import pytest

from core.plan.domain.table import TableDomain
from models.learnt_domains.crowded_bins import UNEVEN
from tests.understudy.drafts.test_tables import column, confirmed
from understudy.drafts.bin_costs import TOLERATED_UNEVEN
from understudy.drafts.categories import NOTE
from understudy.drafts.tables import draft_frame
from understudy.table_files import MARK

ROWS = 6000


def _drafted(numbers: np.ndarray) -> dict:
    ward = np.arange(len(numbers)) % 7 + 0.5
    return column(draft_frame(pa.table({"measured": numbers, "ward": ward})), "measured")


def _rng() -> np.random.Generator:
    return np.random.default_rng(6)


def test_skewed_numbers_have_bins_of_equal_ratio_because_noise_fills_the_end_of_even_ones() -> None:
    pay = np.round(np.exp(_rng().normal(7.6, 0.6, ROWS)), 2)
    found = _drafted(pay)
    assert len(found["edges"]) == 25
    assert "5, 95 and 99 % of the rows lie below " in found[NOTE]
    assert ", with even bins " in found[NOTE]


def test_a_few_frequent_values_of_many_are_special_and_the_note_says_that_they_become_public() -> None:
    rng = _rng()
    tags = np.array([9.95, 14.5, 19.95, 24.5])
    paid = np.where(rng.random(ROWS) < 0.6, rng.choice(tags, ROWS), np.round(rng.gamma(3, 7, ROWS) + 1, 2))
    found = _drafted(paid)
    assert found["specials"] == list(tags)
    assert "specials" in found[MARK]
    assert "4 values of 60 % of the rows would be lost in bins" in found[NOTE]
    assert "become public" in found[NOTE]


def test_a_value_of_a_twentieth_of_the_rows_has_a_code_where_bins_lose_it() -> None:
    """Of even bins each loses its heap: a fee of 9.99 comes back as amounts between 9 and 16."""
    rng = _rng()
    fee = np.round(rng.gamma(3, 20, ROWS) + 1, 2)
    draw = rng.random(ROWS)
    found = _drafted(np.where(draw < 0.12, 9.99, np.where(draw < 0.14, 45, fee)))
    assert found["specials"] == [9.99], "one in fifty rows is too few beside no others"
    assert "specials" in found[MARK]
    assert "1 value of 12 % of the rows would be lost in bins" in found[NOTE]


@pytest.mark.parametrize("heap", [6.907755, 123_456.0])
def test_such_a_value_may_have_more_than_four_digits(heap: float) -> None:
    """Spreads are counted in rounded numbers; the code is of the number that the rows have."""
    rng = _rng()
    others = np.round(rng.gamma(3, heap / 6, ROWS) + heap / 100, 6 if heap < 10 else 0)
    found = _drafted(np.where(rng.random(ROWS) < 0.12, heap, others))
    assert found["specials"] == [heap]
    assert "1 value of 12 % of the rows would be lost in bins" in found[NOTE]


@pytest.mark.parametrize(("many", "coded"), [(200, [0, 10]), (199, [0])])
def test_such_a_value_has_two_hundred_rows_however_few_have_others(many: int, coded: list[int]) -> None:
    """With fewer rows its code adds more noise to pairs than it keeps of them."""
    others = np.delete(np.arange(1, 101), 39) / 4
    hours = np.concatenate([np.tile(others, 5), np.zeros(450), np.full(many, 10.0)])
    found = _drafted(_rng().permutation(hours))
    assert found["specials"] == coded
    assert ("1 value of 17 % of the rows would be lost in bins: it has a code of its own" in found[NOTE]) == (
        len(coded) > 1
    )


@pytest.mark.parametrize("errors", [[1240, 13], [9999], [5, 7000]])
def test_a_few_typing_errors_set_no_bound(errors: list[int]) -> None:
    rng = _rng()
    pressure = np.clip(rng.normal(130, 15, ROWS), 80, 210).astype(int)
    wrong = rng.random(ROWS) < 0.006
    found = _drafted(np.where(wrong, rng.choice(errors, ROWS), pressure))
    assert 60 <= found["lower"] <= 100
    assert 170 <= found["upper"] <= 250
    assert "bins" not in found
    assert "Bounds cover all but 0." in found[NOTE]
    assert "far beyond the rest, like typing errors" in found[NOTE]


def test_a_long_tail_is_no_error() -> None:
    found = _drafted(np.round(np.exp(_rng().normal(5, 1.1, ROWS)), 1))
    assert found["upper"] > 3000
    assert "edges" in found


@pytest.mark.parametrize(
    "numbers",
    [
        np.round(_rng().normal(27, 4, ROWS), 1),
        _rng().triangular(18, 45, 95, ROWS).astype(int),
        np.round(_rng().uniform(0, 500, ROWS), 2),
    ],
    ids=["bell", "ages", "even"],
)
def test_numbers_without_tails_or_heaps_keep_even_bins(numbers: np.ndarray) -> None:
    found = _drafted(numbers)
    assert not found.keys() & {"spacing", "bins", "specials"}


def test_small_counts_are_no_heaps() -> None:
    found = _drafted(_rng().geometric(0.15, ROWS) - 1)
    assert "specials" not in found
    assert found.get("spacing") == "log" or found["upper"] < 32


def test_a_short_table_has_too_few_rows_in_its_ends_to_choose_bins_by_them() -> None:
    assert "spacing" not in _drafted(np.round(np.exp(_rng().normal(7.6, 0.6, 400)), 2))


def test_each_price_of_a_list_has_a_code_of_its_own() -> None:
    rng = _rng()
    prices = np.array([0, 1.5, 2.5, 3, 4, 4.5, 5.5, 6, 7, 8.5, 10, 11.5, 13])
    shares = np.array([540, 150, 75, 65, 75, 20, 44, 5, 19, 6, 5, 4, 4])
    fare = rng.choice(prices, ROWS, p=shares / shares.sum())
    fare[:9] = 14.5
    found = _drafted(fare)
    assert (found["specials"], found["bins"]) == (prices.tolist(), 1)
    assert "Few values, each with a code of its own" in found[NOTE]
    assert "bins" not in _drafted(fare[:900]), "too few rows for so many codes"


@pytest.mark.parametrize("step", [1, 3])
def test_numbers_that_fill_their_range_are_no_list(step: int) -> None:
    falling = np.minimum(_rng().geometric(0.12, ROWS), 24) * step + 20
    found = _drafted(np.where(np.arange(ROWS) % 300, falling, 20 + 40 * step))
    assert ("specials" in found) == (step == 3)


def test_no_single_value_sets_a_bound() -> None:
    rng = _rng()
    pulse = np.clip(rng.normal(80, 12, ROWS), 45, 119).astype(int)
    ordinary, high, low = _drafted(pulse), pulse.copy(), pulse.copy()
    high[0], low[0] = 138, 21
    assert _drafted(high)["upper"] == _drafted(pulse)["upper"]
    assert _drafted(low)["lower"] == ordinary["lower"]
    high[1] = 138
    assert _drafted(high)["upper"] >= 138, "two rows do"
    children = rng.integers(0, 9, ROWS)
    children[0] = 11
    assert _drafted(children)["upper"] == 8, "nor where each number has a bin"
    few = np.append(rng.integers(0, 9, 98), [12])
    assert _drafted(few)["upper"] == 12, "the draft warns of few rows"


def test_no_single_unit_sets_a_bound() -> None:
    rng = _rng()
    patient = np.repeat(np.arange(ROWS // 10), 10)
    pulse = np.clip(rng.normal(80, 12, ROWS), 45, 119).astype(float)
    pulse[:3], pulse[3:6], pulse[6] = [131.0, 135.0, 138.0], [21.0, 24.0, 30.0], np.nan
    table = {"patient_id": patient, "pulse": pulse}
    draft = draft_frame(pa.table(table))
    assert draft["privacy_unit"] == "patient_id"
    assert (column(draft, "pulse")["lower"], column(draft, "pulse")["upper"]) == (45, 120)
    pulse[10] = 138.0
    assert column(draft_frame(pa.table(table)), "pulse")["upper"] >= 138


def test_a_heap_at_an_end_is_a_special_value_and_no_bin_lies_beyond_it() -> None:
    rng = _rng()
    crp = np.round(np.maximum(rng.lognormal(0.5, 1.5, ROWS), 0.05), 2)
    crp[rng.random(ROWS) < 0.15] = 0.05
    found = _drafted(crp)
    assert found["specials"] == [0.05]
    assert found["lower"] == 0.05
    domain = TableDomain.from_json(
        confirmed(draft_frame(pa.table({"crp": crp, "ward": np.arange(ROWS) % 7 + 0.5})))
    )
    assert domain.modelled[0].bins.lows.min() >= 0.05
    score = np.round(np.clip(rng.normal(85, 20, ROWS), 0, 100), 1)
    found = _drafted(score)
    assert (found["specials"], found["upper"]) == ([100], 100)


@pytest.mark.parametrize(
    "numbers",
    [
        np.round(_rng().exponential(1.0, ROWS), 2),
        _rng().geometric(0.02, ROWS),
        np.round(_rng().uniform(0, 10, ROWS), 1),
        _rng().integers(0, 20, ROWS),
        np.full(ROWS, 7.5),
    ],
    ids=["exponential", "geometric", "even", "few", "constant"],
)
def test_an_end_that_is_as_frequent_as_its_neighbours_is_none(numbers: np.ndarray) -> None:
    assert "specials" not in _drafted(numbers)


def _income() -> np.ndarray:
    return np.round(np.exp(_rng().normal(10.8, 0.7, ROWS))).astype(int) + 500


def test_bins_of_amounts_far_above_one_have_equal_ratio() -> None:
    found = _drafted(_income())
    edges = found["edges"]
    assert (edges[0], edges[-1]) == (found["lower"], found["upper"])
    assert "edges" in found[MARK]
    assert "spacing" not in found
    ratios = np.array(edges[1:]) / edges[:-1]
    assert ratios.max() / ratios.min() < 1.02
    assert f"each edge is {100 * (ratios.mean() - 1):.0f} % above the one before" in found[NOTE]
    held = np.histogram(_income(), edges)[0]
    assert (held > 0).sum() >= 20, "of 32 from the lower bound on, 18 would have no row"


def test_bins_beside_many_zeros_have_equal_ratio_too() -> None:
    claims = np.where(_rng().random(ROWS) < 0.4, 0, _income())
    found = _drafted(claims)
    assert (found["specials"], found["lower"], found["edges"][0]) == ([0], 0, 0)
    assert 200 <= found["edges"][1] <= 5000


def test_counts_from_zero_on_keep_bins_that_widen_from_there() -> None:
    found = _drafted(_rng().geometric(0.02, ROWS) ** 2 - 1)
    assert found["spacing"] == "log"
    assert "edges" not in found
    assert "equal ratio" not in found[NOTE]


def test_notes_have_plain_numbers() -> None:
    found = _drafted(_income())
    assert "e+0" not in found[NOTE]
    assert "% of the rows lie below 1" in found[NOTE]


def test_numbers_keep_their_sign() -> None:
    """Even bins draw a bin that holds 0 evenly: small amounts above it would become debts."""
    rng = _rng()
    balance = np.where(rng.random(ROWS) < 0.12, rng.uniform(0, 400, ROWS), rng.uniform(-8000, 22000, ROWS))
    found = _drafted(np.round(balance, 2))
    assert found["bins"] == "learn"
    assert "flip the sign of 7 % of the rows" in found[NOTE]
    assert "bins" not in _drafted(np.round(rng.uniform(-8000, 22000, ROWS), 2))


def _of_three_kinds() -> np.ndarray:
    """Values of groups of different size, as results of a laboratory in long form are."""
    rng = _rng()
    sizes = rng.choice([12.0, 45.0, 400.0], ROWS, p=[0.6, 0.25, 0.15])
    return np.round(np.maximum(sizes * rng.normal(1, 0.22, ROWS), 0.1), 2)


def test_bins_keep_the_distribution_function_within_a_tenth() -> None:
    """Even bins kept its quartiles and tails, and spread the smallest group over twice its range."""
    values = _of_three_kinds()
    found = _drafted(values)
    assert {"edges", "spacing", "bins"} & found.keys()
    even = np.linspace(0, found["upper"], 33)
    drawn = np.interp(np.sort(values), even, np.append(0, np.histogram(values, even)[0].cumsum() / ROWS))
    assert np.abs(drawn - np.arange(ROWS) / ROWS).max() > TOLERATED_UNEVEN, "which even bins do not"


def test_the_tolerated_difference_is_that_of_a_training() -> None:
    assert TOLERATED_UNEVEN == UNEVEN
