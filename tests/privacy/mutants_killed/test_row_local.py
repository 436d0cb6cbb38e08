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
        ],
    }
)  # fmt: skip
ROWS = [
    "A,30,5.0,yes",
    "A,30,5.0,yes",
    "A,31,5.1,no",
    "B,50,7.5,no",
    "B,64,3.0,yes",
    "C,70,6.0,no",
    "nowhere,33,9.9,no",
    "C,-5,-1000,yes",
    "B,40,1e300,yes",
    "A,41,-inf,no",
    "A,,NaN,",
    "B,44,much,yes",
    "A,44,,no",
]


def coded(folder, rows: list[str]) -> PrivateTable:
    """The table that a training gets to see of uploaded rows."""
    folder.mkdir()
    store = open_store(folder.as_uri())
    store_rows(
        ["\n".join(["ward,age,dose,sick", *rows, ""]).encode()],
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
