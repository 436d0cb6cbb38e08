"""The code blocks of the documentation, as a reader sees them: of its pages, and the cells of its notebooks."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = {"python", "sh"}
READ = {"json", "toml"}
# Run by tests/service/proxies with the real programs.
PROXIES = {"nginx", "caddyfile"}
_FENCE = re.compile(
    r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<text>.*?)^(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)
_NOT_DAILY = re.compile(r"<!-- (?P<when>not run|run weekly): (?P<why>(?:(?!-->).)+) -->\n\Z", re.DOTALL)
WEEKLY = "run weekly"


@dataclass(frozen=True)
class Block:
    """One fenced block, or one cell of code.

    Attributes:
        page: the file.
        line: of its first line of code, from 1 on; in a notebook the number of its cell.
        language: as its fence says.
        text: the code.
        excuse: why it is not run every day, from a comment right above it; None where it is.
        weekly: whether it is run by a test marked `long`.
    """

    page: Path
    line: int
    language: str
    text: str
    excuse: str | None
    weekly: bool = False

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{name_of(self.page)}:{self.line}"


def pages() -> list[Path]:
    """The README, then every page that a person wrote, then the notebooks."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.rglob("*.md")), *sorted(docs.rglob("*.ipynb"))]


def weekly_blocks(page: str, test: str) -> list[Block]:
    """The blocks of a page, such as `docs/start.md`, that a module of tests runs weekly; in order."""
    file = test.replace(".", "/") + ".py"
    return [block for block in blocks_of(ROOT / page) if block.weekly and str(block.excuse).endswith(file)]


def name_of(page: Path) -> str:
    """A page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """The blocks of one page, in order."""
    text = page.read_text()
    if page.suffix == ".ipynb":
        return [
            Block(page=page, line=number, language="python", text="".join(cell["source"]), excuse=None)
            for number, cell in enumerate(json.loads(text)["cells"], 1)
            if cell["cell_type"] == "code"
        ]
    found = []
    for match in _FENCE.finditer(text):
        excuse = _NOT_DAILY.search(text[: match.start()])
        found.append(
            Block(
                page=page,
                line=text.count("\n", 0, match.start("text")) + 1,
                language=match["language"],
                text=match["text"],
                excuse=None if excuse is None else " ".join(excuse["why"].split()),
                weekly=excuse is not None and excuse["when"] == WEEKLY,
            )
        )
    return found
