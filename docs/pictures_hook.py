"""A hook of the site's builder: a screenshot is shown as its reader would have it, on a phone and in the dark too.

Pages name one picture, `NAME-desktop-light.png`, so that they read the same elsewhere. The others that `make screenshots` took
of it become alternatives; a browser fetches only the one that it shows.
"""

import re
from pathlib import Path
from typing import Any

_SHOT = re.compile(
    r'<img (?P<before>[^>]*?)src="(?P<stem>[^"]*screenshots/[\w-]+)-desktop-light\.png"(?P<after>[^>]*)>'
)
_ALTERNATIVES = (
    ("phone-dark", "(max-width: 30em) and (prefers-color-scheme: dark)"),
    ("phone-light", "(max-width: 30em)"),
    ("desktop-dark", "(prefers-color-scheme: dark)"),
)
_TAKEN = Path(__file__).parent / "screenshots"


def on_page_content(html: str, **_facts: Any) -> str:  # noqa: ANN401 - what the builder passes, of which nothing is needed
    """Give every screenshot its alternatives."""
    return _SHOT.sub(_picture, html)


def _picture(match: re.Match[str]) -> str:
    name = match["stem"].rsplit("/", 1)[-1]
    sources = "".join(
        f'<source media="{media}" srcset="{match["stem"]}-{kind}.png">'
        for kind, media in _ALTERNATIVES
        if (_TAKEN / f"{name}-{kind}.png").exists()
    )
    return f"<picture>{sources}{match[0]}</picture>"
