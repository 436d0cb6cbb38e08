"""`counts.bin` from a stranger: read as it was written, or refused."""

import io
import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.asking.errors import NoCounts
from core.artifacts.bundle import unpack
from core.artifacts.counts import CountTable, ReleasedCounts, in_steps, step_for
from core.artifacts.errors import BundleInvalid
from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import certified
from tests.core.artifacts.stand_in import bundle

COUNTS = ReleasedCounts(
    cardinalities=(2, 3, 5),
    step=0.25,
    tables=(
        CountTable(columns=(1,), noise_std=2.0, cells=np.array([-5, 2**31 - 1, -(2**31)], dtype=np.int32)),
        CountTable(columns=(0,), noise_std=2.0, cells=np.array([1, 2], dtype=np.int32)),
        CountTable(columns=(0, 1, 2), noise_std=3.5, cells=np.arange(18, dtype=np.int32).reshape(2, 3, 3)),
        CountTable(columns=(2,), noise_std=4.5, cells=np.arange(5, dtype=np.int32)),
    ),
    groups=(np.arange(2), np.arange(3), np.array([1, 0, 1, 2, 1])),
)
PACKED = COUNTS.to_bytes()
LINE, _newline, BODY = PACKED.partition(b"\n")
HEAD = json.loads(LINE)


def same(one, other):
    assert (one.cardinalities, one.step) == (other.cardinalities, other.step)
    assert [groups.tolist() for groups in one.groups] == [groups.tolist() for groups in other.groups]
    for left, right in zip(one.tables, other.tables, strict=True):
        assert (left.columns, left.noise_std) == (right.columns, right.noise_std)
        assert np.array_equal(left.cells, right.cells)


def test_what_is_written_is_read_and_written_again():
    read = ReleasedCounts.from_bytes(PACKED)
    same(read, COUNTS)
    assert read.to_bytes() == PACKED


def test_cells_are_little_endian_numbers_of_four_bytes():
    assert BODY[:4] == (-5).to_bytes(4, "little", signed=True)
    assert len(BODY) == 4 * (3 + 2 + 2 * 3 * 3 + 5)


def test_a_column_is_counted_by_code_and_several_by_group():
    assert HEAD["merged"] == [None, None, [1, 0, 1, 2, 1]]
    assert COUNTS.group_counts == (2, 3, 3)
    (_, _, together, alone) = ReleasedCounts.from_bytes(PACKED).tables
    assert (together.cells.shape, alone.cells.shape) == ((2, 3, 3), (5,))


def test_counts_of_before_there_were_groups_are_read():
    whole = np.arange(30, dtype=np.int32)
    head = {name: HEAD[name] for name in ("cardinalities", "step")} | {
        "schema": "understudy.counts/1", "groups": [{"noise_std": 2.0, "tables": [[0, 1, 2]]}],
    }  # fmt: skip
    read = ReleasedCounts.from_bytes(json.dumps(head).encode() + b"\n" + whole.tobytes())
    assert read.group_counts == (2, 3, 5)
    assert np.array_equal(read.tables[0].cells, whole.reshape(2, 3, 5))
    with pytest.raises(BundleInvalid, match="version"):
        ReleasedCounts.from_bytes(
            json.dumps(head | {"merged": [None] * 3}).encode() + b"\n" + whole.tobytes()
        )


@pytest.mark.parametrize(
    "change", [{"merged": [None, None, [10**6, 0, 0, 0, 0]]}, {"cardinalities": [2, 3, 10**6]}]
)
def test_a_large_number_takes_no_room_before_it_is_refused(change):
    content = spelled(**({"merged": [None] * 3} | change))
    tracemalloc.start()
    with pytest.raises(BundleInvalid):
        ReleasedCounts.from_bytes(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**20


def spelled(**changes):
    return json.dumps(HEAD | changes).encode() + b"\n" + BODY


def group(**changes):
    return [HEAD["groups"][0] | changes, *HEAD["groups"][1:]]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        LINE,
        PACKED[:-1],
        PACKED + b"\0",
        b"[" * 10**5 + b"\n",
        b"9" * 5000 + b"\n",
        spelled(schema="understudy.counts/1"),
        spelled(schema="understudy.counts/3"),
        spelled(merged=None),
        spelled(merged=[None, None]),
        spelled(merged=[None, None, None]),
        spelled(merged=[None, None, [1, 0, 1, 2]]),
        spelled(merged=[None, None, [1, 0, 1, 3, 1]]),
        spelled(merged=[None, None, [2, 1, 2, 3, 2]]),
        spelled(merged=[None, None, [-1, 0, 1, 0, 1]]),
        spelled(merged=[None, None, [True, 0, 1, 2, 1]]),
        spelled(merged=[None, None, [1.0, 0, 1, 2, 1]]),
        spelled(merged=[None, None, []]),
        spelled(merged=[None, None, "10121"]),
        spelled(merged=[None, None, [1, 0, 1, 0, 1]]),
        spelled(merged=[[0, 0], None, [1, 0, 1, 2, 1]]),
        spelled(more=1),
        spelled(cardinalities=[]),
        spelled(cardinalities=[2, 3, True]),
        spelled(cardinalities=[2, 3, 0]),
        spelled(cardinalities=[2, 3, 10**30]),
        spelled(cardinalities="many"),
        spelled(step=float("nan")),
        spelled(step=float("inf")),
        spelled(step=0.0),
        spelled(step=-1.0),
        spelled(step=1),
        spelled(groups=None),
        spelled(groups=[]),
        spelled(groups=[1]),
        spelled(groups=group(noise_std=float("nan"))),
        spelled(groups=group(noise_std=1e-300)),
        spelled(groups=group(noise_std="2")),
        spelled(groups=group(tables=None)),
        spelled(groups=group(tables=[[]])),
        spelled(groups=group(tables=[[3]])),
        spelled(groups=group(tables=[[-1]])),
        spelled(groups=group(tables=[[1, 0]])),
        spelled(groups=group(tables=[[1, 1]])),
        spelled(groups=group(tables=[[0.0]])),
        spelled(groups=group(tables=[[1], [1]])),
        spelled(groups=group(tables=[[1], [0], [0, 1, 2, 3]])),
    ],
)
def test_anything_else_is_refused(content):
    with pytest.raises(BundleInvalid, match=r"counts\.bin"):
        ReleasedCounts.from_bytes(content)


@settings(max_examples=300)
@given(st.integers(0, len(PACKED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_refused_or_reads_as_counts_that_can_be_written(position, change):
    content = bytearray(PACKED)
    content[position] ^= change
    try:
        found = ReleasedCounts.from_bytes(bytes(content)).to_bytes()
    except BundleInvalid:
        return
    assert ReleasedCounts.from_bytes(found).to_bytes() == found


def test_the_step_is_fine_beside_the_noise_and_holds_the_declared_size():
    for noise_std, size in ((30.0, 10_000), (0.5, 10**9), (3.0, 10**6), (1e-6, 50)):
        step = step_for(smallest_std=noise_std, declared_size=size)
        assert np.log2(step) == round(np.log2(step))
        assert 8 * size / step < 2**31
        assert step <= noise_std / 512 or step <= 2 * size / 2**28
    assert in_steps(np.array([1e300, -1e300, 0.24]), 0.25).tolist() == [2**31 - 1, -(2**31), 1]


def test_a_bundle_carries_its_counts_and_they_are_the_listed_ones():
    made = certified({"critic": False})
    assert unpack(made.packed).counts == made.bundle.counts
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(made.packed)) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content[:-1] + b"\7" if name == "counts.bin" else content)
    for read in (unpack, OpenedCounts.open):
        with pytest.raises(BundleInvalid, match=r"counts\.bin in the bundle is not the file"):
            read(target.getvalue())


def test_a_bundle_without_counts_says_why():
    for made, why in (
        (image_stand_in.bundle(), "of images"),
        (bundle(), "counted|measured no counts"),
        (certified({"anchor": False, "steps": 20}).bundle, "measured no counts"),
        (bundle(certificate={"plan": {"anchor": {}}}), "before bundles held counts"),
        (bundle(certificate={"plan": {"finals": [{"anchor": {}}]}}), "before bundles held counts"),
        (bundle(certificate={"plan": {"finals": 3}}), "measured no counts"),
    ):
        with pytest.raises(NoCounts, match=why):
            OpenedCounts.open(pack(made, readme="x"))


def test_counts_of_other_columns_than_the_domain_are_refused():
    with pytest.raises(BundleInvalid, match="the columns of its domain"):
        OpenedCounts.open(pack(bundle(counts=PACKED), readme="x"))


def test_a_whole_bundle_is_asked():
    answer = OpenedCounts.open(certified({"critic": False}).packed).answer("ward by sick where age = 60")
    assert answer.columns == ("ward", "sick")
    assert len(answer.rows) == 6
    assert sum(row.unbiased for row in answer.rows) == pytest.approx(300, abs=60)


def test_a_column_that_is_merged_and_not_counted_is_refused():
    head = {
        "schema": "understudy.counts/2", "cardinalities": [4, 2], "merged": [[0, 0, 1, 1], None], "step": 0.5,
        "groups": [{"noise_std": 3.0, "tables": [[0, 1], [1]]}],
    }  # fmt: skip
    content = json.dumps(head).encode() + b"\n" + bytes(4 * (2 * 2 + 2))
    with pytest.raises(BundleInvalid, match="merges codes that it does not count"):
        ReleasedCounts.from_bytes(content)
    counted = {**head, "groups": [{"noise_std": 3.0, "tables": [[0], [0, 1], [1]]}]}
    assert len(ReleasedCounts.from_bytes(json.dumps(counted).encode() + b"\n" + bytes(4 * 10)).tables) == 3
