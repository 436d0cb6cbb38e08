import itertools

import numpy as np
import pytest

from models.encoding import PrivateTable, block_starts, cells_of
from tests.models.coded_tables import small_table


def test_every_column_has_one_cell_in_its_block_and_it_tells_the_code():
    table = small_table()
    cells = cells_of(table.codes, table.cardinalities).numpy()
    assert cells.shape == table.codes.shape
    for column, (start, stop) in enumerate(itertools.pairwise(block_starts(table.cardinalities))):
        assert ((cells[:, column] >= start) & (cells[:, column] < stop)).all()
        assert (cells[:, column] - start == table.codes[:, column]).all()


def test_no_records_give_no_rows_of_cells():
    assert cells_of(np.zeros((0, 2), dtype=np.int16), (3, 4)).shape == (0, 2)


def test_units_are_counted_once_however_many_records_they_have():
    table = small_table(units=50)
    assert table.units == len(set(table.unit_of_record.tolist())) < len(table.codes)


@pytest.mark.parametrize("codes", [[[3, 0]], [[-1, 0]], [[0, 0, 0]]])
def test_codes_outside_the_declared_domain_are_refused(codes):
    with pytest.raises(AssertionError):
        PrivateTable(
            codes=np.array(codes, dtype=np.int16),
            unit_of_record=np.zeros(1, dtype=np.int64),
            cardinalities=(3, 4),
            target_index=None,
        )
