"""Images: nothing of them is on a disk in the clear at any moment, no error quotes a name or a word, each is judged by itself."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import PngImagePlugin

from core.data.errors import NoAcceptableRows
from core.data.intake.intake import NPZ, ZIP, receive, store_rows
from core.data.objects import open_store
from core.errors import UnderstudyError
from core.plan.domain.images import ImageDomain
from models.coding import coded_images
from tests.core.data.pictures import archive, images, noise, npz, picture
from tests.privacy.leaks.canaries import PERSON, WARD, in_bytes, in_text
from tests.privacy.leaks.stage import Watch

KEY = bytes(range(32))
DOMAIN = images(unit="person", labels=("A", WARD))
COUNT = 200


def with_words(image: np.ndarray) -> bytes:
    """A picture whose text says more than its pixels."""
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", PERSON)
    return picture(image, pnginfo=notes, compress_level=0)


PICTURES = [with_words(image) for image in noise(DOMAIN, COUNT)]
LINES = "".join(f"{PERSON}{place}.png,{WARD},{PERSON}{place % 50}\n" for place in range(COUNT))
FILES = {f"{PERSON}{place}.png": content for place, content in enumerate(PICTURES)}
LABELS = {"labels.csv": f"file,label,person\n{LINES}".encode()}
WORDS = np.array([WARD.encode()] * COUNT)
ARRAYS = {"images": noise(DOMAIN, COUNT), "labels": WORDS, "units": np.array([PERSON.encode()] * COUNT)}


def plain_npz() -> bytes:
    target = io.BytesIO()
    np.savez(target, **ARRAYS)
    return target.getvalue()


UPLOADS = {"zip": (ZIP, archive(FILES | LABELS, 0)), "npz": (NPZ, plain_npz())}
BROKEN = {
    "no label file": (ZIP, archive(FILES)),
    "another header": (ZIP, archive(FILES | {"labels.csv": f"{PERSON},{WARD}\n{LINES}".encode()})),
    "a file named twice": (ZIP, archive(FILES | {"labels.csv": LABELS["labels.csv"] + LINES.encode()})),
    "no image is good": (ZIP, archive(dict.fromkeys(FILES, PERSON.encode()) | LABELS)),
    "cut off": (ZIP, UPLOADS["zip"][1][:-9]),
    "an array of that name": (NPZ, npz(**ARRAYS | {PERSON: WORDS})),
    "words of no label": (NPZ, npz(**ARRAYS | {"labels": np.array([PERSON] * COUNT)})),
    "objects": (NPZ, npz(**ARRAYS | {"labels": np.array([PERSON] * COUNT, object)})),
}


def take_in(folder: Path, kind: str, content: bytes) -> Watch:
    """Store an upload, looking at all files before every piece and at every moment between. Returns the watch."""
    watch = Watch(folder)

    def pieces():
        for start in range(0, len(content), 1 << 12):
            watch.look_once()
            yield content[start : start + (1 << 12)]

    with watch:
        store_rows(
            pieces(), content_type=kind, domain=DOMAIN, store=open_store((folder / "objects").as_uri()),
            key="datasets/a/rows.sealed", data_key=KEY, scratch_folder=folder / "scratch",
        )  # fmt: skip
    watch.look_once()
    return watch


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "objects").mkdir()
    return tmp_path


@pytest.mark.parametrize("name", UPLOADS)
def test_nothing_is_on_disk_in_the_clear_at_any_moment(folder: Path, name: str) -> None:
    kind, content = UPLOADS[name]
    assert in_bytes(content), "the words would be found"
    watch = take_in(folder, kind, content)
    assert watch.seen > 0
    assert not watch.found
    assert not list((folder / "scratch").iterdir())
    (kept,) = [path for path in (folder / "objects").rglob("*") if path.is_file()]
    assert not in_bytes(kept.read_bytes())


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_upload_leaves_nothing_and_its_error_quotes_nothing(folder: Path, how: str) -> None:
    kind, content = BROKEN[how]
    with pytest.raises(UnderstudyError) as refused:
        take_in(folder, kind, content)
    assert not [path for path in folder.rglob("*") if path.is_file()]
    error = refused.value
    # The declared label is public; it is a canary of tables.
    told = f"{error} {error.detail} {error.remedy} {error.facts}"
    assert not in_text(told)


ROW_DOMAIN: ImageDomain = images(unit="person", labels=("a", "b"))
GOOD = [picture(image) for image in noise(ROW_DOMAIN, 2)]
# (content, label, unit): good ones, twice the same, and one of every kind that is refused.
ROWS = (
    (GOOD[0], "a", "p1"), (GOOD[0], "a", "p1"), (GOOD[1], "b", "p2"), (GOOD[1], "c", "p2"), (GOOD[1], "", "p3"),
    (GOOD[0], "b", ""), (b"text", "a", "p4"), (GOOD[0][:-30], "a", "p5"), (picture(noise(images(side=7), 1)[0]), "b", "p6"),
    (picture(noise(images(channels=3), 1)[0]), "b", "p7"), (GOOD[0], "b", "x" * 300),
)  # fmt: skip


def coded(rows: list[int], folder: Path) -> list[tuple[bytes, int]]:
    """Pixels and labels of the rows that are taken, in their order."""
    lines = "".join(f"{place}.png,{ROWS[row][1]},{ROWS[row][2]}\n" for place, row in enumerate(rows))
    files = {f"{place}.png": ROWS[row][0] for place, row in enumerate(rows)}
    sink = io.BytesIO()
    try:
        receive(
            [archive(files | {"labels.csv": f"file,label,person\n{lines}".encode()})],
            content_type=ZIP, domain=ROW_DOMAIN, sink=sink, scratch_folder=folder,
        )  # fmt: skip
    except NoAcceptableRows:
        return []
    found = coded_images(pa.ipc.open_stream(sink.getvalue()), ROW_DOMAIN)
    return [(image.tobytes(), int(label)) for image, label in zip(found.pixels, found.labels, strict=True)]


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[list[tuple[bytes, int]]]:
    return [coded([row], tmp_path_factory.mktemp("alone")) for row in range(len(ROWS))]


@settings(max_examples=6, derandomize=True, deadline=None)
@given(rows=st.lists(st.integers(0, len(ROWS) - 1), min_size=1, max_size=12))
def test_images_are_coded_as_they_are_one_by_one(alone, rows, tmp_path_factory) -> None:
    assert coded(rows, tmp_path_factory.mktemp("all")) == [each for row in rows for each in alone[row]]


def test_some_rows_are_taken_and_some_are_not(alone) -> None:
    assert [len(found) for found in alone] == [1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]
