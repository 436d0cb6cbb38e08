"""Archives and arrays of images that are refused as a whole: damaged, lying, endless, ambiguous, or not what is declared.

Whatever is wrong, the errors name numbers of entries and never a file's name, and nothing is stored (`Desk.refuse`).
"""

import io
import pickle
import stat
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest

from core.data.errors import DamagedUpload
from core.data.intake.intake import CSV, NPZ, PARQUET, ZIP, receive
from core.data.intake.unpacking import IntakeLimits
from core.data.intake.zip_directory import read_directory
from core.plan.domain.images import ImageDomain
from tests.core.data.desk import AGE, CANARY, Desk
from tests.core.data.pictures import archive, idx, images, labelled, mnist, noise, npz, picture
from tests.core.plan.domain.examples import table

DOMAIN = images()
PLAIN = images(labels=())
IMAGE = picture(noise(PLAIN, 1)[0])
NAME = f"{CANARY}.png"
LINES = f"file,label\n{NAME},1\n".encode()
GOOD = {NAME: IMAGE, "labels.csv": LINES}


def changed(content: bytes, at: int, form: str, value: int) -> bytes:
    """An archive with a field of its last central header changed."""
    place = content.rindex(b"PK\x01\x02") + at
    return content[:place] + struct.pack(form, value) + content[place + struct.calcsize(form) :]


def twice() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made:
        made.writestr(NAME, IMAGE)
        with pytest.warns(UserWarning, match="Duplicate"):
            made.writestr(NAME, IMAGE)
    return target.getvalue()


def overlapping() -> bytes:
    """Two entries that share one content: the trick by which some kilobytes become gigabytes."""
    content = archive({"a.png": IMAGE, "b.png": IMAGE}, zipfile.ZIP_STORED)
    return changed(content, 42, "<I", 0)


def in_parts() -> bytes:
    content = bytearray(archive({NAME: IMAGE}))
    content[-18:-16] = struct.pack("<H", 1)
    return bytes(content)


def lzma() -> bytes:
    return archive({NAME: IMAGE}, zipfile.ZIP_LZMA)


def hidden_row(lines: str) -> bytes:
    return archive(GOOD | {"labels.csv": lines.encode()})


ARCHIVES = {
    "no archive": (b"PK\x03\x04" + bytes(100), PLAIN, "damaged-upload"),
    "no end": (archive(GOOD)[:-30], DOMAIN, "damaged-upload"),
    "no beginning": (b"PK\x03\x04" + archive(GOOD)[200:], DOMAIN, "damaged-upload"),
    "no files": (archive({}), PLAIN, "empty-upload"),
    "folders only": (archive({"a/": b"", "a/.hidden": b"x"}), PLAIN, "empty-upload"),
    "a name twice": (twice(), PLAIN, "wrong-archive"),
    "one content twice": (overlapping(), PLAIN, "damaged-upload"),
    "a content in the directory": (changed(archive({NAME: IMAGE}), 20, "<I", 5000), PLAIN, "damaged-upload"),
    "a place beyond the file": (changed(archive({NAME: IMAGE}), 42, "<I", 1 << 31), PLAIN, "damaged-upload"),
    "a size that is nowhere": (changed(archive({NAME: IMAGE}), 20, "<I", 0xFFFFFFFF), PLAIN, "damaged-upload"),
    "encrypted": (changed(archive({NAME: IMAGE}), 8, "<H", 1), PLAIN, "unsupported-upload"),
    "another method": (lzma(), PLAIN, "unsupported-upload"),
    "one of several": (in_parts(), PLAIN, "unsupported-upload"),
    "a promise of gigabytes": (changed(archive({NAME: IMAGE}), 24, "<I", 1 << 31), PLAIN, "decompression-bomb"),
    "no label file": (archive({NAME: IMAGE}), DOMAIN, "wrong-archive"),
    "folders without units": (archive({"1/a.png": IMAGE}), images(unit="who"), "wrong-archive"),
    "two label files": (archive(GOOD | {"b/labels.csv": LINES}), DOMAIN, "wrong-archive"),
    "a label file that says nothing": (archive(GOOD), PLAIN, "wrong-archive"),
    "an empty label file": (archive(GOOD | {"labels.csv": b""}), DOMAIN, "empty-upload"),
    "a header alone": (archive(GOOD | {"labels.csv": b"file,label\n"}), DOMAIN, "no-acceptable-rows"),
    "a missing column": (hidden_row(f"file,{CANARY}\n{NAME},1\n"), DOMAIN, "wrong-header"),
    "no header": (hidden_row(f"{NAME},1\n"), DOMAIN, "wrong-header"),
    "no unit": (archive(GOOD), images(unit="who"), "wrong-header"),
    "an undeclared column": (hidden_row(f"file,label,who\n{NAME},1,x\n"), DOMAIN, "wrong-header"),
    "a file named twice": (hidden_row(f"file,label\n{NAME},1\n{NAME},2\n"), DOMAIN, "wrong-archive"),
    "no utf-8": (archive(GOOD | {"labels.csv": b"file,label\n\xff,1\n"}), DOMAIN, "not-utf8"),
    "a nul byte": (archive(GOOD | {"labels.csv": b"file,label\n\0,1\n"}), DOMAIN, "nul-byte"),
    "an open quote": (archive(GOOD | {"labels.csv": b'file,label\n"a,1\n'}), DOMAIN, "stray-quote"),
    "an endless record": (archive(GOOD | {"labels.csv": b"file,label\n" + b"a" * 200_000}), DOMAIN, "record-too-long"),
    "nothing acceptable": (archive({NAME: b"text", "labels.csv": LINES}), DOMAIN, "no-acceptable-rows"),
    "a damaged label file": (archive(GOOD).replace(zlib.compress(LINES)[2:-4], b"\xff" * (len(zlib.compress(LINES)) - 6)), DOMAIN, "damaged-upload"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ARCHIVES))
def test_an_archive_is_refused_as_a_whole(desk: Desk, name: str) -> None:
    content, domain, code = ARCHIVES[name]
    assert desk.refuse(content, domain, ZIP, limits=IntakeLimits(max_unpacked_bytes=1 << 30)).code == code


PIXELS = noise(DOMAIN, 3)
LABELS = np.array([1, 2, 3], np.uint8)


class Evil:
    def __reduce__(self):
        return (Path("/tmp/pwned").touch, ())


def of_members(**members: bytes) -> bytes:
    return archive({f"{name}.npy": content for name, content in members.items()})


def npy(header: str, content: bytes = b"", version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode() + content


HEAD = "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 5, 6), }"
LABEL_HEAD = "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }"
ONES = npy(LABEL_HEAD, b"\1\1\1")

ARRAYS = {
    "no images": (npz(labels=LABELS), "wrong-archive"),
    "no labels": (npz(images=PIXELS), "wrong-archive"),
    "one array more": (npz(images=PIXELS, labels=LABELS, units=LABELS), "wrong-archive"),
    "another name": (npz(x_train=PIXELS, labels=LABELS), "wrong-archive"),
    "objects": (npz(images=PIXELS, labels=np.array([{}, {}, {}], object)), "wrong-archive"),
    "a pickle": (of_members(images=npy(HEAD, bytes(90)), labels=pickle.dumps(Evil())), "damaged-upload"),
    "floats": (npz(images=PIXELS / 255, labels=LABELS), "wrong-archive"),
    "signed pixels": (npz(images=PIXELS.astype("i1"), labels=LABELS), "wrong-archive"),
    "labels of floats": (npz(images=PIXELS, labels=LABELS / 2), "wrong-archive"),
    "fortran": (npz(images=np.asfortranarray(PIXELS), labels=LABELS), "wrong-archive"),
    "another shape": (npz(images=PIXELS[:, :4], labels=LABELS), "wrong-archive"),
    "flat": (npz(images=PIXELS.reshape(3, -1), labels=LABELS), "wrong-archive"),
    "colour": (npz(images=PIXELS.repeat(3, axis=3), labels=LABELS), "wrong-archive"),
    "fewer labels": (npz(images=PIXELS, labels=LABELS[:2]), "wrong-archive"),
    "labels in rows": (npz(images=PIXELS, labels=LABELS[:, None]), "wrong-archive"),
    "no image": (npz(images=PIXELS[:0], labels=LABELS[:0]), "empty-upload"),
    "cut off": (of_members(images=npy(HEAD, bytes(89)), labels=ONES), "damaged-upload"),
    "too long": (of_members(images=npy(HEAD, bytes(91)), labels=ONES), "damaged-upload"),
    "labels too long": (of_members(images=npy(HEAD, bytes(90)), labels=ONES + b"\1"), "damaged-upload"),
    "labels cut off": (of_members(images=npy(HEAD, bytes(90)), labels=ONES[:-1]), "damaged-upload"),
    "no header": (of_members(images=b"", labels=ONES), "damaged-upload"),
    "a huge header": (of_members(images=npy(HEAD + " " * 70_000, bytes(90), 2), labels=ONES), "damaged-upload"),
    "code in the header": (of_members(images=npy("__import__('os').getpid()", bytes(90)), labels=ONES), "wrong-archive"),
    "a negative length": (of_members(images=npy(HEAD.replace("3,", "-3,"), bytes(90)), labels=ONES), "wrong-archive"),
    "a length of many digits": (of_members(images=npy(HEAD.replace("3,", f"{10**30},"), bytes(90)), labels=ONES), "damaged-upload"),
    "an endless length": (of_members(images=npy(HEAD.replace("3,", f"{10**15},"), bytes(90)), labels=ONES), "too-many-images"),
    "text without end": (of_members(images=npy(HEAD, bytes(90)), labels=npy(LABEL_HEAD.replace("|u1", "<U99999"))), "wrong-archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(ARRAYS))
def test_arrays_are_refused_as_a_whole(desk: Desk, name: str) -> None:
    content, code = ARRAYS[name]
    assert desk.refuse(content, DOMAIN, NPZ).code == code
    assert not Path("/tmp/pwned").exists()


def test_an_array_in_the_other_order_is_refused_with_how_to_save_it(desk: Desk) -> None:
    refusal = desk.refuse(npz(images=np.asfortranarray(PIXELS), labels=LABELS), DOMAIN, NPZ)
    assert "ascontiguousarray" in refusal.remedy


MNIST = {
    "no labels": (archive({"a": idx(PIXELS[..., 0])}), DOMAIN, "wrong-archive"),
    "labels that are not declared": (mnist(PIXELS, LABELS), PLAIN, "wrong-archive"),
    "labels twice": (archive({"a": idx(LABELS), "b": idx(LABELS)}), DOMAIN, "wrong-archive"),
    "fewer labels": (mnist(PIXELS, LABELS[:2]), DOMAIN, "wrong-archive"),
    "another shape": (mnist(PIXELS[:, :4], LABELS), DOMAIN, "wrong-archive"),
    "a unit": (mnist(PIXELS, LABELS), images(unit="who"), "wrong-archive"),
    "cut off": (archive({"a": idx(PIXELS[..., 0])[:-1], "b": idx(LABELS)}), DOMAIN, "damaged-upload"),
    "too long": (archive({"a": idx(PIXELS[..., 0]) + b"x", "b": idx(LABELS)}), DOMAIN, "damaged-upload"),
    "shorts": (archive({"a": b"\0\0\x0b\3" + idx(PIXELS[..., 0])[4:], "b": idx(LABELS)}), DOMAIN, "wrong-archive"),
    "dimensions": (archive({"a": b"\0\0\x08\x09" + bytes(36), "b": idx(LABELS)}), DOMAIN, "wrong-archive"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MNIST))
def test_idx_files_are_refused_as_a_whole(desk: Desk, name: str) -> None:
    content, domain, code = MNIST[name]
    assert desk.refuse(content, domain, ZIP).code == code


@pytest.mark.parametrize("magic", [b"\0\0\x0d\3", b"\0\0\0\3", b"\0\0\x08\5"])
@pytest.mark.parametrize("first", ["images", "labels"])
def test_an_idx_file_of_another_magic_is_called_one(desk: Desk, magic: bytes, first: str) -> None:
    """Floats were refused for want of a label file, which idx files never have."""
    files = {"images": idx(PIXELS[..., 0]), "labels": idx(LABELS)}
    files[first] = magic + files[first][4:]
    error = desk.refuse(archive(files), DOMAIN, ZIP)
    assert error.code == "wrong-archive"
    assert "idx" in error.detail
    assert "00 00 08" in (error.remedy or "")


def test_a_table_is_not_sent_as_images_nor_images_as_a_table(desk: Desk) -> None:
    desk.scratch.mkdir()
    for kind in (ZIP, NPZ):
        error = desk.refuse(archive(GOOD), table(AGE), kind)
        assert (error.code, error.status) == ("unsupported-upload", 415)
    for kind in (CSV, PARQUET):
        assert desk.refuse(b"age\n1\n", DOMAIN, kind).code == "unsupported-upload"
    for kind in (ZIP, NPZ):
        assert desk.refuse(b"age\n1\n", DOMAIN, kind).code == "content-disagrees"


def test_counts_are_limited(desk: Desk) -> None:
    limits = IntakeLimits(max_images=2)
    assert (
        desk.refuse(npz(images=PIXELS, labels=LABELS), DOMAIN, NPZ, limits=limits).code == "too-many-images"
    )
    content = labelled([IMAGE] * 3, "123")
    assert desk.refuse(content, DOMAIN, ZIP, limits=limits).code == "too-many-images"


def test_links_and_names_of_paths_are_refused_one_by_one(desk: Desk) -> None:
    target = io.BytesIO()
    names = ["link.png", "/etc/passwd", "../up.png", "a\\b.png", "C:x.png", "fifo.png", "fine.png"]
    with zipfile.ZipFile(target, "w") as made:
        for name in names:
            info = zipfile.ZipInfo("x")
            info.filename = name
            info.create_system = 3
            kind = {"link.png": stat.S_IFLNK, "fifo.png": stat.S_IFIFO}.get(name, stat.S_IFREG)
            info.external_attr = (kind | 0o644) << 16
            made.writestr(info, IMAGE)
    report = desk.take(target.getvalue(), PLAIN, ZIP)
    assert report.rows_accepted == 1
    assert [(problem.line, problem.kind) for problem in report.problems] == [
        (number, "not-a-plain-file") for number in range(1, 7)
    ]


def test_an_image_that_lies_about_its_size_or_sum_is_refused_alone(desk: Desk) -> None:
    """The promises of the directory bound what is unpacked; a wrong checksum is noticed."""
    good = archive({"a.png": IMAGE, "b.png": IMAGE})
    for at, form, value in ((24, "<I", 20), (24, "<I", len(IMAGE) + 1), (16, "<I", 1)):
        report = desk.take(changed(good, at, form, value), PLAIN, ZIP)
        assert (report.rows_accepted, report.refusals) == (1, {"": {"damaged-image": 1}})


def test_a_picture_of_many_pixels_is_not_unpacked(desk: Desk) -> None:
    """Sixteen thousand pixels a side from a few kilobytes: refused by its size before its content is looked at."""
    side = 16_000
    head = struct.pack(">IIBBBBB", side, side, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1 << 20), 9)), (b"IEND", b"")]
    bomb = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    report = desk.take(archive({"a.png": IMAGE, "b.png": bomb}), PLAIN, ZIP)
    assert report.refusals == {"": {"wrong-size": 1}}


def wide(count: int) -> bytes:
    """An archive of empty files whose number needs the fields of ZIP64."""
    local = b"".join(
        struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 45, 0, 0, 0, 0, 0, 0, 0, 8, 0) + b"%08d" % number
        for number in range(count)
    )
    central = b"".join(
        struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 45, 45, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 38 * number
        )
        + b"%08d" % number
        for number in range(count)
    )
    end = struct.pack("<4sQHHIIQQQQ", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, len(central), len(local))
    locator = struct.pack("<4sIQI", b"PK\x06\x07", 0, len(local) + len(central), 1)
    last = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
    return local + central + end + locator + last


def test_an_archive_of_very_many_files_has_a_wide_directory() -> None:
    content = wide(70_000)
    with zipfile.ZipFile(io.BytesIO(content)) as made:
        assert len(made.namelist()) == 70_000, "Python reads it too"
    found = read_directory(io.BytesIO(content), len(content), IntakeLimits())
    assert found.entries["number"].tolist() == list(range(1, 70_001))
    assert found.entries["offset"][-1] == 38 * 69_999
    cut = content[:-200] + content[-100:]
    with pytest.raises(DamagedUpload):
        read_directory(io.BytesIO(cut), len(cut), IntakeLimits())


def test_a_directory_takes_some_hundred_bytes_for_each_file_at_the_most() -> None:
    content = wide(5000)
    tracemalloc.start()
    found = read_directory(io.BytesIO(content), len(content), IntakeLimits())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.entries) == 5000
    assert peak < 300 * 5000


def test_sizes_of_more_than_four_gigabytes_are_read_where_they_stand(desk: Desk) -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as made, made.open("a.png", "w", force_zip64=True) as file:
        file.write(IMAGE)
    content = target.getvalue()
    place = content.rindex(b"PK\x01\x02")
    wide = struct.pack("<HHQQ", 1, 16, len(IMAGE), len(IMAGE))
    name_end = place + 46 + len("a.png")
    header = bytearray(content[place:name_end])
    header[20:28] = b"\xff" * 8
    header[30:32] = struct.pack("<H", len(wide))
    end = bytearray(content[name_end:])
    end[12:16] = struct.pack("<I", len(header) + len(wide))
    report = desk.take(content[:place] + bytes(header) + wide + bytes(end), PLAIN, ZIP)
    assert report.rows_accepted == 1


def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path) -> None:
    """Python's own allocations, and numpy's; what Arrow holds is one block."""

    def peak(count: int) -> int:
        domain = ImageDomain(height=64, width=64, channels=3, labels=(), privacy_unit=None)
        content = npz(images=np.zeros((count, 64, 64, 3), np.uint8))
        with (tmp_path / "out").open("wb") as sink:
            tracemalloc.start()
            receive([content], content_type=NPZ, domain=domain, sink=sink, scratch_folder=tmp_path)
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return most

    assert peak(3000) < 1.5 * peak(1000)
