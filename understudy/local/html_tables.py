"""Tables for notebooks."""

from collections.abc import Iterable, Sequence
from html import escape


def html_table(head: Sequence[str], rows: Iterable[Sequence[str]], *, note: str = "") -> str:
    """Return a table for a notebook, with a note above it.

    Args:
        head: column titles.
        rows: cells, as plain text.
        note: a sentence; empty for no note.
    """
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    above = f"<p>{escape(note)}</p>" if note else ""
    return f"{above}<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
