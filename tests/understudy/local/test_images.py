"""Training on arrays of images without a service: what it leaves, and what it refuses before anything is paid."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import understudy
from core.plan.domain.images import ImageDomain
from understudy import BudgetRefused, Conflict, InputUnusable, InvalidInput, Synthesizer
from understudy.local import Fitted, RowsRefused, fit, read_account, set_cap, synthesizer
from understudy.local.rows.images import clean_images
from understudy.local.rows.intake import Intake, taken_in
from understudy.local.training import fitting
from understudy.verifying.verification import Outcome, verify_bundle

COUNT, SIDE = 60, 8
DOMAIN: dict[str, Any] = {
    "schema": "understudy.images/1", "height": SIDE, "width": SIDE, "channels": 1, "labels": ["dark", "light"],
    "privacy_unit": None, "declared_size": COUNT,
}  # fmt: skip
OF_PEOPLE = DOMAIN | {"privacy_unit": "person"}
SMALL: dict[str, Any] = {
    "steps": 2, "pretraining_steps": 2, "expected_batch_size": 12, "critic_width": 16, "critic_layers": 1, "generator_width": 4,
    "generator_batch_size": 8, "latent_dimension": 2,
}  # fmt: skip
LABELS = np.arange(COUNT) % 2


def pictures() -> NDArray[np.uint8]:
    shades = np.random.default_rng(3).integers(0, 100, (COUNT, SIDE, SIDE)) + 150 * LABELS[:, None, None]
    return shades.astype(np.uint8)


def capped(folder: Path) -> Path:
    set_cap("faces", epsilon=2.0, delta=4e-6, ledgers=folder)
    return folder


@pytest.fixture(scope="module")
def ledgers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return capped(tmp_path_factory.mktemp("ledgers"))


@pytest.fixture(scope="module")
def fitted(ledgers: Path) -> Fitted:
    labels = [*("dark" if label == 0 else "light" for label in LABELS[:-1]), "nobody's label"]
    with pytest.warns(RowsRefused, match=r"1 of 60 records \(label: unknown-label 1\)"):
        return understudy.fit(
            pictures(), DOMAIN, (2.0, 1e-6), dataset="faces", labels=labels, options=SMALL, ledgers=ledgers
        )


def test_images_and_their_labels_are_drawn(fitted: Fitted) -> None:
    made = fitted.sample(30)
    assert made["images"].shape == (30, SIDE, SIDE, 1)
    assert made["images"].dtype == np.uint8
    assert set(made["labels"].tolist()) <= {0, 1}
    assert made["label_names"].tolist() == ["dark", "light"]
    assert fitted.sample(5, where={"label": "light"})["labels"].tolist() == [1] * 5
    with pytest.raises(Conflict, match="Images come as numpy, and not as"):
        fitted.sample(3, form="arrow")
    with pytest.raises(InvalidInput, match="label"):
        fitted.sample(3, where={"label": "green"})
    with pytest.raises(InputUnusable, match="at least one"):
        fitted.sample(0)


def test_the_bundle_verifies_and_says_what_was_paid(fitted: Fitted, ledgers: Path, tmp_path: Path) -> None:
    report = verify_bundle(fitted.save(tmp_path / "bundle.zip"), allow_unsigned=True)
    assert report.outcome is Outcome.VERIFIED, report.lines()
    assert fitted.certificate["declared_size"] == COUNT
    entries = [json.loads(line) for line in (ledgers / "faces.jsonl").read_text().splitlines()[1:]]
    assert [entry["kind"] for entry in entries] == ["CAP_SET", "RESERVED", "SPENT", "SETTLED"]
    assert fitted.certificate["ledger"]["spent"] == {"sequence": 3, "hash": entries[2]["hash"]}


def test_findings_for_the_owner_alone_are_counted(fitted: Fitted, tmp_path: Path) -> None:
    assert (fitted.rows_refused, fitted.refusals) == (1, {"label: unknown-label": 1})
    with pytest.raises(InputUnusable, match="label; leave target out"):
        fitted.report(pictures(), tmp_path / "report.html", target="label", labels=LABELS)
    with pytest.raises(InputUnusable, match="as many labels"):
        fitted.report(pictures(), tmp_path / "report.html", labels=LABELS[:-1])


def test_the_owner_sees_real_images_beside_synthetic_ones(fitted: Fitted, tmp_path: Path) -> None:
    file = fitted.report(pictures(), tmp_path / "report.html", labels=LABELS)
    text = file.read_text()
    assert "your images and this generator" in text
    assert "it is a file that only your user can read" in text
    assert f"{COUNT}" in text
    assert all(label in text for label in ("dark", "light"))
    assert text.count("data:image/png;base64,") > 6
    assert "The labels’ shares are" in text
    assert file.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput, match="Plots"):
        fitted.plot_marginals()


def test_a_synthesizer_is_given_labels_for_its_report_and_keeps_none(
    fitted: Fitted, ledgers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(synthesizer, "fit", lambda *_words, **_more: fitted)
    images, file = pictures(), tmp_path / "report.html"
    own = Synthesizer(2.0, dataset="faces", domain=DOMAIN, ledgers=ledgers).fit(images, labels=LABELS)
    assert not [kept for kept in vars(own).values() if kept is images or kept is LABELS]
    with pytest.raises(InputUnusable, match=r"the domain declares labels: pass labels=, one for each image"):
        own.report(images, file)
    assert "The labels’ shares are" in own.report(images, file, labels=LABELS).read_text()


def test_a_second_training_is_refused(fitted: Fitted, ledgers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fitted.bundle
    monkeypatch.setattr(fitting, "make_synthesizer", lambda _name: pytest.fail("a training began"))
    with pytest.raises(BudgetRefused):
        fit(
            pictures(),
            DOMAIN,
            (2.0, 1e-6),
            dataset="faces",
            labels=LABELS,
            options=SMALL,
            ledgers=ledgers,
        )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"frame": pictures().astype(np.float32)}, InputUnusable, "uint8"),
        ({"frame": pictures().tolist()}, InputUnusable, "one array"),
        ({"frame": np.ma.masked_array(pictures())}, InputUnusable, "one array"),
        ({"frame": pictures()[:, :7]}, InputUnusable, "declared shape"),
        ({"frame": pictures()[..., None].repeat(3, axis=3)}, InputUnusable, "declared shape"),
        ({"frame": pictures()[0, 0, 0]}, InputUnusable, "declared shape|one array"),
        ({"frame": pictures()[:0], "labels": []}, InputUnusable, "no record"),
        ({"labels": None}, InputUnusable, "declares labels"),
        ({"labels": "dark"}, InputUnusable, "declares labels"),
        ({"labels": LABELS[:-1]}, InputUnusable, "as many labels"),
        ({"labels": LABELS + 2}, InputUnusable, "unknown-label"),
        ({"units": LABELS}, InputUnusable, "units are given"),
        ({"domain": OF_PEOPLE}, InputUnusable, "declares units"),
        ({"domain": DOMAIN | {"labels": []}}, InputUnusable, "labels are given"),
        ({"domain": DOMAIN | {"_from_data": []}}, InputUnusable, "draft"),
        ({"declared_size": 0}, InputUnusable, "declared_size=N"),
        ({"declared_size": COUNT // 2 - 1}, InvalidInput, "twice as many"),
    ],
    ids=[
        "floats", "lists", "masked", "height", "colour", "number", "none", "no labels", "one text", "fewer labels",
        "undeclared labels", "units", "no units", "labels of none", "draft", "size", "more than declared",
    ],
)  # fmt: skip
def test_what_cannot_be_trained_on_costs_nothing(
    tmp_path: Path, changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    capped(tmp_path)
    given: dict[str, Any] = {
        "frame": pictures(), "domain": DOMAIN, "guarantee": (2.0, 1e-6), "labels": LABELS, "options": SMALL,
    } | changes  # fmt: skip
    with pytest.raises(error, match=message):
        fit(**given, dataset="faces", ledgers=tmp_path)
    assert read_account("faces", ledgers=tmp_path).jobs == {}


def taken(labels: object, units: object = None, *, words: tuple[str, ...] = ("dark", "light")) -> Intake:
    domain = ImageDomain(
        height=SIDE, width=SIDE, channels=1, labels=words, privacy_unit=None if units is None else "person"
    )
    count = len(labels)  # type: ignore[arg-type]
    return taken_in(clean_images(pictures()[:count], labels, units, domain), domain, declared_size=COUNT)


@pytest.mark.parametrize(
    "labels",
    [
        ["dark", "light", "dark"],
        np.array(["dark", "light", "dark"]),
        np.array([b"dark", b"light", b"dark"]),
        [0, 1, 0],
        np.array([0, 1, 0], dtype=np.uint8),
        np.array([0.0, 1.0, 0.0]),
        ("dark", np.int64(1), 0.0),
    ],
    ids=["words", "text", "bytes", "places", "small", "floats", "of all kinds"],
)
def test_labels_are_words_or_places(labels: object) -> None:
    assert taken(labels).records.labels.tolist() == [0, 1, 0]  # type: ignore[union-attr]


def test_numbers_are_words_where_all_words_are_numbers() -> None:
    assert taken([7, "5", 7.0], words=("5", "7")).records.labels.tolist() == [1, 0, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "strange", ["text", 0.5, None, float("nan"), "\ud800", b"\xff", object(), True, 10**30]
)
def test_how_a_label_and_a_unit_are_read_does_not_depend_on_the_others(strange: object) -> None:
    """One person more may not change how other people's images are read: not to text, nor to floats."""
    labels, units = [0, 1, 1, 0], [11, 12, 12, "13"]
    alone, beside = taken(labels, units).records, taken([*labels, strange], [*units, 14]).records
    assert np.array_equal(beside.labels[:4], alone.labels)  # type: ignore[union-attr]
    beside = taken([*labels, 1], [*units, strange]).records
    assert np.array_equal(beside.labels[:4], alone.labels)  # type: ignore[union-attr]
    assert np.array_equal(beside.unit_of_record[:4], alone.unit_of_record)
