"""Files of every kind in the preview of the upload page, and that choosing them sends nothing."""

import base64
import gzip
import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.core.data.pictures import archive, images, labelled, mnist, noise, npz, picture
from tests.service.world import CSV, World

IMAGES = images(unit="who")
PIXELS = noise(IMAGES, 8)
UNITS = ["ann", "bob"] * 4


@contextmanager
def nothing_sent(tab: Any) -> Iterator[None]:
    """Everything in between asks for static files at most."""
    sent: list[str] = []

    def note(request: Any) -> None:
        sent.append(request.url)

    tab.on("request", note)
    yield
    tab.remove_listener("request", note)
    assert [url for url in sent if "/static/" not in url] == []


_CHOOSE = """async ([name, content]) => {
  const read = [];
  const prototype = Blob.prototype, { arrayBuffer, stream } = prototype;
  prototype.arrayBuffer = function () { read.push(this.size); return arrayBuffer.call(this); };
  prototype.stream = function () { read.push(this.size); return stream.call(this); };
  const chosen = new DataTransfer();
  chosen.items.add(new File([Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))], name));
  const input = document.querySelector("input[type=file]"), section = document.getElementById("preview");
  input.files = chosen.files;
  input.dispatchEvent(new Event("change"));
  for (let left = 4000; section.hidden && left > 0; left -= 1) await new Promise((done) => { setTimeout(done, 5); });
  Object.assign(prototype, { arrayBuffer, stream });
  const colours = (canvas) => new Set(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data).size;
  return {
    said: section.querySelector("[data-said]").innerText, read: read.reduce((sum, size) => sum + size, 0),
    rows: [...section.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => cell.innerText)),
    pictures: [...section.querySelectorAll("[data-pictures] li")].map((one) => one.innerText),
    drawn: [...section.querySelectorAll("canvas")].filter((one) => colours(one) > 2).length,
  };
}"""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a person sees of a chosen file.

    Attributes:
        rows: What is found, and the result, by the first cell of a row.
        pictures: The words below each.
        drawn: Pictures of more than one colour.
        read: Bytes that were read of the file at most.
    """

    said: str
    rows: dict[str, tuple[str, str]]
    pictures: list[str]
    drawn: int
    read: int


def choose(tab: Any, name: str, content: bytes) -> Preview:
    """Choose a file of a name and content."""
    seen = tab.evaluate(_CHOOSE, [name, base64.b64encode(content).decode()])
    rows = {first: (found, result) for first, _, found, result in seen.pop("rows")}
    return Preview(rows=rows, **seen)


def _prefixes(tab: Any) -> None:
    """Texts are shortened as the column declares before they are looked up."""
    declare = """([words, prefix]) => {
      const form = document.querySelector("[data-declared]"), declared = JSON.parse(form.dataset.declared);
      Object.assign(declared.columns.find((column) => column.name === "ward"), { words, prefix });
      form.dataset.declared = JSON.stringify(declared);
    }"""
    for words, prefix, texts, wrong in (
        (["E1"], 2, ["E11.9", "E1", "E", "I10"], 2), (["LS", "M"], "letters", ["LS6 2AB", "M1", "ls6", "6LS"], 2), (["é𝄞"], 2, ["é𝄞x"], 0),
    ):  # fmt: skip
        tab.evaluate(declare, [words, prefix])
        lines = "".join(f"{text},7,yes,2020-01-02\n" for text in texts)
        told = choose(tab, "a.csv", f"ward,age,sick,seen\n{lines}".encode()).rows["ward"][1]
        assert told == (f"{wrong} of {len(texts)} not as declared" if wrong else "as declared"), prefix
    tab.evaluate(declare, [["A", 'B, or "C"', "Ü"], None])


def tables(tab: Any) -> None:
    """CSV, also gzipped, and Parquet beside the declaration of four columns."""
    wrong = b'ward,age,sick,extra\n"B, or ""C""",140,yes,1\nZ,3,yes,2\n'
    with nothing_sent(tab):
        for name, content in (("a.csv", wrong), ("a.csv.gz", gzip.compress(wrong))):
            seen = choose(tab, name, content)
            assert seen.said == "4 columns differ from the declaration in the first 2 rows."
            assert {one: result for one, (_, result) in seen.rows.items()} == {
                "ward": "1 of 2 not as declared", "age": "1 of 2 not as declared", "sick": "as declared",
                "seen": "missing in the file", "extra": "not declared, or repeated",
            }  # fmt: skip
        assert (
            "semicolons between its fields; commas are declared"
            in choose(tab, "a.csv", CSV.replace(b",", b";")).said
        )
        spaced = CSV.replace(b"age", b" age ", 1)
        assert choose(tab, "a.csv", spaced).said == choose(tab, "a.csv", CSV).said, (
            "blanks around a name do not count"
        )
        _beginnings(tab)
        _decimal_commas(tab)
        _encodings(tab)
        _number_formats(tab)
        _prefixes(tab)
        _parquet(tab)
        _refused(
            tab,
            ("a.csv.gz", b"ward,age", "does not begin as gzip does"), ("a.csv.gz", gzip.compress(CSV)[:60], "cannot be unpacked"),
            ("a.csv", b"ward\n\xff\n", "not UTF-8"), ("a.csv", b"", "is empty"), ("a.csv", b"w" * 70_000, "no complete record"),
            ("a.zip", b"PK", "A table is sent as CSV, CSV.GZ or Parquet"),
        )  # fmt: skip


def _refused(tab: Any, *files: tuple[str, bytes, str]) -> None:
    for name, content, said in files:
        seen = choose(tab, name, content)
        assert said in seen.said, (name, seen.said)
        assert not seen.drawn, "pictures of another file are not left"


def _beginnings(tab: Any) -> None:
    """Of large files only the beginning is read, and what follows it may be missing."""
    noise_bytes = np.random.default_rng(1).integers(0, 256, 1_000_000, dtype=np.uint8).tobytes()
    large = CSV + CSV.partition(b"\n")[2] * 100 + b"A,1,yes," + noise_bytes.hex().encode() + b"\n"
    packed = gzip.compress(large)
    for name, content in (("a.csv", large), ("a.csv.gz", packed), ("a.csv.gz", packed[: len(packed) // 2])):
        seen = choose(tab, name, content)
        assert seen.said == "All columns match the declaration in the first 50 rows."
        assert seen.read < 400_000 < len(content)


def _declare(tab: Any, key: str, value: str) -> None:
    """Let the page's dataset declare another form of its files."""
    tab.evaluate(
        """([key, value]) => {
      const form = document.querySelector("[data-declared]"), declared = JSON.parse(form.dataset.declared);
      declared.dialect[key] = value;
      form.dataset.declared = JSON.stringify(declared);
    }""",
        [key, value],
    )


def _decimal_commas(tab: Any) -> None:
    """A declared comma is the only sign before decimals."""
    rows = b'ward,age,sick,seen\nA,"7,0",yes,2020-01-02\nA,7.0,yes,2020-01-02\nA,7,yes,2020-01-02\n'
    for mark in (",", "."):
        _declare(tab, "decimal", mark)
        assert choose(tab, "a.csv", rows).rows["age"][1] == "1 of 3 not as declared"
    _declare(tab, "decimal", ",")
    assert choose(tab, "a.csv", rows.replace(b"7.0", b"7")).rows["age"][1] == "as declared"
    _declare(tab, "decimal", ".")


def _encodings(tab: Any) -> None:
    """The declared encoding is the one that is read."""
    rows = "ward,age,sick,seen\nÜ,7,yes,2020-01-02\n"
    for encoding, written in (
        ("windows-1252", rows.encode("cp1252")),
        ("iso-8859-15", rows.encode("iso-8859-15")),
        ("utf-16", b"\xff\xfe" + rows.encode("utf-16-le")),
        ("utf-16", b"\xfe\xff" + rows.encode("utf-16-be")),
        ("utf-8", rows.encode()),
    ):
        _declare(tab, "encoding", encoding)
        assert choose(tab, "a.csv", written).rows["ward"][1] == "as declared", encoding
    _refused(tab, ("a.csv", rows.encode("cp1252"), "is not UTF-8"))


FORMATS: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"thousands": "."}, ["1,5", "10", "99,0"], ["1.5", "1.00", "1000.5"]),
    ({"affixes": ["%", "R$"]}, ["4.5%", "4.5 %", "R$ 7", "7"], ["4,5%", "%", "7 x"]),
    ({"thousands": " ", "decimal_mark": ","}, ["1,5", "10"], ["1 0", "1.5"]),
    ({"clock": True}, ["1:05", "0:59", "12:45 am", "7"], ["13:00 pm", "1:5", "17:45"]),
]
"""Formats with ages from 0 to 99 that are as declared, and texts that are not."""


def _number_formats(tab: Any) -> None:
    """The declared format of a column's numbers is the one that is read."""
    declare = """(format) => {
      const form = document.querySelector("[data-declared]"), declared = JSON.parse(form.dataset.declared);
      declared.columns.find((column) => column.name === "age").format = format;
      form.dataset.declared = JSON.stringify(declared);
    }"""
    for number_format, fine, others in FORMATS:
        tab.evaluate(declare, number_format)
        for texts, told in (
            (fine, "as declared"),
            (others, f"{len(others)} of {len(others)} not as declared"),
        ):
            lines = "".join(f'A,"{text}",yes,2020-01-02\n' for text in texts)
            seen = choose(tab, "a.csv", f"ward,age,sick,seen\n{lines}".encode())
            assert seen.rows["age"][1] == told, (number_format, texts)
    tab.evaluate(declare, None)


def _parquet(tab: Any) -> None:
    table = pa.table({
        "ward": ["A", None, "Ü"], "age": pa.array([1, 2, 3], pa.int8()), "sick": [[True], [False], []],
        "seen": pa.array([0, 1, 2], pa.date32()), "Größe": pa.array([1.5, None, 2.0]), "at": pa.array([0, 1, 2], pa.timestamp("ms", "UTC")),
        "deep": [{"a": {"b": 1}, "c": [1]}] * 3,
    })  # fmt: skip
    target = io.BytesIO()
    pq.write_table(table, target, row_group_size=2)
    whole = target.getvalue()
    seen = choose(tab, "a.parquet", whole)
    assert seen.said == "3 rows in 2 row groups. 4 columns differ from the declaration by name."
    assert seen.read < len(whole), "the pages of values are not read"
    later = "values are checked after sending"
    assert seen.rows == {
        "ward": ("text", later), "age": ("whole number", later), "sick": ("list or structure", "one value a row is needed"),
        "seen": ("date", later), **dict.fromkeys(("Größe", "at", "deep"), ("–", "not declared, or repeated")),
    }  # fmt: skip
    _refused(
        tab,
        ("a.parquet", whole[:-9], "does not end as Parquet does"),
        ("a.parquet", whole[:-60] + b"\xff" * 52 + whole[-8:], "footer of the Parquet file is damaged"),
        ("a.parquet", whole[:-8] + b"\xff\xff\x00\x00PAR1", "is damaged"),
        ("a.parquet", whole[:-4] + b"PARE", "is encrypted"),
    )


def pictures(world: World, tab: Any, go: Callable[[str], None]) -> None:
    """Archives of images beside a declared shape and labels, with the first of them drawn."""
    dataset_id = world.declare(name="Digits", domain=IMAGES.to_json(), declared_size=1000)
    go(f"/datasets/{dataset_id}/upload")
    files = [picture(image) for image in PIXELS]
    good = labelled(files, "01234567", UNITS)
    labels = np.arange(8, dtype=np.uint8)
    everything = "All parts match the declaration, as far as the beginning shows."
    with nothing_sent(tab):
        seen = choose(tab, "a.zip", good)
        assert (seen.said, seen.drawn) == (f"8 image files. {everything}", 6)
        assert seen.pictures == list("012345"), "each is called by its label"
        assert seen.rows["Labels"][0].startswith("in the first 8 lines: 0: 1, 1: 1")
        _odd_pictures(tab, files)
        for name, content in (
            ("a.npz", npz(images=PIXELS, labels=labels, units=np.array(UNITS))),
            ("a.zip", mnist(PIXELS, labels)),
        ):
            seen = choose(tab, name, content)
            assert (seen.said, seen.drawn) == (f"8 images. {everything}", 6), name
        seen = choose(tab, "a.npz", npz(images=PIXELS[:, :4], labels=labels, other=labels))
        assert {name: result for name, (_, result) in seen.rows.items()} == {
            "images": "another size, type or order", "labels": "as declared", "units": "missing in the file", "other.npy": "not declared",
        }  # fmt: skip
        large = archive(
            {f"{n}.png": one for n, one in enumerate(files)} | {"more.png": bytes(3_000_000)},
            zipfile.ZIP_STORED,
        )
        assert choose(tab, "a.zip", large).read < 100_000
        _refused(
            tab,
            ("a.zip", good[:-30], "does not end as a ZIP archive does"),
            ("a.zip", good[: len(good) // 2] + good[-22:], "directory of the ZIP archive is damaged"),
            ("a.npz", archive({"images.npy": b"nothing"}), "array of the archive is damaged"),
            ("a.csv", CSV, "Images are sent as ZIP or NPZ"),
        )
    alone = replace(IMAGES, privacy_unit=None)
    dataset_id = world.declare(name="Digits in folders", domain=alone.to_json(), declared_size=1000)
    go(f"/datasets/{dataset_id}/upload")
    with nothing_sent(tab):
        in_folders = {f"train/{place % 4}/{place}.png": one for place, one in enumerate(files)}
        seen = choose(tab, "a.zip", archive(in_folders))
        assert (seen.said, seen.pictures) == (f"8 image files. {everything}", list("012301"))
        seen = choose(tab, "a.zip", archive(in_folders | {"other/8.png": files[0]}))
        assert seen.rows["Labels"][1] == "1 of 9 not as declared"


def _odd_pictures(tab: Any, files: list[bytes]) -> None:
    odd = [
        picture(noise(replace(IMAGES, height=9), 1)[0]),
        b"\x89PNG broken",
        picture(PIXELS[0], mode="P"),
        *files,
    ]
    entries = {f"{'ab'[place % 2]}/{place}.png": one for place, one in enumerate(odd)}
    seen = choose(tab, "a.zip", archive(entries | {"labels.csv": b"file,label,who\na/0.png,x,ann\n"}))
    assert seen.said == "11 image files. 2 parts differ from the declaration, as far as the beginning shows."
    assert seen.rows["Images"] == ("11 PNG or JPEG files", "3 of the first 6 not as declared")
    assert seen.rows["Labels"][1] == "1 of 1 not as declared"
    assert seen.rows["Folders"][0] == "a/: 6, b/: 5"
    assert [one.split("\n")[-1] for one in seen.pictures[:3]] == [
        "6 × 9 pixels",
        "damaged image",
        "other colours than declared",
    ]
