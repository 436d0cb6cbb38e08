"""A hook of the site's builder: each notebook is a page too, beside the file that a reader downloads and runs."""

import json
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_LINK = re.compile(r"(\]\((?!https?:)[^)#\s]+)\.ipynb(#[^)]*)?\)(?!\{ download)")
_NOTE = "[Download this notebook]({name}){{ download }}"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a page for every notebook; nothing is written into the source."""
    for notebook in sorted(Path(config.docs_dir).rglob("*.ipynb")):
        place = notebook.relative_to(config.docs_dir).with_suffix(".md").as_posix()
        files.append(File.generated(config, place, content=page_of(notebook)))
    return files


def on_page_markdown(markdown: str, **_facts: object) -> str:
    """Let links to a notebook lead to its page, unless they download it."""
    return _LINK.sub(lambda link: f"{link[1]}.md{link[2] or ''})", markdown)


def page_of(notebook: Path) -> str:
    """Return the page of a notebook: its text, and its code in fences."""
    cells = [
        (cell["cell_type"], "".join(cell["source"])) for cell in json.loads(notebook.read_text())["cells"]
    ]
    blocks = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells]
    return "\n\n".join([*blocks, _NOTE.format(name=notebook.name)]) + "\n"
