"""A hook of the site's builder: what is made from other files is made while the site is built."""

import importlib
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

# The builder loads hooks by path, from wherever it was started.
sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.package_files import package_files, write_files

# What follows imports the synchronous client, which a fresh copy of the repository does not have.
write_files(package_files())
importlib.invalidate_caches()

from docs.generate import made_files  # noqa: E402
from docs.reference import REFERENCE  # noqa: E402


def on_pre_build(config: MkDocsConfig) -> None:  # noqa: ARG001 - the builder passes it
    """Write the pages of results and the pictures, which the builder then finds among the others."""
    write_files(dict(made_files()))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every reference page; nothing is written into the source."""
    for name, write in REFERENCE.items():
        files.append(File.generated(config, f"reference/{name}", content=write()))
    return files
