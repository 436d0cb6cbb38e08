"""The split: each unit by its own coin, whole units, and nothing that moves when a unit comes or goes."""

import numpy as np
import pytest
from scipy import stats

from models.encoding import PrivateImages, PrivateTable
from models.selection.split import first_records, part_of, part_of_unit
from tests.models.coded_tables import small_table, streams, without_unit

FALSE_ALARM = 1e-7


@pytest.mark.parametrize("parts", [3, 4, 33])
def test_units_fall_into_parts_uniformly_and_independently(parts: int) -> None:
    part = part_of_unit(60_000, parts=parts, streams=streams())

    side = FALSE_ALARM / (2 * 3 * 2 * parts)
    counts = np.bincount(part, minlength=parts)
    assert counts.size == parts
    low, high = stats.binom.ppf([side, 1 - side], part.size, 1 / parts)
    assert ((low <= counts) & (counts <= high)).all()
    # Neighbours share a part as often as chance has it.
    alike = int((part[::2] == part[1::2]).sum())
    low, high = stats.binom.ppf([side, 1 - side], part.size // 2, 1 / parts)
    assert low <= alike <= high


def test_parts_are_not_made_equal() -> None:
    """Equal sizes would mean that units depend on each other: one more would move others between parts."""
    sizes = [np.bincount(part_of_unit(900, parts=3, streams=streams(n)), minlength=3) for n in range(200)]

    # Binomial(900, 1/3) has deviation 14.1; within 300 +- 2 for all of 200 keys is below 1e-100.
    assert np.std([size[0] for size in sizes]) > 7
    assert len({int(size[0]) for size in sizes}) > 10


def test_one_unit_more_changes_one_part_and_moves_nobody() -> None:
    table = small_table(records=500, units=200)
    last = table.units - 1
    neighbour = without_unit(table, last)

    part = part_of_unit(table.units, parts=4, streams=streams())
    fewer = part_of_unit(neighbour.units, parts=4, streams=streams())

    assert (part[:last] == fewer).all()
    for number in range(4):
        one, other = part_of(table, part == number), part_of(neighbour, fewer == number)
        same = one.codes.shape == other.codes.shape and bool((one.codes == other.codes).all())
        assert same == (number != part[last])


def test_parts_hold_whole_units_each_once_and_number_them_anew() -> None:
    table = small_table(records=600, units=150, seed=4)
    part = part_of_unit(table.units, parts=3, streams=streams(2))

    parts = [part_of(table, part == number) for number in range(3)]

    assert sum(len(one.codes) for one in parts) == len(table.codes)
    assert sum(one.units for one in parts) == table.units
    for number, one in enumerate(parts):
        assert isinstance(one, PrivateTable)
        assert (np.unique(one.unit_of_record) == np.arange(one.units)).all()
        wanted = table.codes[part[table.unit_of_record] == number]
        assert (one.codes == wanted).all()
        assert (one.cardinalities, one.target_index) == (table.cardinalities, table.target_index)


def test_images_are_split_alike_and_a_part_may_be_empty() -> None:
    rng = np.random.default_rng(0)
    images = PrivateImages(
        pixels=rng.integers(0, 256, (40, 4, 4, 1), dtype=np.uint8),
        labels=rng.integers(0, 3, 40).astype(np.int16),
        unit_of_record=np.repeat(np.arange(20), 2),
        classes=3,
    )

    some = part_of(images, np.arange(20) % 2 == 0)
    none = part_of(images, np.zeros(20, dtype=np.bool_))

    assert some.units == 10
    assert (some.labels == images.labels[images.unit_of_record % 2 == 0]).all()
    assert (some.pixels == images.pixels[images.unit_of_record % 2 == 0]).all()
    assert (none.units, none.shape, none.classes) == (0, (4, 4, 1), 3)


def test_no_units_have_no_parts() -> None:
    assert part_of_unit(0, parts=3, streams=streams()).size == 0


def test_a_unit_counts_by_its_first_record() -> None:
    assert first_records(np.asarray([1, 0, 1, 2, 0, 2])).tolist() == [1, 0, 3]
