"""The page docs/leak-channels.md, from the tables here."""

from collections.abc import Iterator

from tests.privacy.leaks.channels import CHANNELS, LIMITS
from tests.privacy.leaks.places import OWNERS_OWN
from tests.privacy.leaks.sources import HEADERS, OPERATIONS, PROBLEM, SAME_ON_NEIGHBOURS, Fields, Source

_HEAD = """\
# Leak channels

By which ways a private row could be told, what closes each, and the test that fails if it were open. The tests run a whole deployment over two neighbouring tables: uploads, a
training that is shot down and resumed, one that fails among the rows and says all it can about them, downloads, and every operation
of the API asked for by everybody but the owner.
"""
_FIELDS = """\
## Where every field comes from

Everything that anybody but the owner is told, field by field. A new field fails the test until it has a line here. Fields of the
sources marked with = are compared between the two tables and are the same to the byte.
"""


def leak_channels_page() -> str:
    """The page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from (_HEAD, "| channel | rule | tests |", "|---|---|---|")
    for channel, rule, tests in CHANNELS:
        yield f"| {channel} | {rule} | {', '.join(f'`{test}`' for test in tests)} |"
    yield "\n## What is not closed\n"
    yield LIMITS
    yield "## Columns with counts of rows in the clear\n"
    yield from (f"* `{column}`: {reason}." for column, reason in OWNERS_OWN.items())
    yield f"\n{_FIELDS}"
    for source in Source:
        yield f"* {'=' if source in SAME_ON_NEIGHBOURS else '·'} **{source.name.lower()}**: {source}"
    yield from _section("every answer", HEADERS)
    yield from _section("every refusal", PROBLEM)
    for operation, fields in sorted(OPERATIONS.items()):
        yield from _section(f"`{operation}`", fields)


def _section(title: str, fields: Fields) -> Iterator[str]:
    yield f"\n### {title}\n"
    if not fields:
        yield "For the owner alone; everybody else is refused."
    for source in Source:
        named = [f"`{path}`" for path, its in fields.items() if its is source]
        if named:
            yield f"* {source.name.lower()}: {', '.join(named)}"
