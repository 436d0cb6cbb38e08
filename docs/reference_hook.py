"""A hook of the site's builder: the reference pages are made from the code while the site is built."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

# The builder loads hooks by path, from wherever it was started.
sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.reference import REFERENCE


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every reference page; nothing is written into the source."""
    for name, write in REFERENCE.items():
        files.append(File.generated(config, f"reference/{name}", content=write()))
    return files
