"""The files of the package that are made from others and are not in git: the synchronous client and the JSON Schemas.

`setup.py` writes them whenever the package is built or installed, `make docs` whenever their sources may have changed.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from docs.document_schemas import FORMS, schema_text
from docs.unasync import synchronous_client

ROOT: Final = Path(__file__).parents[1]


def package_files() -> Mapping[str, str]:
    """Return their texts, by path from the root of the repository."""
    schemas = {f"understudy/verifying/{document}.schema.json": schema_text(document) for document in FORMS}
    return schemas | {f"understudy/client/{name}": text for name, text in synchronous_client().items()}


def write_files(texts: Mapping[str, str]) -> None:
    """Write those that differ, so that the times of the others stay.

    Args:
        texts: by path from the root of the repository.
    """
    for name, text in texts.items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
