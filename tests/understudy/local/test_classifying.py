"""A private classifier without a service: charged, certified, verified offline; its bundle predicts with numpy and onnxruntime alone."""

import csv
import json
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from torch import nn

import understudy
from core.artifacts.errors import NothingToDraw
from core.artifacts.private_models.bundle import unpack_model
from core.artifacts.sampling.samples import open_samples
from core.plan.domain.codec import encode
from core.plan.domain.table import TableDomain
from models.classifier import registered
from models.classifier.scattering import Scattering
from tests.models.classifier.small import IMAGES, images
from understudy.errors import BudgetRefused, InputUnusable, InvalidInput
from understudy.local import (
    ConstantModel,
    DoubtfulOptions,
    FeaturesRefused,
    FittedClassifier,
    fit_classifier,
    read_account,
    set_cap,
)
from understudy.verifying.verification import Outcome, verify_bundle

# Small trainings of few steps are what both warnings are about: noise alone may give a model one answer.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{warning.__module__}.{warning.__name__}")
    for warning in (DoubtfulOptions, ConstantModel)
]
GUARANTEE = (8.0, 1e-4)
DOMAIN: dict[str, Any] = {
    "schema": "understudy.domain/1",
    "target": "sick",
    "privacy_unit": None,
    "csv": {"null_values": ["", "?"]},
    "columns": [
        {"name": "ward", "kind": "categorical", "categories": ["A", "B"], "unknown": "other", "other": "else"},
        {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99, "specials": [-1], "null": "category",
         "outside": "refuse"},
        {"name": "weight", "kind": "numeric", "type": "real", "lower": 0, "upper": 200, "null": {"use": 70}},
        {"name": "seen", "kind": "datetime", "lower": "2020-01-01T00:00:00", "upper": "2020-12-31T23:00:00", "resolution": "hour",
         "patterns": ["weekday", "hour"]},
        {"name": "well", "kind": "boolean", "true": "yes", "false": "no"},
        {"name": "sick", "kind": "categorical", "categories": ["x", "y", "z"]},
    ],
}  # fmt: skip


def rows(count: int = 300) -> pa.Table:
    rng = np.random.default_rng(1)
    ward = rng.choice(["A", "B", "C"], count)
    age = [None if one == 50 else int(one) for one in rng.integers(-1, 99, count)]
    weight = [None if one > 190 else float(one) for one in rng.uniform(0, 200, count)]
    seen = np.datetime64("2020-01-01T00") + rng.integers(0, 8000, count).astype("timedelta64[h]")
    return pa.table({
        "ward": ward,
        "age": pa.array(age, pa.int64()),
        "weight": pa.array(weight, pa.float64()),
        "seen": pa.array(seen.astype("datetime64[s]")),
        "well": rng.choice(["yes", "no"], count),
        "sick": np.where(ward == "A", "x", np.where(ward == "B", "y", "z")),
    })  # fmt: skip


@pytest.fixture
def ledgers(tmp_path: Path) -> Path:
    set_cap("wards", epsilon=20.0, delta=1e-2, ledgers=tmp_path)
    return tmp_path


def fitted_images(ledgers: Path, **options: Any) -> FittedClassifier:
    private = images()
    return fit_classifier(
        private.pixels,
        IMAGES.to_json(),
        GUARANTEE,
        dataset="wards",
        labels=[IMAGES.labels[code] for code in private.labels],
        declared_size=300,
        options={"steps": 6} | options,
        ledgers=str(ledgers),
    )


def predicted(fitted: FittedClassifier, source: Path, folder: Path) -> list[dict[str, str]]:
    """What `predict.py` of the bundle writes, in a process without this package."""
    unzipped = folder / "unzipped"
    fitted.save(folder / "bundle.zip")
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        archive.extractall(unzipped)
    command = [sys.executable, "-I", str(unzipped / "predict.py"), str(source), str(folder / "out.csv")]
    subprocess.run(command, check=True, cwd=folder)
    with (folder / "out.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    "options",
    [{}, {"accuracy_share": 0.2}, {"network": "mlp", "hidden": 9, "components": 5}, {"network": "cnn"}, {"network": "mlp", "features": "scattering"}],
    ids=["linear", "accuracy", "components", "cnn", "scattering mlp"],
)  # fmt: skip
def test_a_classifier_of_images_is_charged_verified_and_predicts(
    ledgers: Path, options: dict[str, Any]
) -> None:
    fitted = fitted_images(ledgers, **options)
    (job,) = read_account("wards", ledgers=ledgers).jobs.values()
    assert job == "SETTLED"
    assert fitted.certificate["epsilon"]["reported"] <= 8.0
    np.savez(ledgers / "images.npz", images=images().pixels[:70])
    found = predicted(fitted, ledgers / "images.npz", ledgers)
    assert [row["prediction"] for row in found] == fitted.predict(images().pixels[:70]).tolist()
    report = verify_bundle(ledgers / "bundle.zip", allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert verify_bundle(ledgers / "bundle.zip").outcome is Outcome.SIGNER_UNKNOWN
    accuracy = fitted.certificate["accuracy"]
    assert (accuracy is None) == ("accuracy_share" not in options)
    said = "% on held-out units, between" if accuracy else "not measured; options={'accuracy_share': 0.05}"
    assert said in " ".join(repr(fitted).split())
    with pytest.raises(NothingToDraw):
        open_samples(fitted.bundle)


def test_the_model_has_the_features_of_the_training(ledgers: Path) -> None:
    fitted, pixels = fitted_images(ledgers), images().pixels[:20]
    opened = unpack_model(fitted.bundle)
    found = onnxruntime.InferenceSession(opened.model).run(["logits"], {"images": pixels})[0]
    from safetensors.numpy import load

    weights = load(opened.weights)
    features = Scattering((12, 12, 1)).of(pixels).double().numpy()
    expected = features @ weights["layers.0.weight"].T + weights["layers.0.bias"]
    assert np.abs(found - expected).max() < 5e-3 * max(1.0, np.abs(expected).max()), (
        "features are kept in half precision"
    )


@pytest.mark.parametrize("options", [{}, {"network": "mlp", "hidden": 6}, {"components": 4}])
def test_a_classifier_of_a_table_reads_a_file_as_the_domain_does(
    ledgers: Path, options: dict[str, Any]
) -> None:
    frame = rows()
    fitted = fit_classifier(
        frame,
        DOMAIN,
        GUARANTEE,
        dataset="wards",
        declared_size=300,
        options={"steps": 20} | options,
        ledgers=ledgers,
    )
    source = ledgers / "rows.csv"
    with source.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(frame.column_names)
        for row in frame.to_pylist():
            writer.writerow(["?" if value is None else value for value in row.values()])
    found = predicted(fitted, source, ledgers)
    ours = fitted.predict_proba(frame)
    stated = np.array([[float(row[name]) for name in fitted.classes_] for row in found])
    assert np.abs(stated - ours).max() < 1e-5
    assert fitted.classes_.tolist() == ["x", "y", "z"]
    assert (
        "\n  target: sick\n  predicted from: 5 columns\n  classes: x, y, z\n  accuracy: not measured"
        in repr(fitted)
    )
    with pytest.raises(InputUnusable, match="save"):
        pickle.dumps(fitted)
    assert "epsilon 8, delta 0.0001" in repr(fitted)
    report = verify_bundle(ledgers / "bundle.zip", allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert (fitted.predict_proba(frame.drop_columns(["sick"])) == ours).all()
    far = pa.array([10**6, None], pa.int64())
    first = frame.slice(0, 2).set_column(1, "age", far)
    with pytest.warns(
        FeaturesRefused,
        match=r"^1 values that the domain refuses count as missing \(age: outside-bounds 1\)$",
    ):
        found_far = fitted.predict(first)
    assert found_far[0] == fitted.predict(frame.slice(0, 1).set_column(1, "age", far[1:]))[0]
    broken = frame.set_column(4, "well", [["yes", "perhaps", *["no"] * 298]])
    with pytest.warns(
        FeaturesRefused, match=r"^1 of 300 rows have no prediction \(well: unknown-category 1\)$"
    ):
        answers = fitted.predict(broken)
    assert answers[1] is None
    assert None not in answers[2:]
    with pytest.warns(FeaturesRefused):
        shares = fitted.predict_proba(broken)
    assert np.isnan(shares[1]).all()
    assert (
        shares[2:] == fitted.predict_proba(frame.set_column(4, "well", [["yes", "no", *["no"] * 298]]))[2:]
    ).all()
    with pytest.raises(InvalidInput, match="missing: ward"):
        fitted.predict(frame.drop_columns(["ward"]))
    assert len(fitted.predict(frame.slice(0, 0))) == 0
    assert len(encode(TableDomain.from_json(DOMAIN), frame.to_batches()[0]).T) == 8, (
        "patterns of times are read too"
    )


class _Forgetful:
    name = "forgetful"

    @staticmethod
    def load() -> Callable[[int, int], nn.Module]:
        return lambda inputs, classes: nn.Sequential(nn.Dropout(), nn.Linear(inputs, classes))


def test_what_does_not_fit_or_makes_no_plan_costs_nothing(
    ledgers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput):
        fitted_images(ledgers, network="unknown")
    with pytest.raises(
        InvalidInput, match=r"no module 'nobodys' is registered where the training runs.* install there"
    ):
        fitted_images(ledgers, module="nobodys")
    monkeypatch.setattr(registered, "entry_points", lambda *, group: [_Forgetful])
    with pytest.raises(InvalidInput, match="each time, as dropout does"):
        fitted_images(ledgers, module="forgetful")
    with pytest.raises(BudgetRefused):
        fit_classifier(
            rows(),
            DOMAIN,
            (30.0, 1e-4),
            dataset="wards",
            declared_size=300,
            options={"steps": 2},
            ledgers=ledgers,
        )
    assert read_account("wards", ledgers=ledgers).jobs == {}


def test_an_altered_bundle_is_refused(ledgers: Path) -> None:
    fitted = fitted_images(ledgers)
    with zipfile.ZipFile(fitted.save(ledgers / "bundle.zip")) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}

    def outcome(name: str, content: bytes) -> tuple[Outcome, list[str]]:
        from core.artifacts.packing import zipped

        (ledgers / "other.zip").write_bytes(zipped(files | {name: content}))
        report = verify_bundle(ledgers / "other.zip", allow_unsigned=True)
        return report.outcome, [check.name for check in report.refusals]

    assert outcome("predict.py", files["predict.py"] + b"#") == (Outcome.REFUSED, ["files"])
    certificate = json.loads(files["certificate.json"])

    def stated(change: dict[str, Any]) -> bytes:
        return json.dumps(certificate | change, indent=2, sort_keys=True, ensure_ascii=False).encode() + b"\n"

    plan = certificate["plan"]
    for change, refused in (
        ({"declared_size": 301}, "statements"),
        ({"plan": plan | {"noise_multiplier": plan["noise_multiplier"] / 2}}, "plan"),
        ({"plan": plan | {"max_sampled_batch": 7}}, "plan"),
        ({"epsilon": {"pld": 1.0, "rdp": 1.0, "reported": 1.0}}, "statements"),
        ({"executed": certificate["executed"] | {"steps": 5}}, "steps"),
        ({"charge": certificate["charge"] | {"epsilon_micros": 1}}, "charge"),
        ({"data_domain": certificate["data_domain"] | {"cells": 1}}, "domain"),
        ({"accuracy": {"noisy_wrong": 0.0, "noise_std": 1.0, "held_out_size": 30, "estimate": 1.0, "low": 1.0, "high": 1.0}}, "accuracy"),
    ):  # fmt: skip
        found, names = outcome("certificate.json", stated(change))
        assert found is Outcome.REFUSED
        assert refused in names


def test_a_saved_classifier_is_opened_again_and_predicts_the_same(ledgers: Path) -> None:
    frame = rows()
    fitted = fit_classifier(
        frame, DOMAIN, GUARANTEE, dataset="wards", declared_size=300, options={"steps": 20}, ledgers=ledgers
    )
    bundle = fitted.save(ledgers / "bundle.zip")
    for opened in (understudy.classifier(bundle), understudy.classifier(bundle.read_bytes())):
        assert (opened.predict_proba(frame) == fitted.predict_proba(frame)).all()
        assert opened.predict(frame).tolist() == fitted.predict(frame).tolist()
        assert repr(opened) == repr(fitted).replace("FittedClassifier", "Classifier")
        assert opened.certificate == fitted.certificate
        assert pickle.loads(pickle.dumps(understudy.classifier(bundle))).bundle == fitted.bundle
    with pytest.raises(
        InputUnusable, match=r"holds a private classifier: open it with understudy.classifier"
    ):
        understudy.generator(bundle)
    with pytest.raises(InputUnusable, match="no file"):
        understudy.classifier(ledgers / "none.zip")
    with pytest.raises(InvalidInput, match="not a complete bundle"):
        understudy.classifier(b"no zip")


@pytest.mark.parametrize("records", [3, "learn"])
def test_a_bound_on_the_records_of_a_unit_is_refused_with_how_to_leave_it_out(
    ledgers: Path, records: object
) -> None:
    unit = {"name": "who", "kind": "unit", "records": records}
    bounded = DOMAIN | {"privacy_unit": "who", "columns": [*DOMAIN["columns"], unit]}
    with pytest.raises(InputUnusable, match=r"accept_draft\(columns=\{'who': \{'kind': 'unit'\}\}\)"):
        fit_classifier(rows(), bounded, GUARANTEE, dataset="wards", declared_size=300, ledgers=ledgers)
