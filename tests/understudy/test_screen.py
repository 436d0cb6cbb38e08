import io

from rich.console import Console

from understudy.cli.screen import TerminalScreen, left_text, stage_text
from understudy.client.handles import Job


def job(state: str = "running", **progress: object) -> Job:
    known = {
        "stage": "train", "step": 50, "total": 200, "percent": 40, "eta_seconds": 75, "epsilon_planned": 0.9996,
    }  # fmt: skip
    return Job.from_json(
        {
            "id": "j",
            "dataset_id": "d",
            "state": state,
            "release_id": None,
            "failure": None,
            "progress": known | progress,
        }
    )


def screen(*, terminal: bool) -> tuple[TerminalScreen, io.StringIO]:
    written = io.StringIO()
    return TerminalScreen(Console(file=written, force_terminal=terminal, width=120)), written


def test_a_job_shows_stage_step_time_left_and_planned_epsilon() -> None:
    assert stage_text(job()) == "train 50/200"
    assert left_text(job()) == "about 1:15 left, epsilon 0.9996 planned"
    assert stage_text(job("queued", stage=None, step=0, total=0)) == "queued"
    assert left_text(job("succeeded")) == "epsilon 0.9996 planned"


def test_without_a_terminal_a_line_is_written_per_stage_not_per_look() -> None:
    shown, written = screen(terminal=False)
    with shown.training() as look:
        for step in range(5):
            look(job(step=step))
        look(job(stage="export", step=0, total=0))
    assert [line.split()[0] for line in written.getvalue().splitlines()] == ["train", "export"]


def test_on_a_terminal_bars_show_everything() -> None:
    shown, written = screen(terminal=True)
    with shown.training() as look:
        look(job())
    with shown.transfer("upload", 100) as seen:
        seen(100)
    text = written.getvalue()
    assert "train 50/200" in text
    assert "epsilon 0.9996 planned" in text
    assert "upload" in text


def test_lines_are_shown_as_they_are() -> None:
    shown, written = screen(terminal=True)
    shown.say("a [bold]name[/] " + "x" * 200)
    assert written.getvalue() == "a [bold]name[/] " + "x" * 200 + "\n"


def test_what_other_people_wrote_does_not_steer_the_terminal() -> None:
    shown, written = screen(terminal=True)
    shown.say("purpose \x1b[2Jé\u202e\x07\nVERIFIED")
    assert written.getvalue() == "purpose \\u001b[2Jé\\u202e\\u0007\\u000aVERIFIED\n"
