"""A bundle becomes a generator again, whoever trained it: a service, a machine, one of several."""

from pathlib import Path

import pytest

import understudy
from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import certified
from tests.core.artifacts.certified_graphical import certified_graphical
from tests.core.artifacts.certified_selection import packed, selection_statement
from understudy import InputUnusable, InvalidInput


def bundles() -> dict[str, bytes]:
    whole, graph = certified(), certified_graphical()
    return {
        "idpgan": pack(whole.bundle, readme=whole.readme),
        "aim": pack(graph.bundle, readme=graph.readme),
        "the best of several": packed(selection_statement()),
    }


@pytest.mark.parametrize("name", ["idpgan", "aim", "the best of several"])
def test_a_saved_bundle_draws_answers_and_says_what_it_is(tmp_path: Path, name: str) -> None:
    file = tmp_path / "bundle.zip"
    file.write_bytes(bundles()[name])
    opened = understudy.generator(file)
    rows = opened.sample(20)
    assert len(rows) == 20
    assert list(opened.sample(5, form="arrow").column_names) == list(rows.columns)
    assert f"synthesizer: {name}" in repr(opened)
    assert "guarantee: epsilon 1" in repr(opened)
    assert opened.save(tmp_path / "again.zip").read_bytes() == file.read_bytes()
    assert repr(understudy.generator(file.read_bytes())) == repr(opened)


def test_images_come_back_as_arrays() -> None:
    made = image_stand_in.bundle()
    opened = understudy.generator(pack(made, readme=""))
    assert opened.of_images
    assert opened.sample(3)["images"].shape[0] == 3


def test_a_generator_is_no_classifier() -> None:
    for bundle in (bundles()["idpgan"], pack(image_stand_in.bundle(), readme="")):
        with pytest.raises(InputUnusable, match=r"holds a generator: open it with understudy.generator"):
            understudy.classifier(bundle)


def test_what_holds_no_generator_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputUnusable, match="there is no file"):
        understudy.generator(tmp_path / "none.zip")
    (tmp_path / "text.zip").write_text("hello")
    with pytest.raises((InputUnusable, InvalidInput)):
        understudy.generator(tmp_path / "text.zip")
