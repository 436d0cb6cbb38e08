"""The document as a paper: one HTML file that needs nothing else, for the screen and for printing on A4.

It holds the signed document itself as data, so that whoever has the paper's file can check what it says.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core.signing.canonical import canonical
from service.budgets.schemas import BudgetView
from service.dashboard import domain_text, labels
from service.dashboard.budget_bar import bar_of

ENTRIES_SHOWN: Final = 500


def render(signed: Mapping[str, Any]) -> str:
    """The paper of a signed document."""
    budget = BudgetView.model_validate(signed["budget"])
    entries = list(reversed(signed["ledger"]["statement"]["entries"]))
    template = _environment().get_template("dossier.html")
    return template.render(
        told=signed,
        bar=bar_of(budget),
        entries=entries[:ENTRIES_SHOWN],
        entries_left=max(0, len(entries) - ENTRIES_SHOWN),
        data=_as_data(signed),
    )


def _as_data(signed: Mapping[str, Any]) -> Markup:
    """The document as it may stand inside an element of HTML: what could end the element is written in another way."""
    text = canonical(signed).decode()
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704 - nothing in it ends the element or begins another


@cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"labels": labels, "domain_text": domain_text}
    made.filters |= {
        "epsilon": labels.epsilon,
        "delta": labels.delta,
        "count": labels.count,
        "short": labels.short,
        "unbroken": _unbroken,
    }
    return made


def _unbroken(text: str) -> str:
    """A sentence whose small numbers do not break at their minus sign."""
    return re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", text)
