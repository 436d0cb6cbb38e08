"""Lists of commands in help: each with its whole first sentence, those of ``understudy`` by what a person wants to do."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from typer.core import TyperGroup

SECTIONS: Final = {
    "Your own table or images": ("domain", "dummy", "publish", "sample", "ask", "check-rules", "report", "verify"),
    "Order from a service": (
        "overview", "budget", "known", "quote", "order", "status", "precision", "figures", "quality", "member",
    ),
    "Answer for it": ("ledger", "audit", "dossier", "signing-keys"),
    "People": ("members", "people", "keys", "notify"),
    "The stack on this machine": ("demo", "up", "sign-in", "doctor", "backup", "restore"),
}  # fmt: skip
_LONGEST: Final = 200
"""Characters of a sentence; longer ones are cut."""


class WholeSentences(TyperGroup):
    """A group whose help lists each command with its whole first sentence."""

    sections: Mapping[str, Sequence[str]] = {}

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - of click, which typer brings
        """Write the commands under their headings, and those without one at the end."""
        known = self.list_commands(ctx)
        sections = {
            heading: [name for name in names if name in known] for heading, names in self.sections.items()
        }
        headed = {name for names in sections.values() for name in names}
        sections["Others" if headed else "Commands"] = [name for name in known if name not in headed]
        width = max(map(len, known))
        for heading, names in sections.items():
            if names:
                with formatter.section(heading):
                    formatter.write_dl(
                        [
                            (name.ljust(width), self.commands[name].get_short_help_str(_LONGEST))
                            for name in names
                        ]
                    )


class Sections(WholeSentences):
    """The commands of ``understudy``."""

    sections = SECTIONS
