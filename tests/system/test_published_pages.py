"""What the pages of the documentation show is run: every shell and Python block that does not say why it is not, and every notebook.

Shell blocks run in bash with the real command, Python blocks in this process, page by page in the page's order and in one folder, on the stack
that the tests beside this file share. Where a block names an id as `$DATASET` or `dataset_id`, it has the newest that the pages have made.
Pages that start a stack of their own, that train images or several times, and all notebooks, run weekly.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cases import daily
from tests.docs.code_blocks import RUN, Block, blocks_of, name_of, pages
from tests.docs.stage import Stage, few_steps, images_folder, page_folder, staged
from tests.system.conftest import Up
from understudy import Client

# The first page trains a generator and starts everything; a busy machine takes its time for it.
pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(1200),
    # The rows of the pages are chance, so nothing tells their target.
    pytest.mark.filterwarnings("ignore::understudy.errors.HiddenByNoise"),
]

PROGRAMS = ("openssl", "curl")
"""What a few blocks call besides the command, and a machine may lack."""


def is_played(block: Block) -> bool:
    """Whether a block is run on this machine."""
    lacks = any(program in block.text and shutil.which(program) is None for program in PROGRAMS)
    return block.language in RUN and block.excuse is None and not lacks


PLAYED = {name_of(page): [block for block in blocks_of(page) if is_played(block)] for page in pages()}
OF_IMAGES = {"docs/image-releases.md"}
PLAYED_WEEKLY = OF_IMAGES | {
    "docs/tutorials/operator.md",
    "docs/local-library.md",
    "docs/private-models.md",
    "docs/tutorials/protection-officer.md",
    *(name for name in PLAYED if name.endswith(".ipynb")),
}
PLAYED_DAILY = [name for name, blocks in PLAYED.items() if blocks and name not in PLAYED_WEEKLY]


@pytest.fixture(scope="module")
def stage(shared_up: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    def readme(stage: Stage, folder: Path) -> None:
        for block in PLAYED["README.md"]:
            if block.language == "sh":
                stage.run(block, folder, {})

    with few_steps(), staged(tmp_path_factory.mktemp("stage"), shared_up, readme) as found:
        yield found


@pytest.mark.parametrize(
    "name", daily((name for name, blocks in PLAYED.items() if blocks), some=PLAYED_DAILY)
)
def test_the_blocks_of_a_page_run(
    name: str, stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "README.md":
        assert (stage.published / "folder" / "synthetic.csv").exists(), "the stage played its shell blocks"
    alone = name.endswith(".ipynb")  # a notebook makes all that it names, and talks to the running stack
    if name in OF_IMAGES:
        images_folder(stage, tmp_path)
    elif not alone:
        page_folder(stage, tmp_path, PLAYED[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNDERSTUDY_DATA_FOLDER", str(stage.up.data_folder if alone else tmp_path / "own"))
    names = {} if alone or name in OF_IMAGES else stage.given()
    try:
        for block in PLAYED[name]:
            if name != "README.md" or block.language != "sh":
                stage.run(block, tmp_path, names)
    finally:
        for left in names.values():
            if isinstance(left, Client):
                left.close()
        stage.tidy()
