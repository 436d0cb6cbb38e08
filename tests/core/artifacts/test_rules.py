"""Rows that a bundle gives keep the rules of its domain: the service's sampler, files, conditions, and the script alone."""

import csv
import io
import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from core.artifacts.bundle import Bundle
from core.artifacts.errors import ConditionTooRare
from core.artifacts.manifest import TableManifest
from core.artifacts.packing import pack
from core.artifacts.sampling.sampler import Sampler
from core.artifacts.sampling.sampler_script import render_script
from core.artifacts.sampling.samples import open_samples
from core.plan.domain.codec import batch_of, encode
from core.plan.domain.table import TableDomain
from tests.core.artifacts import stand_in
from tests.core.artifacts.test_sampler_script import loaded, unzipped
from tests.core.plan.domain.ruled import ALL, COMPUTED, EVERY_RULE, TOGETHER, broken, document, number, words


def bundle_of(found: Mapping[str, Any]) -> Bundle:
    """A generator that knows no rule: each column is even, and independent of the others."""
    domain = TableDomain.from_json(found)
    target = domain.target_index
    sizes = domain.cardinalities
    distribution = None if target is None else tuple(1 / sizes[target] for _ in range(sizes[target]))
    return stand_in.bundle(
        manifest=TableManifest(
            latent_dimension=2, cardinalities=sizes, label_index=target, label_probabilities=distribution
        ),
        network=stand_in.network_of(sizes, labels=len(distribution or ())),
        domain=dict(found),
    )


def rows_of(batches: Iterator[pa.RecordBatch]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


@pytest.mark.parametrize("name", ALL)
def test_the_sampler_draws_no_row_that_breaks_a_rule(name: str) -> None:
    rows = rows_of(Sampler(bundle_of(ALL[name]), threads=2).batches(6000, batch_rows=2500))
    assert len(rows) == 6000
    assert [row for row in rows if broken(ALL[name], row)] == []


@pytest.mark.parametrize("name", ALL)
def test_its_codes_are_those_of_rows_that_keep_the_rules(name: str) -> None:
    """What reports measure is what is drawn."""
    domain = TableDomain.from_json(ALL[name])
    codes = Sampler(bundle_of(ALL[name])).codes(3000, np.random.default_rng(1))
    again = Sampler(bundle_of(ALL[name])).codes(3000, np.random.default_rng(1))
    assert np.array_equal(codes, again), "deterministic from the stream"
    without = Sampler(bundle_of(ALL[name] | {"rules": []})).codes(3000, np.random.default_rng(1))
    assert codes.shape == without.shape
    assert not np.array_equal(codes, without)
    assert domain.kept is not None
    from core.plan.domain.forbidden import forbidden_pairs

    for (first, second), cells in forbidden_pairs(domain).items():
        assert not cells[codes[:, first], codes[:, second]].any()


def test_a_condition_on_a_total_holds_where_a_part_is_computed() -> None:
    rows = rows_of(Sampler(bundle_of(COMPUTED)).batches_where(500, {"enrolled": 179}))
    assert [row["enrolled"] for row in rows] == [179] * 500
    assert [row for row in rows if broken(COMPUTED, row)] == []


def test_rows_of_a_domain_without_rules_are_drawn_as_before() -> None:
    """The same stream gives the generator's own codes, and their values."""
    sampler = Sampler(stand_in.bundle())
    codes = sampler.codes(3000, np.random.default_rng(2))
    # private: a sampler shows the generator's own codes nowhere without its rules
    assert np.array_equal(codes, sampler._generated(3000, np.random.default_rng(2), None, balanced=True))
    assert "Keeper" not in render_script(stand_in.bundle().manifest, stand_in.DOMAIN)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_files_keep_the_rules(form: str) -> None:
    found = EVERY_RULE["sum"]
    written = b"".join(open_samples(pack(bundle_of(found), readme="x")).write(3000, form)).decode()
    if form == "csv":
        told: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(written)))
    else:
        told = [json.loads(line) for line in written.splitlines()]
    rows = [{name: read(found, name, value) for name, value in row.items()} for row in told]
    assert len(rows) == 3000
    assert [row for row in rows if broken(found, row)] == []


def read(found: Mapping[str, Any], name: str, value: Any) -> Any:
    """A value of a text file."""
    (column,) = (column for column in found["columns"] if column["name"] == name)
    if value in ("", None):
        return None
    if column["kind"] == "numeric":
        return float(value)
    if column["kind"] == "date":
        return date.fromisoformat(value)
    if column["kind"] == "datetime":
        return datetime.fromisoformat(value)
    return value


@pytest.mark.parametrize("name", ALL)
def test_the_script_draws_no_row_that_breaks_a_rule(name: str, tmp_path: Path) -> None:
    script = unzipped(pack(bundle_of(ALL[name]), readme="how to"), tmp_path)
    words_ = [sys.executable, "-I", str(script), "3000", str(tmp_path / "rows.csv")]
    subprocess.run(words_, check=True, cwd=tmp_path, timeout=600)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = [
            {column: read(ALL[name], column, value) for column, value in row.items()}
            for row in csv.DictReader(stream)
        ]
    assert len(rows) == 3000
    assert [row for row in rows if broken(ALL[name], row)] == []


@pytest.mark.parametrize("name", ALL)
def test_the_script_keeps_rules_as_the_service_does(name: str) -> None:
    """The same values and the same stream: the same rows."""
    domain = TableDomain.from_json(ALL[name])
    module = loaded(render_script(bundle_of(ALL[name]).manifest, ALL[name]))
    assert domain.kept is not None
    found = []
    for keeper in (domain.kept.keeper, module.KEEPER):
        rng = np.random.default_rng(3)

        def fresh(count: int, rng: np.random.Generator = rng) -> list[np.ndarray]:
            codes = [rng.integers(size, size=count) for size in domain.cardinalities]
            return [
                module.decode(meaning, own, rng.random(count))
                for meaning, own in zip(module.COLUMNS, codes, strict=True)
            ]

        values = fresh(2000)
        keeper.keep(values, lambda at, fresh=fresh: fresh(len(at)), rng)
        found.append(values)
    for one, other in zip(*found, strict=True):
        assert np.array_equal(one, other, equal_nan=True)
    assert batch_of(domain, found[0]).num_rows == 2000


def test_the_script_needs_nothing_of_this_package() -> None:
    script = render_script(bundle_of(TOGETHER).manifest, TOGETHER)
    assert "from core" not in script
    assert "import core" not in script
    assert "Infinity" not in script


CAUSE = document(
    [words("sick", "yes", "no"), number("age", 0, 99, bins=4), words("ward", "A", "B")],
    [
        {"kind": "determines", "columns": ["ward", "sick"], "pairs": [["A", "yes"]]},
        {"kind": "impossible", "columns": ["age", "ward"], "combinations": [[{"to": 24}, "B"]]},
    ],
    target="sick",
)


@pytest.mark.parametrize(
    "where", [{"sick": "yes"}, {"sick": "no"}, {"ward": "A"}, {"sick": "no", "age": 30}, {"age": 10}]
)
def test_conditions_hold_beside_the_rules(where: dict[str, Any]) -> None:
    sampler = Sampler(bundle_of(CAUSE))
    rows = rows_of(sampler.batches_where(3000, where))
    assert len(rows) == 3000
    assert [row for row in rows if broken(CAUSE, row)] == []
    domain = TableDomain.from_json(CAUSE)
    codes = encode(domain, pa.RecordBatch.from_pylist(rows, schema=next(sampler.batches(1)).schema))
    names = [column.name for column in domain.modelled]
    for name, value in where.items():
        column = codes[:, names.index(name)]
        assert len(set(column.tolist())) == 1
        assert name == "age" or {row[name] for row in rows} == {value}


@pytest.mark.parametrize(
    "where", [{"ward": "A", "sick": "no"}, {"age": 3, "ward": "B"}, {"sick": "no", "age": 3}]
)
def test_a_condition_that_no_row_with_rules_meets_is_refused(where: dict[str, Any]) -> None:
    with pytest.raises(ConditionTooRare):
        Sampler(bundle_of(CAUSE)).batches_where(1, where)


def test_redrawn_rows_keep_the_label_that_they_had() -> None:
    """The distribution of labels was measured; leaving out rows must not bend it. Six deviations: a chance below 1e-8 each."""
    found = document(
        [words("sick", "yes", "no"), number("a", 0, 9), number("b", 0, 9)],
        [{"kind": "impossible", "columns": ["sick", "a"], "combinations": [["yes", {"from": 2}]]}],
        target="sick",
    )
    codes = Sampler(bundle_of(found)).codes(50_000, np.random.default_rng())
    share = np.mean(codes[:, 0] == 0)
    # Two tenths of the rows are redrawn at most eight times: 0.8^9 of one half are left, and mended in a column by lot.
    assert abs(share - 0.5) < 6 * 0.5 / 50_000**0.5 + 0.5 * 0.8**9


def test_a_single_row_has_the_distribution_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without mending, a broken row is replaced by one of its batch, and not by the one witness, though it is asked for alone."""
    monkeypatch.setattr("core.plan.domain.rules.keeping.PASSES", 0)
    monkeypatch.setattr("core.plan.domain.rules.keeping.REDRAWS", 0)
    found = document([number("a", 0, 999), number("b", 0, 999)], [{"kind": "at_most", "columns": ["a", "b"]}])
    sampler = Sampler(bundle_of(found))
    rows = [row for _ in range(40) for row in rows_of(sampler.batches(1))]
    assert [row for row in rows if broken(found, row)] == []
    # Twenty of them are replaced; half of all pairs keep the rule, so two alike are a chance of one in a thousand.
    assert len({(row["a"], row["b"]) for row in rows}) >= 38


def test_a_word_of_the_domain_cannot_end_the_script(tmp_path: Path) -> None:
    found = document(
        [words("w", "@DATA@", "@RULES@", "@KEEP@", '"""'), words("v", "x", "\\")],
        [{"kind": "determines", "columns": ["w", "v"], "pairs": [["@RULES@", "\\"], ['"""', "x"]]}],
    )
    made = bundle_of(found)
    with zipfile.ZipFile(io.BytesIO(pack(made, readme="how to"))) as archive:
        module = loaded(archive.read("sample.py").decode())
    assert module.COLUMNS[0]["words"] == ["@DATA@", "@RULES@", "@KEEP@", '"""']
    assert len(module.KEEPER.rules) == 1
