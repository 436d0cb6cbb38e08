"""The two forms of every answer: lines for people, or with ``--json`` one JSON document for programs.

With ``--json`` standard output holds the document and nothing else, indented by two; progress goes to
standard error. Lists are arrays. Only ``audit list`` writes one object a line, because it may be long.
"""

import json
from collections.abc import Iterable, Sequence

from rich.console import Console

from understudy.cli.screen import TerminalScreen
from understudy.documents import Json


def write_answer(document: Json | Sequence[Json], lines: Iterable[str], *, as_json: bool) -> None:
    """Write an answer: its lines for people, or the document for programs."""
    if as_json:
        print(json.dumps(document, indent=2))
        return
    screen = TerminalScreen(Console())
    for line in lines:
        screen.say(line)


def write_secret(document: Json, secret: str, notes: Iterable[str], *, as_json: bool) -> None:
    """Write a new key or token alone on standard output, so that it can be piped; notes for people go to standard error."""
    if not as_json:
        screen = TerminalScreen(Console(stderr=True))
        for note in notes:
            screen.say(note)
    write_answer(document, [secret], as_json=as_json)
