"""Renders the document as one self-contained HTML file, for the screen and for printing on A4.

The file embeds the signed document as data, so that anyone with the file can verify it.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from core.canonical import canonical
from service.budgets.schemas import BudgetView
from service.wording import amounts, domain_text, labels
from service.wording.budget_pictures import bar_of

ENTRIES_SHOWN: Final = 500


def render(signed: Mapping[str, Any]) -> str:
    """The HTML of a signed document."""
    budget = BudgetView.model_validate(signed["budget"])
    entries = list(reversed(signed["ledger"]["statement"]["entries"]))
    template = _environment().get_template("dossier.html")
    return template.render(
        document=signed,
        bar=bar_of(budget),
        entries=entries[:ENTRIES_SHOWN],
        entries_left=max(0, len(entries) - ENTRIES_SHOWN),
        data=_as_data(signed),
    )


def _as_data(signed: Mapping[str, Any]) -> Markup:
    """The document for embedding in an HTML element: characters that could end the element are escaped."""
    text = canonical(signed).decode()
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)  # noqa: S704 - nothing in it can end the element or start another


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
    made.globals |= {"amounts": amounts, "labels": labels, "domain_text": domain_text}
    made.filters |= {
        "epsilon": amounts.epsilon,
        "delta": amounts.delta,
        "count": amounts.count,
        "short": amounts.short,
        "unbroken": _unbroken,
    }
    return made


def _unbroken(text: str) -> str:
    """A sentence whose small numbers do not break at the minus sign."""
    return re.sub(r"(\d)e-(\d)", "\\1e\u2011\\2", text)
