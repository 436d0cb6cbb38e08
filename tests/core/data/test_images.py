"""Uploads of images that are taken, and rows of them that are not."""

import io
import struct
import zipfile
import zlib
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from core.data.errors import SealBroken, TooManyUnits
from core.data.intake.intake import NPZ, ZIP, receive
from core.data.intake.unit_limit import UnitLimit
from core.data.private_rows import open_private_rows
from core.plan.domain.images import ImageDomain
from tests.core.data.desk import KEY, Desk
from tests.core.data.pictures import (
    DIGITS,
    Pixels,
    archive,
    idx,
    images,
    labelled,
    mnist,
    noise,
    npz,
    picture,
)


def stored(desk: Desk, domain: ImageDomain) -> tuple[Pixels, list[int]]:
    """The pixels and label codes that a training would read."""
    table = pa.Table.from_batches(open_private_rows(desk.store, "rows", KEY, domain))
    pixels = np.frombuffer(b"".join(table["pixels"].to_pylist()), np.uint8)
    return pixels.reshape(-1, domain.height, domain.width, domain.channels), table["label"].to_pylist()


@pytest.mark.parametrize("channels", [1, 3])
@settings(max_examples=4, derandomize=True, deadline=None)
@given(data=st.data())
def test_every_form_stores_the_same_pixels(channels: int, data: st.DataObject, tmp_path_factory) -> None:
    domain = images(side=data.draw(st.integers(4, 9)), channels=channels)
    pixels = noise(domain, data.draw(st.integers(1, 12)), seed=data.draw(st.integers(0, 99)))
    labels = np.array([data.draw(st.integers(0, 9)) for _ in pixels], np.uint8)
    words = [str(label) for label in labels]
    uploads = {
        "npz": (
            npz(images=pixels, labels=labels.astype(data.draw(st.sampled_from([">i4", "u1", "i8"])))),
            NPZ,
        ),
        "words": (npz(images=pixels, labels=np.array(words)), NPZ),
        "idx": (mnist(pixels, labels), ZIP),
        "png": (labelled([picture(image) for image in pixels], words), ZIP),
    }
    for content, kind in uploads.values():
        desk = Desk(tmp_path_factory.mktemp("desk"))
        report = desk.take(content, domain, kind)
        found, codes = stored(desk, domain)
        assert (report.rows_accepted, report.rows_refused) == (len(pixels), 0)
        assert found.tobytes() == pixels.tobytes()
        assert codes == labels.tolist()


def test_many_blocks_and_batches_keep_their_order(desk: Desk) -> None:
    domain = images(labels=())
    pixels = noise(domain, 300)
    files = {f"{place:03}.png": picture(image) for place, image in enumerate(pixels)}
    report = desk.take(archive(files), domain, ZIP)
    assert (report.rows_accepted, report.position) == (300, "entry")
    found, codes = stored(desk, domain)
    assert found.tobytes() == pixels.tobytes()
    assert codes == [0] * 300


def test_units_are_stored_as_text_and_limited(desk: Desk, tmp_path) -> None:
    domain = images(unit="who")
    pixels = noise(domain, 3)
    content = npz(images=pixels, labels=np.array([1, 2, 3]), units=np.array([7, 8, 7]))
    desk.take(content, domain, NPZ)
    assert [row["who"] for row in desk.rows(domain)] == ["7", "8", "7"]
    zipped = labelled([picture(image) for image in pixels], "123", ["a", "", "x" * 257])
    report = desk.take(zipped, domain, ZIP)
    assert report.refusals == {"who": {"missing-value": 1, "unit-too-long": 1}}
    assert [(problem.line, problem.kind) for problem in report.problems] == [
        (3, "missing-value"),
        (4, "unit-too-long"),
    ]
    with pytest.raises(TooManyUnits):
        receive(
            [npz(images=noise(domain, 5), labels=np.zeros(5, int), units=np.arange(5))], content_type=NPZ, domain=domain,
            sink=io.BytesIO(), scratch_folder=tmp_path, units=UnitLimit(declared_size=2, unit_column="who"),
        )  # fmt: skip


def test_numbers_are_words_where_all_words_are_numbers_and_else_places(desk: Desk) -> None:
    for labels, sent, codes in (
        (("female", "male"), [1, 0, 2, -1], [1, 0]),
        (("5", "3"), [3, 5, 0, 1], [1, 0]),
        (("5", "three"), [1, 0, 5, 3], [1, 0]),
    ):
        domain = images(labels=labels)
        report = desk.take(npz(images=noise(domain, 4), labels=np.array(sent)), domain, NPZ)
        assert stored(desk, domain)[1] == codes
        assert report.refusals == {"label": {"unknown-label": 2}}
        assert [problem.line for problem in report.problems] == [3, 4]


def test_labels_are_the_names_of_folders_where_there_is_no_label_file(desk: Desk) -> None:
    domain = images(labels=("Käse", "oak"))
    pixels = noise(domain, 5)
    places = ("oak/1.png", "train/Käse/2.png", "elm/oak.png", "3.png", "oak/Käse.jpg")
    content = archive({name: picture(image) for name, image in zip(places, pixels, strict=True)})
    report = desk.take(content, domain, ZIP)
    assert (report.rows_accepted, report.position) == (3, "entry")
    assert report.refusals == {"label": {"unknown-label": 2}}
    assert [problem.line for problem in report.problems] == [3, 4]
    found, codes = stored(desk, domain)
    assert codes == [1, 0, 1]
    assert found.tobytes() == pixels[[0, 1, 4]].tobytes()


def test_a_label_file_may_lie_in_a_folder_with_its_images_and_in_any_order(desk: Desk) -> None:
    domain = images(labels=("Käse", "a, b"))
    pixels = noise(domain, 2)
    lines = 'label,file\r\n"a, b",über/1.png\r\nKäse,0.jpg\r\n\r\n'
    content = archive(
        {
            "set/": b"",
            "__MACOSX/set/._0.jpg": b"junk",
            "set/.DS_Store": b"junk",
            "set/0.jpg": picture(pixels[0]),
            "set/labels.csv": b"\xef\xbb\xbf" + lines.encode(),
            "set/über/1.png": picture(pixels[1]),
        }
    )
    report = desk.take(content, domain, ZIP)
    assert (report.rows_accepted, report.rows_refused, report.position) == (2, 0, "line")
    found, codes = stored(desk, domain)
    assert codes == [1, 0]
    assert found.tobytes() == pixels[::-1].tobytes()


def test_a_jpeg_is_taken_as_its_decoder_gives_it(desk: Desk) -> None:
    domain = images(side=16, channels=3, labels=())
    content = picture(noise(domain, 1)[0], "JPEG", quality=90)
    desk.take(archive({"a.jpg": content}), domain, ZIP)
    assert stored(desk, domain)[0][0].tobytes() == Image.open(io.BytesIO(content)).tobytes()


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_grey_of_fewer_bits_is_scaled_to_eight(desk: Desk, depth: int) -> None:
    domain = ImageDomain(height=4, width=8, channels=1, labels=(), privacy_unit=None)
    lines = b"".join(b"\0" + bytes([0b11011000] * depth) for _ in range(4))
    head = struct.pack(">IIBBBBB", 8, 4, depth, 0, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in ((b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b""))
    )
    desk.take(archive({"a.png": content}), domain, ZIP)
    most = 2**depth - 1
    values = [(0b11011000 >> (8 - depth - shift)) & most for shift in range(0, 8, depth)] * depth
    assert stored(desk, domain)[0][0, 0, :, 0].tolist() == [value * 255 // most for value in values]


# What is sent, and what becomes of it: the word of the refusal, or "" where it is taken.
def _grey(domain: ImageDomain) -> Pixels:
    return noise(domain, 1)[0]


def _sideways(domain: ImageDomain, orientation: int, form: str = "PNG") -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    pixels = _grey(domain)
    return picture(pixels.transpose(1, 0, 2) if orientation > 4 else pixels, form, exif=exif)


def _deep(domain: ImageDomain) -> bytes:
    target = io.BytesIO()
    Image.fromarray(np.zeros((domain.height, domain.width), np.uint16)).save(target, "PNG")
    return target.getvalue()


def _animated(domain: ImageDomain) -> bytes:
    target = io.BytesIO()
    frames = [Image.fromarray(image[..., 0]) for image in noise(domain, 2)]
    frames[0].save(target, "PNG", save_all=True, append_images=frames[1:])
    return target.getvalue()


def _see_through(domain: ImageDomain) -> bytes:
    return picture(_grey(domain), transparency=5)


CASES = {
    "grey": (lambda domain: picture(_grey(domain)), ""),
    "black and white": (lambda domain: picture(_grey(domain), mode="1"), ""),
    "named otherwise": (lambda domain: picture(_grey(domain), "JPEG"), ""),
    "turned": (lambda domain: _sideways(domain, 6), ""),
    "mirrored": (lambda domain: _sideways(domain, 2), ""),
    "turned jpeg": (lambda domain: _sideways(domain, 8, "JPEG"), ""),
    "turned to another shape": (lambda domain: picture(_grey(domain).transpose(1, 0, 2)), "wrong-size"),
    "too large": (lambda domain: picture(noise(images(side=6), 1)[0]), "wrong-size"),
    "colour": (lambda domain: picture(_grey(domain), mode="RGB"), "wrong-channels"),
    "palette": (lambda domain: picture(_grey(domain), mode="P"), "palette"),
    "grey and alpha": (lambda domain: picture(_grey(domain), mode="LA"), "alpha"),
    "one colour is none": (_see_through, "alpha"),
    "four colours": (lambda domain: picture(_grey(domain), "JPEG", mode="CMYK"), "cmyk"),
    "sixteen bits": (_deep, "sixteen-bit"),
    "a film": (_animated, "animated"),
    "cut off": (lambda domain: picture(_grey(domain))[:-25], "damaged-image"),
    "a jpeg cut off": (lambda domain: picture(_grey(domain), "JPEG")[:-40], "damaged-image"),
    "a gif": (lambda domain: picture(_grey(domain), "GIF"), "not-an-image"),
    "text": (lambda domain: b"hello", "not-an-image"),
    "nothing": (lambda domain: b"", "not-an-image"),
    "a zip": (lambda domain: archive({"a": picture(_grey(domain))}), "not-an-image"),
    "too many bytes": (lambda domain: picture(_grey(domain)) + bytes(3 << 20), "image-too-large"),
}  # fmt: skip


def test_each_image_is_taken_or_refused_by_its_own_rule(desk: Desk) -> None:
    domain = images(labels=())
    files = {f"{place}.png": make(domain) for place, (make, _) in enumerate(CASES.values())}
    report = desk.take(archive(files, zipfile.ZIP_STORED), domain, ZIP)
    words = [word for _, word in CASES.values()]
    assert [(problem.line, problem.kind) for problem in report.problems] == [
        (number, word) for number, word in enumerate(words, start=1) if word
    ]
    assert report.refusals == {"": dict(sorted(Counter(word for word in words if word).items()))}
    assert report.changes == {"": {"rotated": 3}}
    assert report.rows_accepted == words.count("")
    found = stored(desk, domain)[0]
    assert found[0].tobytes() == _grey(domain).tobytes()
    assert found[4].tobytes() == _grey(domain)[:, ::-1].tobytes(), "mirrored back"
    assert found[3].tobytes() == np.rot90(_grey(domain).transpose(1, 0, 2), -1).tobytes(), (
        "turned to the right"
    )


def test_rows_and_files_that_do_not_meet_are_refused_one_by_one(desk: Desk) -> None:
    domain = images()
    pixels = [picture(image) for image in noise(domain, 4)]
    lines = "file,label\n0.png,1\nnone.png,2\n1.png,eleven\n2.png,\n3.png,4,5\n../x.png,6\n"
    files = {f"{place}.png": content for place, content in enumerate(pixels)}
    report = desk.take(
        archive(files | {"labels.csv": lines.encode(), "../x.png": pixels[0], "more.png": pixels[0]}),
        domain,
        ZIP,
    )
    assert report.rows_accepted == 1
    assert report.refusals == {
        "": {"not-a-plain-file": 1, "not-listed": 2, "wrong-number-of-fields": 1},
        "file": {"file-missing": 1},
        "label": {"missing-value": 1, "unknown-label": 1},
    }
    assert report.rows_refused == 7
    assert [problem.line for problem in report.problems] == [3, 4, 5, 6, 7]
    assert report.problems_unlisted == 2, "images on no line have no place in the label file"


def test_arrays_may_leave_one_channel_out_or_not(desk: Desk) -> None:
    domain = images()
    pixels = noise(domain, 3)
    labels = np.array([1, 2, 3], np.uint8)
    for content, kind in (
        (npz(images=pixels[..., 0], labels=labels), NPZ),
        (npz(images=pixels, labels=labels), NPZ),
        (archive({"b": idx(labels), "a": idx(pixels)}), ZIP),
    ):
        desk.take(content, domain, kind)
        assert stored(desk, domain)[0].tobytes() == pixels.tobytes()


def test_images_without_labels_need_no_label_file(desk: Desk) -> None:
    domain = images(labels=())
    pixels = noise(domain, 2)
    desk.take(archive({"x-idx3-ubyte": idx(pixels[..., 0])}), domain, ZIP)
    assert stored(desk, domain)[1] == [0, 0]


def test_what_is_stored_opens_under_its_own_domain_alone(desk: Desk) -> None:
    domain = images()
    desk.take(npz(images=noise(domain, 2), labels=np.array([1, 2])), domain, NPZ)
    with pytest.raises(SealBroken):
        list(open_private_rows(desk.store, "rows", KEY, images(side=6)))


def test_the_words_of_a_domain_are_the_codes(desk: Desk) -> None:
    domain = images(labels=DIGITS[::-1])
    desk.take(npz(images=noise(domain, 2), labels=np.array([9, 0], np.uint8)), domain, NPZ)
    assert stored(desk, domain)[1] == [0, 9]
