"""Every code block of the documentation is run, against a real service, or says why it is not.

Shell blocks run in bash with the real command, Python blocks in this process, page by page in the page's order and in one folder. Where a
block names an id as `$DATASET` or `dataset_id`, it has the service's newest. JSON and TOML are parsed, and a document that names its schema
is held against it.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.domain.declared import domain_from_json
from tests.docs.code_blocks import READ, ROOT, RUN, Block, blocks_of, name_of, pages
from tests.docs.stage import Stage, few_steps, images_folder, page_folder, staged

README = ROOT / "README.md"
BLOCKS = {name_of(page): blocks_of(page) for page in pages()}
PLAYED = {
    name: [block for block in blocks if block.language in RUN and block.excuse is None]
    for name, blocks in BLOCKS.items()
}
OF_IMAGES = {"docs/image-releases.md"}
NOT_RUN = {
    "README.md": 1,
    "docs/certificate.md": 1,
    "docs/image-releases.md": 1,
    "docs/start.md": 3,
    "docs/tutorials/operator.md": 2,
}
"""How many blocks of a page are excused. A new one needs a reason, and a line here."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    def readme(stage: Stage, folder: Path) -> None:
        for block in PLAYED["README.md"]:
            stage.run(block, folder, {})

    with few_steps(), staged(tmp_path_factory.mktemp("stage"), readme) as found:
        yield found


@pytest.mark.parametrize("name", [name for name, blocks in PLAYED.items() if blocks])
def test_the_blocks_of_a_page_run(
    name: str, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "README.md":
        assert (stage.published / "folder" / "synthetic.csv").exists(), "the stage played it"
        return
    folder = images_folder(stage, tmp_path) if name in OF_IMAGES else page_folder(stage, tmp_path)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("UNDERSTUDY_DATA_FOLDER", str(tmp_path / "own"))
    names = {} if name in OF_IMAGES else stage.given(folder)
    try:
        for block in PLAYED[name]:
            stage.run(block, folder, names)
    finally:
        stage.tidy()


@pytest.mark.parametrize(
    "block",
    [block for blocks in BLOCKS.values() for block in blocks if block.language in READ],
    ids=lambda block: block.place,
)
def test_a_document_is_what_its_schema_says(block: Block) -> None:
    if block.language == "toml":
        assert tomllib.loads(block.text)
        return
    document = json.loads(block.text)
    assert document["schema"] in {"understudy.domain/1", "understudy.images/1"}
    document.pop("declared_size", None)
    assert domain_from_json(document).to_json()["schema"] == document["schema"]


def test_what_is_not_run_says_why_and_is_on_the_list() -> None:
    excused = {
        name: [block for block in blocks if block.excuse is not None] for name, blocks in BLOCKS.items()
    }
    assert {name: len(blocks) for name, blocks in excused.items() if blocks} == NOT_RUN
    for block in (block for blocks in excused.values() for block in blocks):
        assert block.language in RUN, f"{block.place}: nothing to excuse"
        assert len(str(block.excuse)) > 20, f"{block.place}: say why"


def test_every_block_has_a_language_that_is_known() -> None:
    known = RUN | READ | {"", "text"}
    assert not [block.place for blocks in BLOCKS.values() for block in blocks if block.language not in known]
