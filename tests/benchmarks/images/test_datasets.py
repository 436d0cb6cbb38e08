import csv
import gzip
import json
import lzma

import numpy as np
import pytest

from benchmarks.datasets import HERE
from benchmarks.images import datasets
from benchmarks.images.datasets import HELD_OUT, NAMES, load, read_idx
from core.plan.domain.declared import domain_from_json


def idx(values: np.ndarray) -> bytes:
    header = bytes([0, 0, 8, values.ndim]) + np.array(values.shape, dtype=">u4").tobytes()
    return header + values.astype(np.uint8).tobytes()


def write_mnist(folder, *, train: int, test: int) -> np.ndarray:
    folder.mkdir()
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (train + test, 28, 28))
    labels = np.arange(train + test) % 10
    for part, piece in (("train", slice(train)), ("t10k", slice(train, None))):
        with lzma.open(folder / f"{part}-images-idx3-ubyte.xz", "wb") as file:
            file.write(idx(pixels[piece]))
        with gzip.open(folder / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(idx(labels[piece]))
    return pixels


def write_faces(folder, pixels: np.ndarray, genders: list[str]) -> None:
    folder.mkdir()
    with lzma.open(folder / "faces_32x32_gray.npy.xz", "wb") as file:
        np.save(file, pixels.astype(np.uint8))
    with gzip.open(folder / "faces_labels.csv.gz", "wt", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["row", "gender"])
        writer.writerows([number, gender] for number, gender in enumerate(genders))


@pytest.mark.parametrize("name", NAMES)
def test_the_declared_domains_are_valid(name):
    document = json.loads((HERE / "domains" / f"{name}.json").read_text())
    assert domain_from_json(document).to_json() == document


def test_choices_are_made_on_the_end_of_the_training_part(tmp_path, monkeypatch):
    pixels = write_mnist(tmp_path / "mnist", train=30, test=10)
    monkeypatch.setitem(HELD_OUT, "mnist", 5)
    final = load("mnist", folder=tmp_path)
    assert np.array_equal(final.train.pixels[..., 0], pixels[:30])
    assert np.array_equal(final.test.pixels[..., 0], pixels[30:])
    development = load("mnist", development=True, folder=tmp_path)
    assert np.array_equal(development.train.pixels[..., 0], pixels[:25])
    assert np.array_equal(development.test.pixels[..., 0], pixels[25:30])
    assert development.test.labels.tolist() == [5, 6, 7, 8, 9]


def test_the_two_halves_of_the_test_share_nothing(tmp_path):
    images = load_mnist(tmp_path)
    halves = np.concatenate([images.scorer_half.pixels, images.reference_half.pixels])
    assert len(images.scorer_half) == len(images.reference_half) == 5
    assert {image.tobytes() for image in halves} == {image.tobytes() for image in images.test.pixels}


def load_mnist(tmp_path):
    write_mnist(tmp_path / "mnist", train=20, test=10)
    return load("mnist", folder=tmp_path)


def test_every_image_is_a_unit_of_its_own(tmp_path):
    private = load_mnist(tmp_path).private()
    assert private.units == 20
    assert (private.shape, private.classes) == ((28, 28, 1), 10)


def test_faces_are_kept_once_and_in_an_order_that_no_label_enters(tmp_path, monkeypatch):
    monkeypatch.setattr(datasets, "FACES_TEST", 2)
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (6, 32, 32))
    pixels[5] = pixels[1]
    write_faces(tmp_path / "faces", pixels, ["0", "1", "", "0", "1", "1"])
    faces = load("faces", folder=tmp_path)
    assert (len(faces.train), len(faces.test)) == (2, 2)
    kept = {image.tobytes() for part in (faces.train, faces.test) for image in part.pixels}
    assert kept == {pixels[i].astype(np.uint8).tobytes() for i in (0, 1, 3, 4)}
    (tmp_path / "other").mkdir()
    write_faces(tmp_path / "other" / "faces", pixels, ["1", "0", "", "0", "1", "0"])
    other = load("faces", folder=tmp_path / "other")
    assert np.array_equal(other.test.pixels, faces.test.pixels)


def test_another_format_is_refused(tmp_path):
    path = tmp_path / "floats.gz"
    with gzip.open(path, "wb") as file:
        file.write(bytes([0, 0, 13, 1]) + bytes(8))
    with pytest.raises(ValueError, match="not an IDX file"):
        read_idx(path)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "train", "test", "shape"),
    [("mnist", 60_000, 10_000, (28, 28, 1)), ("faces", 9_896, 2_000, (32, 32, 1))],
)
def test_the_real_sets_have_their_published_sizes(real_data_folder, name, train, test, shape):
    images = load(name, folder=real_data_folder)
    assert (len(images.train), len(images.test)) == (train, test)
    assert images.private().shape == shape == (images.domain.height, images.domain.width, 1)
    assert set(np.unique(images.train.labels)) == set(range(images.classes))
    seen = {image.tobytes() for image in images.train.pixels}
    assert not any(image.tobytes() in seen for image in images.test.pixels)
