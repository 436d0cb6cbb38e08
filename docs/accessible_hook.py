"""A hook of the site's builder: accessible names that the theme omits."""

import re
from typing import Any

_SEARCH = 'data-md-component="search" role="dialog"'
_SECTION = re.compile(
    r'aria-labelledby="(?P<id>__nav_[0-9_]+)_label"(?P<rest>[^>]*>\s*<label class="md-nav__title" for="(?P=id)">'
    r'\s*<span class="md-nav__icon md-icon"></span>\s*(?P<title>[^<]+?)\s*</label>)'
)


def on_post_template(output_content: str, **_facts: Any) -> str:  # noqa: ANN401 - what the builder passes, of which nothing is needed
    """Name the same on the page of a wrong address, which is no page to the builder."""
    return on_post_page(output_content)


def on_post_page(output: str, **_facts: Any) -> str:  # noqa: ANN401 - what the builder passes, of which nothing is needed
    """Name the search dialog and the list of each section's pages.

    The theme names a list by a label that it hides, so all lists have the same empty name.
    """
    named = output.replace(_SEARCH, f'{_SEARCH} aria-label="Search"')
    return _SECTION.sub(lambda found: f'aria-label="{found["title"]}"{found["rest"]}', named)
