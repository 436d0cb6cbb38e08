"""Bounds, categories, scalers, types, nulls, order, duplicates: a row is cleaned and coded by looking at itself alone.

Another row, whatever it is and wherever it stands, moves none of the others' codes; so nothing of it is learnt from the table.
"""

import io
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.data.errors import NoAcceptableRows
from core.data.intake.intake import CSV, receive
from core.plan.domain.table import TableDomain
from models import coding
from models.coding import coded_table
from tests.privacy.leaks.table import DOMAIN

HEADER = "person,ward,dose,sick"
# Ordinary, extreme, beyond any bound, no number, infinite, missing, unreadable, of no category, quoted, a duplicate, refused.
ROWS = (
    "p1,A,1.0,yes", "p1,A,1.0,yes", "p2,B,10,no", "p3,A,1e308,yes", "p4,B,-1e308,no", "p5,A,NaN,yes", "p6,B,inf,no",
    "p7,A,-inf,yes", "p8,B,,no", "p9,A,much,yes", "p10,Zürich,5,no", 'p11,"A",5.000,yes', "p12,A,0x10,yes", "p13,A,5,perhaps",
    ",A,5,yes", "p14,,5,no", "p15,A,5,", "p16,b,5,no", "p17,A,00005,yes", "p18,A,4.9999999999999999,yes",
)  # fmt: skip


def coded(rows: list[str]) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """The codes of a table's accepted rows in their order, and how many codes each column has."""
    domain = TableDomain.from_json(DOMAIN)
    sink = io.BytesIO()
    try:
        content = "\n".join([HEADER, *rows, ""]).encode()
        receive([content], content_type=CSV, domain=domain, sink=sink, scratch_folder=Path("/nonexistent"))
    except NoAcceptableRows:
        return [], domain.cardinalities
    table = coded_table(pa.ipc.open_stream(sink.getvalue()), domain)
    assert table.codes.dtype == np.int16
    return [cast("tuple[int, ...]", tuple(row)) for row in table.codes.tolist()], tuple(table.cardinalities)


def test_a_table_is_coded_as_its_rows_one_by_one():
    alone = {row: coded([row]) for row in ROWS}

    @settings(max_examples=60, derandomize=True, deadline=None, report_multiple_bugs=False)
    @given(st.lists(st.sampled_from(ROWS), min_size=1, max_size=12))
    def is_coded_as_its_rows(rows):
        codes, cells = coded(rows)
        assert codes == [code for row in rows for code in alone[row][0]]
        assert {alone[row][1] for row in rows} == {cells}, "cells are declared"

    is_coded_as_its_rows()


def test_duplicates_stay_and_bad_values_are_cells_or_refused():
    codes, cells = coded(list(ROWS))
    assert len(codes) > len(set(codes)), "nothing is removed for being there twice"
    assert 0 < len(codes) < len(ROWS), "some rows are refused, by rules that look at them alone"
    assert all(0 <= code < count for row in codes for code, count in zip(row, cells, strict=True))


def test_a_scaler_that_looks_at_the_table_would_be_noticed(monkeypatch):
    real = coding.encode

    def scaled(domain, batch):
        codes = real(domain, batch)
        return (codes - codes.min(axis=0)).astype(np.int16)

    monkeypatch.setattr(coding, "encode", scaled)
    with pytest.raises(AssertionError):
        test_a_table_is_coded_as_its_rows_one_by_one()


def test_removing_duplicates_would_be_noticed(monkeypatch):
    real = coding.encode
    monkeypatch.setattr(coding, "encode", lambda domain, batch: np.unique(real(domain, batch), axis=0))
    with pytest.raises(AssertionError):
        test_a_table_is_coded_as_its_rows_one_by_one()
