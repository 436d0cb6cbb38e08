"""From an uploaded row to its codes nothing is learnt from other rows: every row is coded alone as among others."""

import numpy as np
import pytest

from core.data.intake.intake import CSV, store_rows
from core.data.objects import open_store
from core.data.private_rows import open_private_rows
from core.plan.domain.table import TableDomain
from models.coding import coded_table
from models.encoding import PrivateTable

DATA_KEY = bytes(range(32))
DOMAIN = TableDomain.from_json(
    {
        "schema": "understudy.domain/1",
        "target": "sick",
        "privacy_unit": None,
        "columns": [
            {"name": "ward", "kind": "categorical", "categories": ["A", "B", "C", "D"], "other": "elsewhere"},
            {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "null": "category"},
            {
                "name": "dose", "kind": "numeric", "type": "real", "lower": 0, "upper": 10, "bins": 8,
                "null": "category", "outside": "clamp", "infinite": "clamp", "unreadable": "null",
            },
            {"name": "sick", "kind": "boolean", "true": "yes", "false": "no", "null": "category"},
            {"name": "came", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "bins": 12, "null": "category"},
            {
                "name": "left", "kind": "date", "lower": "2020-01-01", "upper": "2021-01-31", "null": "category",
                "outside": "clamp", "difference": {"from": "came", "upper": 20},
            },
        ],
    }
)  # fmt: skip
ROWS = [
    "A,30,5.0,yes,2020-01-01,2020-01-01",
    "A,30,5.0,yes,2020-01-01,2020-01-01",
    "A,31,5.1,no,2020-03-30,2020-04-02",
    "B,50,7.5,no,2020-12-31,2021-01-04",
    "B,64,3.0,yes,2020-06-01,2020-06-30",
    "C,70,6.0,no,2020-06-01,",
    "nowhere,33,9.9,no,,",
    "C,-5,-1000,yes,,2020-06-05",
    "B,40,1e300,yes,2020-02-28,2020-03-01",
    "A,41,-inf,no,2020-05-05,2030-01-01",
    "A,,NaN,,2020-05-05,2020-05-12",
    "B,44,much,yes,2020-09-09,2020-09-10",
    "A,44,,no,2020-11-11,2020-11-11",
]


def coded(folder, rows: list[str]) -> PrivateTable:
    """The table that a training gets to see of uploaded rows."""
    folder.mkdir()
    store = open_store(folder.as_uri())
    store_rows(
        ["\n".join(["ward,age,dose,sick,came,left", *rows, ""]).encode()],
        content_type=CSV,
        domain=DOMAIN,
        store=store,
        key="rows",
        data_key=DATA_KEY,
        scratch_folder=folder / "scratch",
    )
    return coded_table(open_private_rows(store, "rows", DATA_KEY, DOMAIN), DOMAIN)


def test_a_row_has_the_same_codes_alone_and_among_others(tmp_path):
    together = coded(tmp_path / "all", ROWS).codes
    alone = [coded(tmp_path / str(number), [row]).codes[0] for number, row in enumerate(ROWS)]
    assert np.array_equal(together, np.array(alone))
    assert len(np.unique(together, axis=0)) > len(ROWS) / 2, "the rows differ, so the test could have failed"


def test_every_row_is_there_once_and_in_order(tmp_path):
    forward, back = coded(tmp_path / "a", ROWS), coded(tmp_path / "b", ROWS[::-1])
    assert len(forward.codes) == len(ROWS)
    assert np.array_equal(forward.codes, back.codes[::-1])


@pytest.mark.parametrize("rows", [ROWS[:1], ROWS])
def test_the_shape_of_a_table_is_declared(rows, tmp_path):
    table = coded(tmp_path / "some", rows)
    assert table.cardinalities == DOMAIN.cardinalities
    assert table.codes.shape[1] == len(DOMAIN.modelled)
    assert table.codes.dtype == np.int16
