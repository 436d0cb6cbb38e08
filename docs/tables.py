"""How the page of measured figures spells a table and the machine it was measured on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(line) + " |" for line in lines]


def machine(result: Mapping[str, Any]) -> str:
    """Where and when the newest entry of a result was measured; others may be older."""
    facts = result.get("machine", {})
    return f"Last measured {facts.get('date')} on {facts.get('processor')}, {facts.get('cores')} cores, Python {facts.get('python')}.\n"
