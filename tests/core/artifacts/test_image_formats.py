import csv
import io
import zipfile

import numpy as np
import PIL.Image
import pytest
from numpy.typing import NDArray

from core.artifacts.bundle import Bundle
from core.artifacts.drained_file import DrainedFile
from core.artifacts.errors import TooManyForFormat
from core.artifacts.sampling import image_formats
from core.artifacts.sampling.image_formats import GAP, GAP_SHADE, MEDIA_TYPES, sheet_grid, stream_images
from core.artifacts.sampling.image_sampler import ImageSample, ImageSampler
from core.artifacts.sampling.png import encode_png
from tests.core.artifacts.image_stand_in import HEIGHT, LABELS, WIDTH, bundle, expected, unlabelled


def _sample(images: int, made: Bundle | None = None, *, batch_images: int = 100) -> ImageSample:
    return ImageSampler(made or bundle(), threads=2).sample(images, batch_images=batch_images)


def _file(name: str, images: int, made: Bundle | None = None) -> bytes:
    return b"".join(stream_images(_sample(images, made), name))


def _is_of(label: int, pixels: NDArray[np.uint8]) -> bool:
    known = expected(label).reshape(-1)
    return bool((pixels.reshape(-1)[1:] == known[1:]).all())


def test_arrays_come_back_without_pickle():
    with np.load(io.BytesIO(_file("npz", 250)), allow_pickle=False) as arrays:
        assert sorted(arrays) == ["images", "label_names", "labels"]
        images, labels, names = arrays["images"], arrays["labels"], arrays["label_names"]
    assert (images.shape, images.dtype) == ((250, HEIGHT, WIDTH, 3), np.uint8)
    assert (labels.shape, labels.dtype) == ((250,), np.int16)
    assert tuple(names) == LABELS
    assert all(_is_of(label, image) for image, label in zip(images, labels, strict=True))


def test_arrays_of_images_without_labels_name_none():
    with np.load(io.BytesIO(_file("npz", 7, unlabelled())), allow_pickle=False) as arrays:
        assert arrays["images"].shape == (7, HEIGHT, WIDTH, 1)
        assert arrays["labels"].tolist() == [0] * 7
        assert arrays["label_names"].shape == (0,)


def test_png_files_come_with_the_table_of_their_labels():
    with zipfile.ZipFile(io.BytesIO(_file("zip", 120))) as archive:
        assert archive.testzip() is None
        lines = list(csv.DictReader(io.StringIO(archive.read("labels.csv").decode())))
        assert [line["file"] for line in lines] == [f"images/{number:06d}.png" for number in range(120)]
        assert archive.namelist() == ["labels.csv", *(line["file"] for line in lines)]
        for line in lines:
            image = PIL.Image.open(io.BytesIO(archive.read(line["file"])))
            assert (image.mode, image.size) == ("RGB", (WIDTH, HEIGHT))
            assert _is_of(LABELS.index(line["label"]), np.asarray(image))


def test_png_files_without_labels_come_alone_and_grey():
    with zipfile.ZipFile(io.BytesIO(_file("zip", 3, unlabelled()))) as archive:
        assert archive.namelist() == ["images/000000.png", "images/000001.png", "images/000002.png"]
        assert PIL.Image.open(io.BytesIO(archive.read("images/000002.png"))).mode == "L"


def _cells(sheet: NDArray[np.uint8], rows: int, columns: int) -> NDArray[np.uint8]:
    """The images of a contact sheet: (rows, columns, height, width, channels)."""
    inner = sheet[GAP:, GAP:].reshape(rows, HEIGHT + GAP, columns, WIDTH + GAP, -1)
    return inner[:, :HEIGHT, :, :WIDTH].transpose(0, 2, 1, 3, 4)


def test_a_contact_sheet_has_a_row_for_every_label():
    image = PIL.Image.open(io.BytesIO(_file("png", 11)))
    assert image.size == (4 * (WIDTH + GAP) + GAP, 3 * (HEIGHT + GAP) + GAP)
    assert image.info["Description"] == f"Synthetic images; rows from the top: {', '.join(LABELS)}"
    sheet = np.asarray(image)
    cells = _cells(sheet, 3, 4)
    for row in range(3):
        for column in range(4):
            if (row, column) == (2, 3):
                assert (cells[row, column] == GAP_SHADE).all()  # the twelfth place is empty
            else:
                assert _is_of(row, cells[row, column])
    covered = np.zeros_like(sheet, dtype=bool)
    _cells(covered, 3, 4)[...] = True
    assert (sheet[:GAP] == GAP_SHADE).all()
    assert (sheet[:, :GAP] == GAP_SHADE).all()
    assert (sheet[-GAP:] == GAP_SHADE).all()


def test_a_contact_sheet_of_fewer_images_than_labels_shows_the_first_labels():
    sheet = np.asarray(PIL.Image.open(io.BytesIO(_file("png", 2))))
    cells = _cells(sheet, 2, 1)
    assert [_is_of(row, cells[row, 0]) for row in range(2)] == [True, True]


def test_a_contact_sheet_without_labels_is_nearly_a_square():
    image = PIL.Image.open(io.BytesIO(_file("png", 10, unlabelled())))
    assert (image.mode, image.size) == ("L", (4 * (WIDTH + GAP) + GAP, 3 * (HEIGHT + GAP) + GAP))
    empty = (_cells(np.asarray(image), 3, 4) == GAP_SHADE).all(axis=(2, 3, 4))
    assert empty.tolist() == [[False] * 4, [False] * 4, [False, False, True, True]]


@pytest.mark.parametrize(
    ("images", "labels", "grid"),
    [
        (1, 0, (1, 1)),
        (4, 0, (2, 2)),
        (5, 0, (2, 3)),
        (9, 0, (3, 3)),
        (1, 10, (1, 1)),
        (100, 10, (10, 10)),
        (101, 10, (10, 11)),
    ],
)
def test_a_grid_holds_all_images_and_no_empty_row(images, labels, grid):
    assert sheet_grid(images, labels=labels) == grid


@pytest.mark.parametrize("name", ["zip", "png"])
def test_a_format_that_holds_only_so_many_images_says_how_many(monkeypatch, name):
    monkeypatch.setattr(image_formats, "MOST_FILES", 20)
    monkeypatch.setattr(image_formats, "LARGEST_SHEET", 20 * (HEIGHT + GAP) * (WIDTH + GAP))
    assert _file(name, 20)
    with pytest.raises(TooManyForFormat) as caught:
        stream_images(_sample(21), name)
    assert caught.value.facts == {"most": 20}


@pytest.mark.parametrize("name", MEDIA_TYPES)
def test_a_file_is_made_of_pieces_of_bounded_size(name):
    """No piece grows with the number of images, and the first comes before the last is drawn."""
    longest = [max(map(len, stream_images(_sample(images, batch_images=10), name))) for images in (300, 3000)]
    # A batch of ten images of 90 numbers; the table of contents of 3000 files comes in one piece, of the labels too.
    assert longest[1] <= {"npz": 2000, "zip": 400_000, "png": 100_000}[name]
    if name == "npz":
        assert longest[0] == longest[1]


def test_arrays_of_any_number_begin_at_once():
    pieces = stream_images(_sample(10**12), "npz")
    assert len(next(pieces)) > 50
    header = next(pieces)
    assert b"'shape': (1000000000000,)" in header
    pieces.close()


@pytest.mark.parametrize(("images", "version"), [(2_000_000_000, 20), (2**31, 45)])
def test_arrays_larger_than_two_gibibytes_are_announced_with_long_sizes(images, version):
    """ZIP's sizes of 32 bits end there; what reads the file needs version 4.5 then. None of those bytes is drawn here."""
    drained = DrainedFile()
    with zipfile.ZipFile(drained, "w") as archive:
        parts = iter([np.zeros(10, dtype=np.uint8)])
        # private: from outside the 2 GiB would have to be drawn to come to a second header
        pieces = image_formats._member(archive, drained, "images.npy", np.uint8, (images, 1, 1, 1), parts)
        first = next(pieces)
        pieces.close()
    assert int.from_bytes(first[4:6], "little") == version


@pytest.mark.parametrize("shape", [(1, 1, 1), (6, 5, 3), (28, 28, 1), (256, 3, 3)])
def test_a_png_holds_its_pixels(shape):
    pixels = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    image = PIL.Image.open(io.BytesIO(encode_png(pixels)))
    image.verify()
    read = np.asarray(PIL.Image.open(io.BytesIO(encode_png(pixels))))
    np.testing.assert_array_equal(read.reshape(shape), pixels)
