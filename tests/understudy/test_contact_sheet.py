import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from rich.console import Console

from core.artifacts.packing import pack
from core.artifacts.sampling.samples import open_samples
from tests.core.artifacts.image_stand_in import HEIGHT, WIDTH, bundle, unlabelled
from understudy import InputUnusable
from understudy.cli.screen import TerminalScreen
from understudy.contact_sheet import MOST_LINES, Sheet, half_blocks, read_sheet


def _drawn(tmp_path: Path, made: object = None, *, rows: int = 7) -> Path:
    file = tmp_path / "sheet.png"
    packed = pack(made or bundle(), readme="x")  # type: ignore[arg-type]
    file.write_bytes(b"".join(open_samples(packed).write(rows, "png")))
    return file


def _pixels(sheet: Sheet) -> np.ndarray:
    lines = np.frombuffer(sheet.lines, dtype=np.uint8).reshape(sheet.height, -1)[:, 1:]
    return lines.reshape(sheet.height, sheet.width, sheet.channels)


@pytest.mark.parametrize("made", [bundle(), unlabelled()], ids=["colour", "grey"])
def test_a_sheet_of_the_service_is_read_as_any_library_reads_it(tmp_path, made) -> None:
    file = _drawn(tmp_path, made)
    sheet = read_sheet(file)
    known = np.asarray(PIL.Image.open(file)).reshape(sheet.height, sheet.width, sheet.channels)
    np.testing.assert_array_equal(_pixels(sheet), known)
    assert sheet.shade(3, 4, 1) == tuple(known[3, 4].tolist() * (3 // sheet.channels))
    assert sheet.height > HEIGHT
    assert sheet.width > WIDTH


def test_a_half_block_holds_two_pixels() -> None:
    lines = b"\0\x01\x02\x03\x04\x05\x06" + b"\0\x07\x08\x09\x0a\x0b\x0c" + b"\0\xff\xff\xff\0\0\0"
    text = half_blocks(Sheet(width=2, height=3, channels=3, lines=lines), columns=80)
    assert text.plain == "▀▀\n▀▀\n"
    colours = [(span.style.color.triplet, span.style.bgcolor.triplet) for span in text.spans]  # type: ignore[union-attr]
    assert colours[:2] == [((1, 2, 3), (7, 8, 9)), ((4, 5, 6), (10, 11, 12))]
    assert colours[2:] == [((255, 255, 255),) * 2, ((0, 0, 0),) * 2]


def test_a_sheet_wider_than_the_terminal_is_averaged_and_a_long_one_is_cut() -> None:
    rows = np.zeros((4, 5), dtype=np.uint8)
    rows[:2, 1:3] = 100
    rows[:2, 3:] = [[0, 100], [0, 100]]
    text = half_blocks(Sheet(width=4, height=4, channels=1, lines=rows.tobytes()), columns=2)
    assert text.plain == "▀▀\n"
    shades = [span.style.color.triplet[0] for span in text.spans]  # type: ignore[union-attr]
    assert shades == [100, 50]
    tall = half_blocks(Sheet(width=1, height=10_000, channels=1, lines=bytes(20_000)), columns=10)
    assert tall.plain.count("\n") == MOST_LINES


def _filtered(_whole: bytes) -> bytes:
    """A smooth image as another library writes it: each row as differences to the one above."""
    pixels = np.sort(np.random.default_rng(1).integers(0, 256, (9, 9, 3), dtype=np.uint8), axis=0)
    foreign = io.BytesIO()
    PIL.Image.fromarray(pixels).save(foreign, "PNG")
    return foreign.getvalue()


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _whole: b"",
    "text": lambda _whole: b"no image",
    "cut": lambda whole: whole[: len(whole) // 2],
    "no header": lambda whole: whole[:8],
    "huge": lambda whole: whole[:16] + b"\x7f\xff\xff\xff" * 2 + whole[24:],
    "sixteen bits": lambda whole: whole[:24] + b"\x10" + whole[25:],
    "filtered": _filtered,
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_sheet_of_the_service_is_refused(tmp_path, name) -> None:
    file = _drawn(tmp_path, unlabelled())
    file.write_bytes(BROKEN[name](file.read_bytes()))
    with pytest.raises(InputUnusable, match="any viewer"):
        read_sheet(file)


@pytest.mark.parametrize("terminal", [True, False])
def test_a_screen_shows_it_in_colours_only(tmp_path, terminal) -> None:
    file = _drawn(tmp_path, rows=3)
    written = io.StringIO()
    colours = "truecolor" if terminal else None
    console = Console(file=written, force_terminal=terminal, color_system=colours, width=200)
    TerminalScreen(console).show(file)
    if terminal:
        lines = written.getvalue().splitlines()
        assert len(lines) == -(-read_sheet(file).height // 2)
        assert lines[0].count("▀") == read_sheet(file).width
        assert "\x1b[38;2;128;128;128" in lines[0]
    else:
        assert f"open {file}" in written.getvalue().replace("\n", "")
        assert "▀" not in written.getvalue()
