"""Drafts of image domains: made without a library for images, marked, and good for their own file once confirmed."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from core.data.intake.intake import NPZ, ZIP, receive
from core.plan.domain.errors import DomainUnconfirmed
from core.plan.domain.images import ImageDomain
from tests.core.data.pictures import archive, images, labelled, mnist, noise, npz, picture
from tests.understudy.drafts.test_tables import confirmed
from understudy.cli import app
from understudy.drafts.changes import change
from understudy.drafts.images import draft_images
from understudy.drafts.marked_values import Mark, marks_of
from understudy.drafts.tables import render_draft
from understudy.errors import InputUnusable
from understudy.table_files import MARK

GREY = noise(images(), 23)
COLOUR = noise(images(side=9, channels=3), 23)
WORDS = ["10", "9", "2"] * 7 + ["9", "9"]
UPLOADS = {
    "png": ("a.zip", labelled([picture(image) for image in GREY], WORDS, WORDS), (5, 6, 1), "who"),
    "jpeg": ("a.zip", labelled([picture(image, "JPEG") for image in COLOUR], WORDS), (9, 10, 3), None),
    "grey jpeg": ("a.ZIP", labelled([picture(image, "JPEG", progressive=True) for image in GREY], WORDS), (5, 6, 1), None),
    "npz": ("a.npz", npz(images=COLOUR, labels=np.array(WORDS)), (9, 10, 3), None),
    "npz of numbers": ("a.npz", npz(images=GREY[..., 0], labels=np.array(WORDS).astype(int), units=np.arange(23)), (5, 6, 1), "unit"),
    "idx": ("a.zip", mnist(GREY, np.array(WORDS).astype(np.uint8)), (5, 6, 1), None),
}  # fmt: skip


@pytest.mark.parametrize("name", UPLOADS)
def test_a_confirmed_draft_takes_in_its_own_file(tmp_path: Path, name: str) -> None:
    file, content, shape, unit = UPLOADS[name]
    (tmp_path / file).write_bytes(content)
    draft = draft_images(tmp_path / file)
    assert json.loads(render_draft(draft)) == draft
    assert draft["declared_size"] == (10 if unit == "who" else 20), "three persons, or 23 images or persons"
    with pytest.raises(DomainUnconfirmed):
        ImageDomain.from_json({key: value for key, value in draft.items() if key != "declared_size"})
    assert set(draft[MARK]) == {"height", "width", "channels", "labels", "privacy_unit", "declared_size"}
    domain = ImageDomain.from_json(confirmed(draft))
    assert (domain.height, domain.width, domain.channels, domain.privacy_unit) == (*shape, unit)
    assert domain.labels == ("2", "9", "10")
    kind = NPZ if file.endswith("npz") else ZIP
    report = receive([content], content_type=kind, domain=domain, sink=io.BytesIO(), scratch_folder=tmp_path)
    assert (report.rows_accepted, report.rows_refused) == (23, 0)


def test_the_declared_size_of_images_counts_what_is_protected(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(labelled([picture(image) for image in GREY], WORDS, WORDS))
    draft = draft_images(tmp_path / "a.zip")
    assert (draft["privacy_unit"], draft["declared_size"]) == ("who", 10)
    for mark in marks_of(draft):
        mark.accept()
    change(draft, Mark(draft, "privacy_unit", None), "none")
    assert (draft["privacy_unit"], draft["declared_size"], draft[MARK]) == (None, 20, ["declared_size"])
    change(draft, Mark(draft, "privacy_unit", None), "who")
    assert (draft["privacy_unit"], draft["declared_size"]) == ("who", 10)
    with pytest.raises(InputUnusable, match="there is no column 'whom'; did you mean 'who'"):
        change(draft, Mark(draft, "privacy_unit", None), "whom")


def test_the_shape_is_that_of_most_images_and_a_note_counts_the_others(tmp_path: Path) -> None:
    small = images(side=4)
    files = {f"{place}.png": picture(image) for place, image in enumerate(GREY)}
    others = {
        "x.png": picture(noise(small, 1)[0]),
        "y.png": picture(GREY[0], mode="RGBA"),
        "z.txt": b"hello",
        ".DS_Store": b"junk",
        "d/": b"",
    }
    (tmp_path / "a.zip").write_bytes(archive(files | others))
    draft = draft_images(tmp_path / "a.zip")
    assert (draft["height"], draft["width"], draft["labels"]) == (5, 6, [])
    assert "3 of 26 files" in draft["_note"]


def test_names_of_folders_are_proposed_as_labels_and_read_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        f"{'cats' if place % 2 else 'dogs'}/{place}.png": picture(image) for place, image in enumerate(GREY)
    }
    (tmp_path / "a.zip").write_bytes(archive(files))
    draft = draft_images(tmp_path / "a.zip")
    assert draft["labels"] == ["cats", "dogs"]
    assert "labels" in draft["_from_data"]
    assert "the folders in which the pictures lie" in draft["_note"]
    (tmp_path / "b.zip").write_bytes(labelled([picture(image) for image in GREY], WORDS))
    assert "folders" not in draft_images(tmp_path / "b.zip")["_note"]
    app(
        ["domain", "draft", str(tmp_path / "a.zip"), "--out", str(tmp_path / "d.json")], standalone_mode=False
    )
    said = capsys.readouterr().out
    assert "Images of 5 by 6 pixels, grey. Labels: cats, dogs." in said
    assert "leave the list empty if these say something else" in said


def test_a_folder_is_no_file_but_may_become_one(tmp_path: Path) -> None:
    with pytest.raises(InputUnusable, match="is a folder: put it into a ZIP"):
        draft_images(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.zip", b"not a zip"),
        ("a.zip", archive({"a.txt": b"text"})),
        ("a.npz", npz(x=GREY)),
        ("a.npz", npz(images=GREY / 255)),
        ("a.npz", npz(images=GREY, labels=np.array([{}] * 23, object))),
        ("a.npz", archive({"images.npy": b"x"})),
        ("b.zip", None),
    ],
    ids=["text", "no images", "no array of images", "floats", "objects", "no array", "no file"],
)
def test_a_file_without_images_is_refused(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(InputUnusable):
        draft_images(tmp_path / name)


def test_the_command_writes_a_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.zip").write_bytes(UPLOADS["png"][1])
    app(["domain", "draft", "a.zip"], standalone_mode=False)
    assert json.loads((tmp_path / "domain.json").read_text())["schema"] == "understudy.images/1"


def test_options_of_csv_are_refused_for_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.zip").write_bytes(UPLOADS["png"][1])
    with pytest.raises(InputUnusable, match="CSV"):
        app(["domain", "draft", "a.zip", "--delimiter", ";"], standalone_mode=False)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    content = bytearray(archive({"a.png": picture(GREY[0])}, zipfile.ZIP_STORED))
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(mark) + at] |= 1
    (tmp_path / "a.zip").write_bytes(bytes(content))
    with pytest.raises(InputUnusable):
        draft_images(tmp_path / "a.zip")
