"""The script in the bundle: runs alone, draws the distribution, and decodes as the service does."""

import csv
import gc
import io
import subprocess
import sys
import time
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from core.artifacts.manifest import TableManifest
from core.artifacts.packing import pack
from core.artifacts.sampling.sampler_script import render_script
from core.plan.domain.codec import decode_column
from core.plan.domain.table import TableDomain
from tests.core.artifacts import image_stand_in, stand_in
from tests.understudy.test_dummies import EVERYTHING

HARD: dict[str, Any] = EVERYTHING | {
    "columns": [
        *EVERYTHING["columns"],
        {"name": "wide", "kind": "numeric", "type": "real", "lower": 0, "upper": 1e6, "spacing": "log", "specials": [0]},
        {"name": "many", "kind": "numeric", "type": "integer", "lower": 0, "upper": 100_000, "bins": 7, "null": "category"},
        {"name": "month", "kind": "date", "lower": "2019-02-03", "upper": "2021-12-31", "resolution": "month"},
        {"name": "hour", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-02-01T00:00:00", "resolution": "hour"},
        {"name": 'a "quoted" """ name\\', "kind": "categorical", "categories": ['"""', "\\", "@DATA@", "\u2028", "Ü"]},
    ]
}  # fmt: skip


def loaded(script: str) -> ModuleType:
    module = ModuleType("sample")
    exec(compile(script, "sample.py", "exec"), module.__dict__)
    return module


def test_it_decodes_every_code_of_every_kind_as_the_service_does() -> None:
    domain = TableDomain.from_json(HARD)
    manifest = TableManifest(
        latent_dimension=2, cardinalities=domain.cardinalities, label_index=None, label_probabilities=None
    )
    module = loaded(render_script(manifest, HARD))
    assert [column["name"] for column in module.COLUMNS] == [column.name for column in domain.modelled]
    for column, meaning in zip(domain.modelled, module.COLUMNS, strict=True):
        codes = np.repeat(np.arange(column.cardinality), 20)
        seed = np.random.SeedSequence(7)
        expected = decode_column(column, codes.astype(np.int16), np.random.default_rng(seed))
        uniforms = np.random.default_rng(seed).random(len(codes))
        found = [module.written(meaning, value) for value in module.decode(meaning, codes, uniforms).tolist()]
        told = ["" if value is None else as_written(value) for value in expected.to_pylist()]
        assert found == told, column.name


def test_threads_that_render_at_once_get_the_same_script() -> None:
    bundle = stand_in.bundle()
    expected = render_script(bundle.manifest, bundle.domain)

    def give_way(*_: object) -> None:
        time.sleep(0)

    # A thread that collects garbage gives way to another one in the middle of whatever it does.
    gc.callbacks.append(give_way)
    threshold = gc.get_threshold()
    gc.set_threshold(200)
    try:
        with ThreadPoolExecutor(2) as threads:
            made = [threads.submit(render_script, bundle.manifest, bundle.domain) for _ in range(8)]
        assert [one.result() for one in made] == [expected] * len(made)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(give_way)


def as_written(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if hasattr(value, "year") else value


def unzipped(packed: bytes, folder: Path) -> Path:
    zipfile.ZipFile(io.BytesIO(packed)).extractall(folder)
    return folder / "sample.py"


def test_it_draws_the_distribution_without_this_package(tmp_path: Path) -> None:
    script = unzipped(pack(stand_in.bundle(), readme="how to"), tmp_path)
    run = [sys.executable, "-I", str(script), "20000", str(tmp_path / "rows.csv")]
    subprocess.run(run, check=True, cwd=tmp_path, timeout=600)
    with (tmp_path / "rows.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 20_000
    sick = [row for row in rows if row["sick"] == "yes"]
    # Six deviations: chances below 1e-8 each.
    assert abs(len(sick) / len(rows) - 0.75) < 6 * (0.75 * 0.25 / len(rows)) ** 0.5
    for word, share in zip(("A", "Ü"), (0.1, 0.7), strict=True):
        found = sum(row["ward"] == word for row in sick) / len(sick)
        assert abs(found - share) < 6 * (share * (1 - share) / len(sick)) ** 0.5
    assert {row["seen"] for row in rows} == {f"2020-01-{day:02d}" for day in range(1, 11)}


def test_it_draws_images_without_this_package(tmp_path: Path) -> None:
    made = image_stand_in.bundle()
    script = unzipped(pack(made, readme="how to"), tmp_path)
    run = [sys.executable, "-I", str(script), "70", str(tmp_path / "images.npz")]
    subprocess.run(run, check=True, cwd=tmp_path, timeout=600)
    with np.load(tmp_path / "images.npz", allow_pickle=False) as arrays:
        assert len(arrays["images"]) == len(arrays["labels"]) == 70
        assert arrays["images"].dtype == np.uint8
        assert arrays["label_names"].tolist() == list(made.domain["labels"])


def test_it_asks_for_nothing_but_numpy_and_onnxruntime(tmp_path: Path) -> None:
    """In a new environment where those two and what they need are all there is."""
    venv.create(tmp_path / "clean", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "clean").glob("lib/python*/site-packages")
    for name in ("numpy", "numpy.libs", "onnxruntime", "google", "flatbuffers", "packaging"):
        source = Path(np.__file__).parents[1] / name
        if source.exists():
            (site / name).symlink_to(source)
    script = unzipped(pack(stand_in.bundle(), readme="how to"), tmp_path / "bundle")
    python = tmp_path / "clean" / "bin" / "python"
    absent = subprocess.run([str(python), "-I", "-c", "import pyarrow"], capture_output=True, check=False)
    assert absent.returncode != 0, "the environment is clean"
    subprocess.run(
        [str(python), "-I", str(script), "50", str(tmp_path / "rows.csv")], check=True, timeout=120
    )
    assert (tmp_path / "rows.csv").read_text().count("\n") == 51


@pytest.mark.parametrize("made", [stand_in.bundle(), image_stand_in.bundle()], ids=["rows", "images"])
@pytest.mark.parametrize(
    "arguments", [[], ["--help"], ["many", "rows.csv"]], ids=["none", "help", "no number"]
)
def test_the_script_says_how_it_is_used(
    made: Any, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = loaded(render_script(made.manifest, made.domain))
    monkeypatch.setattr(sys, "argv", ["sample.py", *arguments])
    with pytest.raises(SystemExit):
        module.main()
    shown = "".join(capsys.readouterr())
    assert "usage: sample.py" in shown
    assert "python sample.py 1000" in shown or arguments != ["--help"]
