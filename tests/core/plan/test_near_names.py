import tracemalloc

from core.plan.near_names import LONGEST, MOST, nearest


def test_the_nearest_name_is_found_and_a_far_one_is_not():
    assert nearest("numerc", ["categorical", "numeric"]) == "numeric"
    assert nearest("date", ["categorical", "numeric"]) is None
    assert nearest(7, ["7"]) is None


def test_long_and_many_names_of_a_stranger_cost_nothing():
    tracemalloc.start()
    assert nearest("n" * 4_000_000, ["numeric"]) is None
    assert nearest("n" * LONGEST, ["n" * 4_000_000, "n" * LONGEST]) == "n" * LONGEST
    read = iter(f"name {number}" for number in range(10**9))
    assert nearest("name 1", read) == "name 1"
    assert next(read) == f"name {MOST}"
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000
