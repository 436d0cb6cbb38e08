"""Every code block of the documentation is run, against a real service, or says why it is not.

`tests/system/test_published_pages.py` runs them, most pages every day and some weekly; blocks that install or train at length have a weekly
test of their own. Here JSON and TOML are
parsed, a document that names its schema is held against it, and what is not run is counted.
"""

import json
import tomllib
from collections import Counter

import pytest

from core.plan.domain.declared import domain_from_json
from tests.docs.code_blocks import PROXIES, READ, ROOT, RUN, Block, blocks_of, name_of, pages

BLOCKS = {name_of(page): blocks_of(page) for page in pages()}
NO_SCHEMA = "none: the body of a request"
NOT_RUN = {"docs/tutorials/operator.md": 1}
"""How many blocks of a page are never run. A new one needs a reason, and a line here."""
RUN_WEEKLY = {"README.md": 1, "docs/federated.md": 2, "docs/mechanisms/graphical.md": 1, "docs/start.md": 4}
"""How many blocks of a page run weekly, in the test marked `long` that their comment names."""


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
    assert isinstance(document, dict)
    assert document.get("schema", NO_SCHEMA) in {NO_SCHEMA, "understudy.domain/1", "understudy.images/1"}
    if "schema" in document:
        document.pop("declared_size", None)
        assert domain_from_json(document).to_json()["schema"] == document["schema"]


def test_what_is_not_run_says_why_and_is_on_the_list() -> None:
    excused = [block for blocks in BLOCKS.values() for block in blocks if block.excuse is not None]
    for listed, weekly in ((NOT_RUN, False), (RUN_WEEKLY, True)):
        assert Counter(name_of(block.page) for block in excused if block.weekly == weekly) == listed
    for block in excused:
        assert block.language in RUN, f"{block.place}: nothing to excuse"
        assert len(str(block.excuse)) > 20, f"{block.place}: say why"
        if block.weekly:
            test = ROOT / str(block.excuse).rpartition("; ")[2]
            assert "pytest.mark.long" in test.read_text(), f"{block.place}: name the test that runs it"


def test_every_block_has_a_language_that_is_known() -> None:
    known = RUN | READ | PROXIES | {"", "text"}
    assert not [block.place for blocks in BLOCKS.values() for block in blocks if block.language not in known]
