"""Progress bar of a job: stage, steps, percent, remaining time, epsilon so far and planned epsilon."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from understudy.results.jobs import JobFacts

MINUTE_SECONDS = 60


@contextmanager
def training_bar(console: Console | None = None) -> Iterator[Callable[[JobFacts], None]]:
    """Show a progress bar while the context lasts, in a terminal or a notebook; nothing in a pipe.

    Yields:
        A function to call with each new state of the job.
    """
    console = console or Console()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, disable=not shows_bars(console)) as progress:
        task = progress.add_task("queued", total=100, left="")

        def show(job: JobFacts) -> None:
            progress.update(
                task, description=stage_text(job), completed=job.progress.percent, left=left_text(job)
            )

        yield show


def bar_if(wanted: bool) -> AbstractContextManager[Callable[[JobFacts], None]]:
    """Show a progress bar of a job, or nothing."""
    return training_bar() if wanted else nullcontext(lambda _job: None)


def shows_bars(console: Console) -> bool:
    """Whether a bar can move there: in a terminal, or in a notebook with ipywidgets, without which rich warns in its place."""
    return find_spec("ipywidgets") is not None if console.is_jupyter else console.is_terminal


def stage_text(job: JobFacts) -> str:
    """Describe the stage of a job."""
    progress = job.progress
    if progress.stage is None:
        return job.state
    steps = f" {progress.step}/{progress.total}" if progress.total else ""
    return f"{progress.stage}{steps}"


def left_text(job: JobFacts) -> str:
    """Describe the remaining time and the epsilons of a job."""
    progress = job.progress
    parts = []
    if progress.eta_seconds is not None and not job.ended:
        minutes, seconds = divmod(round(progress.eta_seconds), MINUTE_SECONDS)
        parts.append(f"about {minutes}:{seconds:02d} left")
    if progress.epsilon_so_far is not None and job.state == "running":
        parts.append(f"epsilon {progress.epsilon_so_far:.4g} so far")
    if progress.epsilon_planned is not None:
        parts.append(f"epsilon {progress.epsilon_planned:.4g} planned")
    return ", ".join(parts)
