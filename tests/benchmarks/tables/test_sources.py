import numpy as np
import pyarrow as pa
import pytest

from benchmarks.tables import sources
from benchmarks.tables.sources import (
    SOURCES,
    domain_of,
    first_encounters,
    first_encounters_by_chapter,
    icd9_chapter,
    positions,
    read,
    split,
)
from core.plan.domain.codec import encode
from tests.cases import daily


@pytest.mark.parametrize("rows", [7, 1000, 6433])
def test_every_row_trains_or_tests_and_none_does_both(rows):
    train, test = positions(rows, 0)
    assert len(test) == rows // 5
    assert sorted([*train, *test]) == list(range(rows))


def test_a_split_is_its_seed_s():
    assert np.array_equal(positions(1000, 3)[0], positions(1000, 3)[0])
    assert not np.array_equal(positions(1000, 3)[1], positions(1000, 4)[1])


def test_a_smaller_size_is_the_beginning_of_the_training_rows(monkeypatch):
    domain = domain_of("poker")
    codes = np.random.default_rng(0).integers(0, domain.cardinalities, (1000, len(domain.cardinalities)))
    arrays = [
        pa.DictionaryArray.from_arrays(pa.array(codes[:, index].astype(np.int16)), list(column.words))
        for index, column in enumerate(domain.modelled)
    ]
    rows = pa.RecordBatch.from_arrays(arrays, [column.name for column in domain.modelled])
    monkeypatch.setattr(sources, "read", lambda _name: (domain, rows))
    small, full = split("poker", "500", 0), split("poker", "full", 0)
    assert np.array_equal(small.train_codes, full.train_codes[:500])
    assert small.test.equals(full.test)
    with pytest.raises(ValueError, match="800 training rows, fewer than 2000"):
        split("poker", "2000", 0)


@pytest.mark.parametrize(
    ("code", "chapter"),
    [
        ("001", "001-139"), ("139.8", "001-139"), ("140", "140-239"), ("249.9", "240-279"), ("250.83", "250"), ("251", "240-279"),
        ("428", "390-459"), ("999", "800-999"), ("V27", "V"), ("E885", "E"), ("?", "?"),
    ],
)  # fmt: skip
def test_a_diagnosis_is_grouped_by_its_chapter(code, chapter):
    assert icd9_chapter(code) == chapter


def test_every_chapter_is_a_declared_category():
    declared = next(column for column in domain_of("diabetes").modelled if column.name == "diag_1")
    assert {icd9_chapter(f"{number:03}") for number in range(1, 1000)} | {"V", "E"} == set(declared.words)


def test_a_patient_is_one_row_the_first_encounter():
    diagnoses = {"diag_1": "428", "diag_2": "?", "diag_3": "V27"}
    rows = [
        {"encounter_id": "30", "patient_nbr": "a", **diagnoses},
        {"encounter_id": "4", "patient_nbr": "a", **diagnoses},
        {"encounter_id": "5", "patient_nbr": "b", **diagnoses},
    ]
    assert [row["encounter_id"] for row in first_encounters(rows)] == ["4", "5"]
    assert first_encounters(rows)[0]["diag_1"] == "428"
    assert first_encounters_by_chapter(rows)[0]["diag_1"] == "390-459"


@pytest.mark.real_data
# Both domains of the patients read one file of 100,000 encounters.
@pytest.mark.parametrize("name", daily(SOURCES, some=set(SOURCES) - {"diabetes", "diabetes-icd"}))
@pytest.mark.usefixtures("real_data_folder")
def test_a_declared_domain_takes_every_row_of_its_file(name):
    domain, rows = read(name)
    assert rows.num_rows == SOURCES[name].rows
    assert domain.target_index is not None
    codes = encode(domain, rows)
    assert codes.min() >= 0
    assert (codes.max(axis=0) < np.array(domain.cardinalities)).all()
    assert len(np.unique(codes[:, domain.target_index])) > 1
