"""The bar of a training in a terminal or a notebook."""

from collections.abc import Iterator
from contextlib import contextmanager

from understudy.local.fitting import Watch


@contextmanager
def progress_bar(*, wanted: bool) -> Iterator[Watch | None]:
    """Show stage and steps in a terminal or a notebook; nothing in a pipe.

    Yields:
        What `understudy.local.fit` calls with stage, step and number of steps; None where nothing is shown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from understudy.training_bar import shows_bars

    console = Console(stderr=True)
    if not (wanted and shows_bars(console)):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("preparing", total=None)

        def watch(stage: str, step: int, total: int) -> None:
            progress.update(task, description=stage, completed=step, total=total)

        yield watch
