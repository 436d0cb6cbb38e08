"""A hook of the site's builder: long names in tables break after an underscore or a slash, never inside a word, and options of commands never."""

import re
from typing import Any

_CELL = re.compile(r"<t[dh]\b[^>]*>.*?</t[dh]>", re.DOTALL)
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
_AFTER = re.compile(r"(?<=[_/.:])(?=\w)")
_NO_TEXT = re.compile(r"(<(pre|script|style)\b.*?</\2>|<[^>]*>)", re.DOTALL)
"""What is shown as it is written, and tags."""
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def on_page_content(html: str, **_facts: Any) -> str:  # noqa: ANN401 - what the builder passes, of which nothing is needed
    """Mark where text may break, and where not. What is copied from the page is the same."""
    return _with_whole_options(_CELL.sub(lambda cell: _CODE.sub(_breakable, cell[0]), html))


def _breakable(code: re.Match[str]) -> str:
    return f"<code>{_AFTER.sub('<wbr>', code[1])}</code>"


def _with_whole_options(html: str) -> str:
    """Let options such as `--epsilon` stay in one line: a browser breaks after any hyphen."""
    made, end = [], 0
    for found in _NO_TEXT.finditer(html):
        made += [_OPTION.sub(_option, html[end : found.start()]), found[0]]
        end = found.end()
    return "".join([*made, _OPTION.sub(_option, html[end:])])


def _option(found: re.Match[str]) -> str:
    return f'<span class="option">{found[0]}</span>'
