"""A hook of the site's builder: links to lines of source lead to pages of numbered lines, since the site has no repository."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

# The builder loads hooks by path, from wherever it was started.
sys.path.insert(0, str(Path(__file__).parents[1]))

from docs.source_lines import LINK, PAGE, ROOT, lines_of


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every linked file; nothing is written into the source."""
    linked = {link["path"] for link in LINK.finditer((ROOT / PAGE).read_text())}
    for path in sorted(linked):
        style = HtmlFormatter(full=True, title=path, linenos="inline", lineanchors="L")
        made = highlight((ROOT / path).read_text(), PythonLexer(), style)
        content = made.replace("<html>", '<html lang="en">', 1)
        files.append(File.generated(config, _place(path), content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_facts: object) -> str:
    """Let the links lead there."""
    if f"docs/{page.file.src_uri}" != PAGE:
        return markdown
    return LINK.sub(
        lambda link: (
            f"[`{link['symbol']}`]({_place(link['path'])}#L-{lines_of(link['path'], link['symbol'])[0]})"
        ),
        markdown,
    )


def _place(path: str) -> str:
    return f"source/{path.removesuffix('.py')}.html"
