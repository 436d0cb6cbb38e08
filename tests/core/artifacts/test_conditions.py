"""Columns that are fixed: the generator's own conditional distribution, in exactly as many rows as were asked for."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.errors import ConditionTooRare, InvalidCondition
from core.artifacts.sampling.conditions import FEWEST_ROWS, TRIED_ROWS, image_label, table_condition
from core.artifacts.sampling.image_sampler import ImageSampler
from core.artifacts.sampling.sampler import Sampler
from core.artifacts.sampling.samples import open_samples
from core.artifacts.sampling.value_conditions import read_conditions
from core.plan.domain.images import ImageDomain
from core.plan.domain.table import TableDomain
from tests.core.artifacts import image_stand_in, stand_in

ROWS = 20_000
# Shares of 20,000 rows or so lie within 6 deviations of the distribution but for a chance below 1e-8 each.
SIGMAS = 6


def rows_where(where: dict[str, Any], rows: int = ROWS, *, threads: int = 1) -> pa.Table:
    sampler = Sampler(stand_in.bundle(), threads=threads)
    return pa.Table.from_batches(sampler.batches_where(rows, where))


def shares(column: pa.ChunkedArray) -> dict[object, float]:
    values, counts = np.unique(column.to_pylist(), return_counts=True)
    return dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))


def require_distribution(
    found: dict[object, float], distribution: dict[object, float], rows: int = ROWS
) -> None:
    for value, share in distribution.items():
        assert abs(found[value] - share) < SIGMAS * np.sqrt(share * (1 - share) / rows), value


def test_the_target_is_fixed_by_the_generators_condition() -> None:
    table = rows_where({"sick": "yes"})
    assert set(table["sick"].to_pylist()) == {"yes"}
    require_distribution(
        shares(table["ward"]), dict(zip(["A", 'B, or "C"', "Ü"], stand_in.WARD_DISTRIBUTION[1], strict=True))
    )


def test_another_column_is_fixed_with_the_distribution_of_the_rest_given_it() -> None:
    table = rows_where({"ward": "Ü"}, threads=2)
    assert set(table["ward"].to_pylist()) == {"Ü"}
    sick = stand_in.LABEL_DISTRIBUTION[1] * stand_in.WARD_DISTRIBUTION[1][2]
    well = stand_in.LABEL_DISTRIBUTION[0] * stand_in.WARD_DISTRIBUTION[0][2]
    assert sick / (sick + well) > 0.95, (
        "far from the distribution without a condition, so that a mistake would show"
    )
    require_distribution(shares(table["sick"]), {"yes": sick / (sick + well), "no": well / (sick + well)})


def test_target_and_another_are_fixed_together() -> None:
    table = rows_where({"sick": "no", "ward": "A", "seen": "2020-01-03"}, 500)
    assert table.num_rows == 500
    assert set(zip(table["sick"].to_pylist(), table["ward"].to_pylist(), strict=True)) == {("no", "A")}
    assert {str(day) for day in table["seen"].to_pylist()} == {"2020-01-03"}


def test_of_a_number_the_bin_is_fixed_and_the_value_drawn_inside_it() -> None:
    ages = rows_where({"age": 3})["age"].to_pylist()
    assert set(ages) == set(range(50))


@pytest.mark.parametrize("rows", [1, 7, 100_000])
@pytest.mark.parametrize("where", [{"sick": "yes"}, {"ward": "A"}], ids=["target", "other"])
def test_there_are_exactly_as_many_rows_as_asked_for(rows: int, where: dict[str, Any]) -> None:
    assert rows_where(where, rows).num_rows == rows


def test_what_hardly_any_row_meets_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for label in (0, 1):
        monkeypatch.setitem(stand_in.WARD_DISTRIBUTION, label, (1 - 2e-5, 1e-5, 1e-5))
    sampler = Sampler(stand_in.bundle())
    # 16 of 16,384 rows at 1e-5 each: a chance below 1e-26.
    with pytest.raises(ConditionTooRare) as refused:
        sampler.batches_where(1, {"ward": "Ü"})
    assert refused.value.facts == {"tried": TRIED_ROWS, "fewest": FEWEST_ROWS}
    assert sampler.batches_where(1, {"ward": "A"})


@pytest.mark.parametrize(
    "where",
    [
        {"nobody": 1}, {"ward": "D"}, {"ward": ["A"]}, {"ward": True}, {"age": -1}, {"age": 100}, {"age": "old"}, {"age": "100"}, {"age": "nan"},
        {"age": True}, {"age": float("nan")}, {"age": 10**400}, {"age": None}, {"seen": "2020-02-01"}, {"seen": "soon"},
        {"seen": 18_000}, {"sick": "maybe"}, {"ward": "\ud800"}, {"seen": "\ud800"},
    ],
    ids=range(19),
)  # fmt: skip
def test_what_no_row_can_meet_is_refused_without_quoting_it(where: dict[str, Any]) -> None:
    with pytest.raises(InvalidCondition) as refused:
        table_condition(TableDomain.from_json(stand_in.DOMAIN), where)
    assert all(str(value) not in refused.value.detail for value in where.values() if value != 1)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"ward": "D"}, "it has 'A', 'B, or \"C\"', 'Ü'."),
        ({"age": 100}, "its values lie between 0 and 99."),
        ({"seen": "soon"}, "its values lie between 2020-01-01 and 2020-01-10."),
    ],
)
def test_a_refused_condition_says_which_values_a_column_has(where: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidCondition) as refused:
        table_condition(TableDomain.from_json(stand_in.DOMAIN), where)
    assert refused.value.detail.endswith(f"cannot have this value; {said}")


@pytest.mark.parametrize("value", [125, 250.5, -50])
def test_a_number_that_is_no_multiple_is_refused(value: float) -> None:
    loan = {
        "name": "loan",
        "kind": "numeric",
        "type": "integer",
        "lower": 0,
        "upper": 9000,
        "multiple_of": 250,
        "specials": [99],
    }
    domain = TableDomain.from_json({"schema": "understudy.domain/1", "privacy_unit": None, "columns": [loan]})
    with pytest.raises(InvalidCondition):
        read_conditions({"loan": {value}}, domain)
    assert read_conditions({"loan": {250, 99}}, domain).spans["loan"] == (
        [(249.75, 250.25), (99.0, 99.0)],
        False,
    )


def test_json_has_a_condition_as_people_write_it() -> None:
    domain = TableDomain.from_json(stand_in.DOMAIN)
    assert table_condition(domain, {"sick": True}) == table_condition(domain, {"sick": "yes"})
    assert table_condition(domain, {"age": 60}) == table_condition(domain, {"age": 60.5})
    assert table_condition(domain, {"age": "60.5"}) == table_condition(domain, {"age": 60.5})


@pytest.mark.parametrize("name", ["npz", "zip", "png"])
def test_images_of_one_label(name: str) -> None:
    made = image_stand_in.bundle()
    domain = ImageDomain.from_json(made.domain)
    word = domain.labels[-1]
    code = image_label(domain, {"label": word})
    assert code == len(domain.labels) - 1
    sample = ImageSampler(made).sample(50, label=code)
    assert {int(label) for labels in sample.labels() for label in labels} == {code}
    from core.artifacts.packing import pack

    samples = open_samples(pack(made, readme="how to"))
    assert len(b"".join(samples.write(10, name, {"label": word}))) > 100
    for wrong in ({"label": "nothing"}, {"age": 1}, {"label": word, "age": 1}):
        with pytest.raises(InvalidCondition):
            samples.write(10, name, wrong)
