"""Keeps the numbers of docs/read-it-in-an-hour.md true: links to lines, line counts, and the table of stops.

The page is written by hand. Each link to a symbol is resolved in the syntax tree of its file; `python -m docs.generate` writes
the numbers in place, and a test compares. `docs.source_hook` shows the linked files on the site.
"""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = "docs/read-it-in-an-hour.md"
MINUTES: Final = 60

LINK: Final = re.compile(r"\[`(?P<symbol>[\w.]+)`\]\(\.\./(?P<path>[\w/]+\.py)(?:#L\d+-L\d+)?\)")
_ROW: Final = re.compile(rf"^\| {LINK.pattern} \| `[^`]*` \| \d* \|$", re.MULTILINE)
_STOP: Final = re.compile(r"^## (?P<title>\d+\. .+)$", re.MULTILINE)
_TABLE: Final = re.compile(
    r"(?<=<!-- stops: `make docs` writes them -->\n).*?(?=<!-- end of stops -->)", re.DOTALL
)


def with_true_lines(text: str) -> str:
    """Return the page with the lines of every linked symbol, and with the table of stops that they add up to.

    Raises:
        LookupError: a file has no such symbol, a symbol is read twice, or a link stands outside a stop's table.
    """
    rows = [(row["path"], row["symbol"]) for row in _ROW.finditer(text)]
    links = [(link["path"], link["symbol"]) for link in LINK.finditer(text)]
    if rows != links or len(set(rows)) < len(rows):
        raise LookupError(
            "every link to a symbol is a row of one stop, `| link | file | lines |`, and stands once"
        )
    text = _ROW.sub(_true_row, text)
    return _TABLE.sub(lambda _: _table(text), text)


def stops(text: str) -> dict[str, int]:
    """Return the lines to read at every stop of the page, in order, by its title."""
    starts = [(stop["title"], stop.start()) for stop in _STOP.finditer(text)]
    ends = pairwise([*(start for _, start in starts), len(text)])
    return {
        title: sum(len(lines_of(row["path"], row["symbol"])) for row in _ROW.finditer(text, *piece))
        for (title, _), piece in zip(starts, ends, strict=True)
    }


def minutes_of(lines: list[int]) -> list[int]:
    """Share the hour out by lines, in whole minutes that add up to it (largest remainders)."""
    whole = sum(lines)
    shares = [MINUTES * count // whole for count in lines]
    by_remainder = sorted(range(len(lines)), key=lambda place: -(MINUTES * lines[place] % whole))
    for place in by_remainder[: MINUTES - sum(shares)]:
        shares[place] += 1
    return shares


def lines_of(path: str, symbol: str) -> range:
    """Return the line numbers of a definition, decorators and docstring included.

    Args:
        path: Of a file, from the root of the repository.
        symbol: A name at the top of the file, or `Class.name`.

    Raises:
        LookupError: the file has no such symbol.
    """
    body = _tree(path).body
    for name in symbol.split("."):
        found = next((node for node in body if name in _names(node)), None)
        if found is None:
            raise LookupError(f"{path} has no {symbol}")
        body = getattr(found, "body", [])
    first = min([found.lineno, *(mark.lineno for mark in getattr(found, "decorator_list", []))])
    assert found.end_lineno is not None, "parsed from text"
    return range(first, found.end_lineno + 1)


def true_page() -> str:
    """Return the page as it should be."""
    return with_true_lines((ROOT / PAGE).read_text())


def _true_row(row: re.Match[str]) -> str:
    path, symbol = row["path"], row["symbol"]
    lines = lines_of(path, symbol)
    return f"| [`{symbol}`](../{path}#L{lines[0]}-L{lines[-1]}) | `{path}` | {len(lines)} |"


def _table(text: str) -> str:
    counts = stops(text)
    rows = zip(counts.items(), minutes_of(list(counts.values())), strict=True)
    return "".join(
        [
            "\n| stop | lines | minutes |\n|---|---:|---:|\n",
            *(
                f"| [{title}](#{_anchor(title)}) | {lines} | {minutes} |\n"
                for (title, lines), minutes in rows
            ),
            f"| **together** | **{sum(counts.values()):,}** | **{MINUTES}** |\n\n",
        ]
    )


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\s-]", "", title).strip().lower().replace(" ", "-")


def _names(node: ast.stmt) -> Iterator[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


@lru_cache(maxsize=128)
def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text())
