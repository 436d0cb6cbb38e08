"""Every code block of the documentation is run, against a real service, or says why it is not.

`tests/system/test_published_pages.py` runs them. Here JSON and TOML are parsed, a document that names its schema is held against it, and what
is not run is counted.
"""

import json
import tomllib

import pytest

from core.plan.domain.declared import domain_from_json
from tests.docs.code_blocks import PROXIES, READ, RUN, Block, blocks_of, name_of, pages

BLOCKS = {name_of(page): blocks_of(page) for page in pages()}
NO_SCHEMA = "none: the body of a request"
NOT_RUN = {
    "README.md": 1,
    "docs/federated.md": 2,
    "docs/mechanisms/graphical.md": 1,
    "docs/start.md": 3,
    "docs/tutorials/operator.md": 1,
}
"""How many blocks of a page are excused. A new one needs a reason, and a line here."""


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
    excused = {
        name: [block for block in blocks if block.excuse is not None] for name, blocks in BLOCKS.items()
    }
    assert {name: len(blocks) for name, blocks in excused.items() if blocks} == NOT_RUN
    for block in (block for blocks in excused.values() for block in blocks):
        assert block.language in RUN, f"{block.place}: nothing to excuse"
        assert len(str(block.excuse)) > 20, f"{block.place}: say why"


def test_every_block_has_a_language_that_is_known() -> None:
    known = RUN | READ | PROXIES | {"", "text"}
    assert not [block.place for blocks in BLOCKS.values() for block in blocks if block.language not in known]
