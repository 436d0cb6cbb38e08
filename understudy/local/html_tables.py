"""Facts as a table for notebooks, and as text."""

import textwrap
from collections.abc import Iterable, Sequence
from html import escape

from understudy.drafts.display import WIDTH


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of plain texts for a notebook."""
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def text_table(title: str, facts: Iterable[Sequence[str]]) -> str:
    """Return facts as text, each on lines of its own below a title."""
    lines = [title]
    for name, fact in facts:
        line = f"{name}: {fact}"
        lines += textwrap.wrap(
            line,
            WIDTH,
            initial_indent="  ",
            subsequent_indent="      ",
            break_on_hyphens=False,
            break_long_words=False,
        )
    return "\n".join(lines)
