"""Output for people: progress bars on a terminal, plain lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TransferSpeedColumn,
)

from understudy.contact_sheet import half_blocks, read_sheet
from understudy.http.exchange import Seen
from understudy.plain_text import one_line
from understudy.results.jobs import JobFacts
from understudy.training_bar import left_text, stage_text, training_bar

LINE_SECONDS = 15.0


class TerminalScreen:
    """Shows the flow on a console; satisfies `understudy.publishing.order.Screen`."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def say(self, line: str) -> None:
        """Show one line: ids and paths are neither broken nor coloured, and what steers a terminal is shown as its number."""
        self.console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def transfer(self, title: str, total: int | None) -> Iterator[Seen]:
        """Show bytes going by."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console, disable=not self.console.is_terminal) as progress:
            task = progress.add_task(title, total=total)
            yield lambda count: progress.advance(task, count)
            if total is None:
                progress.update(task, total=progress.tasks[0].completed)

    def show(self, sheet: Path) -> None:
        """Show a contact sheet of synthetic images, where the terminal has colours."""
        if self.console.color_system is None:
            self.say(f"This terminal has no colours; open {sheet} to see the images.")
            return
        self.console.print(half_blocks(read_sheet(sheet), columns=self.console.width), end="")

    @contextmanager
    def training(self) -> Iterator[Callable[[JobFacts], None]]:
        """Show stage, step, percent, time to the end and the planned epsilon of a job."""
        if not self.console.is_terminal:
            yield self._lines()
            return
        with training_bar(self.console) as show:
            yield show

    def _lines(self) -> Callable[[JobFacts], None]:
        """Return a function that writes a line when the stage changes, and now and then."""
        last: dict[str, object] = {"stage": None, "at": 0.0}

        def show(job: JobFacts) -> None:
            stage = job.progress.stage or job.state
            if stage != last["stage"] or time.monotonic() - float(str(last["at"])) > LINE_SECONDS:
                last.update(stage=stage, at=time.monotonic())
                self.say(f"{stage_text(job)}  {job.progress.percent:.0f} %  {left_text(job)}".rstrip())

        return show
