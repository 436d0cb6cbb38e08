"""Commands in the text of pages: a browser breaks a line after any hyphen, which would cut `--epsilon` in two."""

import re
from typing import Final

from markupsafe import Markup, escape

_OPTION: Final = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


def with_whole_options(text: str) -> Markup:
    """Text of a page, escaped, whose options of commands stay in one line.

    Args:
        text: Plain, or Markup, which is not escaped again.
    """
    return Markup(_OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text))))  # noqa: S704 - escaped, and an option has no markup
