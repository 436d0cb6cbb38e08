"""Changing inputs: bytes anywhere, and the structure of each format, so that changes get past its first check."""

import hashlib
import io
import json
import random
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from tests.fuzz.targets import CANARY

Mutator = Callable[[random.Random, bytes, Sequence[bytes]], bytes]

MAX_BYTES: Final = 1 << 20
NUMBERS: Final = (
    *(
        0,
        1,
        -1,
        2**15,
        2**31 - 1,
        2**31,
        2**63 - 1,
        2**63,
        2**64,
        10**30,
        0.0,
        -0.0,
        5e-324,
        1e308,
        -1e308,
        0.1,
    ),
    *(float("nan"), float("inf"), float("-inf"), True, False, None),
)
TEXTS: Final = (
    *(
        "",
        " ",
        "\x00",
        "\ud800",
        "é",
        "e\u0301",
        "\u202e",
        "A" * 70_000,
        CANARY,
        "1e999",
        "nan",
        "2020-02-30",
    ),
    *("9999-12-31", "0000-00-00", "-1", "../../etc", "understudy.domain/1", "=cmd()", "\r\n", '"', "'"),
)
CELLS: Final = (
    *(
        "",
        "1",
        "-0",
        "1e400",
        "99999999999999999999",
        "0x10",
        "1_000",
        "yes",
        "2020-01-01",
        "2020-13-45",
        "nan",
    ),
    *(
        '"',
        '""',
        '"\n"',
        '"a""b"',
        "\r",
        "\n",
        "\r\n",
        "\x00",
        "\ufeff",
        "\u2028",
        ",",
        ",,,,",
        "A" * 3000,
        CANARY,
    ),
)
BYTES: Final = (
    b"\x00",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\xff\x0f",
    b"\xef\xbb\xbf",
    b"\xc3",
)


def bytes_anywhere(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Flip, insert, remove, repeat, cut, or cross with another input."""
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        place = random.randrange(len(changed) + 1)
        length = random.choice((1, 1, 2, 4, 8, 64, 512))
        match random.randrange(7):
            case 0 if changed:
                changed[place % len(changed)] ^= 1 << random.randrange(8)
            case 1:
                changed[place:place] = random.choice(BYTES)
            case 2:
                del changed[place : place + length]
            case 3:
                changed[place:place] = changed[place : place + length] * random.choice((1, 2, 50))
            case 4:
                changed[place : place + length] = random.randbytes(length)
            case 5:
                other = random.choice(corpus)
                start = random.randrange(len(other) + 1)
                changed[place:] = other[start:]
            case _:
                del changed[place:]
    return bytes(changed[:MAX_BYTES])


def csv_cells(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Replace, drop, double or add cells and lines."""
    lines = [line.split(b",") for line in content.split(b"\n")[:2000]]
    for _ in range(random.choice((1, 2, 5, 20))):
        row = random.choice(lines)
        place = random.randrange(len(row) + 1)
        match random.randrange(5):
            case 0 | 1 if row:
                row[place % len(row)] = random.choice(CELLS).encode()
            case 2:
                row.insert(place, random.choice(CELLS).encode())
            case 3:
                lines.insert(random.randrange(len(lines)), list(random.choice(lines)))
            case _:
                lines[random.randrange(len(lines))] = [random.choice(corpus)[:200]]
    end = random.choice((b"\n", b"\n", b"\r\n", b"\r"))
    return end.join(b",".join(row) for row in lines)[:MAX_BYTES]


def gzip_members(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Unpack, change the inside, and pack again as one or more members, perhaps with something behind."""
    try:
        plain = zlib.decompressobj(31).decompress(content, MAX_BYTES)
    except zlib.error:
        plain = content
    plain = random.choice((csv_cells, bytes_anywhere))(random, plain, corpus)
    cuts = sorted(random.randrange(len(plain) + 1) for _ in range(random.choice((0, 0, 1, 3, 30))))
    packed = b"".join(
        zlib.compress(plain[start:end], level=random.choice((0, 1, 9)), wbits=31)
        for start, end in zip([0, *cuts], [*cuts, len(plain)], strict=True)
    )
    tail = random.choice(
        (b"", b"", b"", b"garbage", b"\x00" * 512, b"\x1f\x8b", zlib.compress(b"", wbits=31) * 50)
    )
    if random.random() < 0.1:
        return zlib.compress(packed, wbits=31)
    return packed + tail


def json_nodes(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Replace, remove, double or move parts of a document."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return bytes_anywhere(random, content, corpus)
    for _ in range(random.choice((1, 1, 2, 4))):
        document = _changed(random, document)
    return json.dumps(document).encode()[:MAX_BYTES]


def first_lines(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change the document that is the first line, and leave what is behind it."""
    line, newline, body = content.partition(b"\n")
    return json_nodes(random, line, corpus) + newline + body


def certificate_nodes(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change a certificate of either form and compute its digests again, as a forger would."""
    changed = json_nodes(random, content, corpus)
    try:
        document = json.loads(changed)
        if random.random() < 0.7:
            document["plan_digest"] = hashlib.sha256(_canonical(document["plan"])).hexdigest()
        if "digest" not in document:
            return json.dumps(document).encode()
        del document["digest"]
        return json.dumps(document | {"digest": hashlib.sha256(_canonical(document)).hexdigest()}).encode()
    except (ValueError, TypeError, KeyError):
        return changed


def bundle_files(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change one file of a bundle and have its manifest list the change."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        manifest = json.loads(files["manifest.json"])
        name = random.choice(sorted(files))
        change = json_nodes if name.endswith(".json") else bytes_anywhere
        files[name] = change(random, files[name], corpus)
        if name == "manifest.json":
            manifest = json.loads(files[name])
        listed = {
            file: hashlib.sha256(files[file]).hexdigest() for file in manifest["sha256"] if file in files
        }
        files["manifest.json"] = json.dumps(manifest | {"sha256": listed}).encode()
    except Exception:  # noqa: BLE001 - what is no bundle any more is changed as bytes
        return bytes_anywhere(random, content, corpus)
    target = io.BytesIO()
    method = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, inside in files.items():
            archive.writestr(name, inside)
    return target.getvalue()


def archive_files(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change, drop, rename or double files of an archive, and write it again with its sums in order."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = [(name, archive.read(name)) for name in archive.namelist()]
        for _ in range(random.choice((1, 1, 2))):
            place = random.randrange(len(files))
            name, inside = files[place]
            match random.randrange(6):
                case 0:
                    del files[place]
                case 1:
                    files.insert(
                        place,
                        (random.choice(("../x.png", "b.png", "labels.csv", "", name + "/", "é.png")), inside),
                    )
                case _:
                    change = csv_cells if name.endswith(".csv") else random.choice((bytes_anywhere, one_byte))
                    files[place] = (name, change(random, inside, corpus))
        target = io.BytesIO()
        with warnings.catch_warnings(), zipfile.ZipFile(target, "w", random.choice((0, 8))) as archive:
            warnings.simplefilter("ignore")
            for name, inside in files:
                archive.writestr(name, inside)
    except Exception:  # noqa: BLE001 - what is no archive any more is changed as bytes
        return bytes_anywhere(random, content, corpus)
    return target.getvalue()[:MAX_BYTES]


def one_byte(random: random.Random, content: bytes, _corpus: Sequence[bytes]) -> bytes:
    """Change one byte near the beginning, where formats say what they hold."""
    changed = bytearray(content)
    if changed:
        changed[random.randrange(min(len(changed), 160))] = random.randrange(256)
    return bytes(changed)


def archive_headers(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change numbers in an archive's directory or local headers."""
    places = [
        place for mark in (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06") for place in _places(content, mark)
    ]
    if not places:
        return bytes_anywhere(random, content, corpus)
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 4))):
        place = random.choice(places) + random.randrange(4, 46)
        value = random.choice((b"\0", b"\1", b"\xff\xff", b"\xff" * 4, b"\0" * 4, random.randbytes(2)))
        changed[place : place + len(value)] = value
    return bytes(changed[:MAX_BYTES])


def _places(content: bytes, mark: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(mark), content)]


def parquet_headers(random: random.Random, content: bytes, corpus: Sequence[bytes]) -> bytes:
    """Change numbers in the footer or near the pages' beginnings, keeping every length, so that the frame stays whole."""
    if len(content) < 64:
        return bytes_anywhere(random, content, corpus)
    changed = bytearray(content)
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = max(4, len(content) - 8 - length)
    for _ in range(random.choice((1, 1, 2, 4))):
        start, end = random.choice(((footer, len(content) - 8), (4, min(80, footer)), (4, footer)))
        place = random.randrange(start, max(start + 1, end))
        match random.randrange(3):
            case 0:
                changed[place] = random.randrange(256)
            case 1:
                changed[place] ^= 1 << random.randrange(8)
            case _:
                changed[place : place + 4] = random.choice(
                    (b"\xff\xff\xff\x7f", b"\x00\x00\x00\x00", b"\xfe\xff\xff\x0f")
                )
    return bytes(changed[: len(content)])


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _changed(random: random.Random, node: Any) -> Any:
    if isinstance(node, dict) and node and random.random() < 0.8:
        return _changed_object(random, node)
    if isinstance(node, list) and node and random.random() < 0.8:
        return _changed_list(random, node)
    return _value(random)


def _changed_object(random: random.Random, node: dict[str, Any]) -> dict[str, Any]:
    key = random.choice(sorted(node))
    match random.randrange(8):
        case 0:
            return {name: value for name, value in node.items() if name != key}
        case 1:
            return node | {random.choice(TEXTS): _value(random)}
        case _:
            return node | {key: _changed(random, node[key])}


def _changed_list(random: random.Random, node: list[Any]) -> list[Any]:
    place = random.randrange(len(node))
    match random.randrange(6):
        case 0:
            return node[:place] + node[place + 1 :]
        case 1:
            return node[:place] + [node[place]] * random.choice((2, 3, 500)) + node[place:]
        case _:
            return [*node[:place], _changed(random, node[place]), *node[place + 1 :]]


def _value(random: random.Random) -> Any:
    match random.randrange(6):
        case 0 | 1 | 2:
            return random.choice(NUMBERS)
        case 3 | 4:
            return random.choice(TEXTS)
        case _:
            nested: Any = random.choice(([], {}, [[]], {"a": 1}))
            for _ in range(random.choice((0, 0, 3, 200))):
                nested = random.choice(([nested], {"a": nested}))
            return nested


MUTATORS: Final[dict[str, tuple[Mutator, ...]]] = {
    "csv": (csv_cells, bytes_anywhere),
    "gzip": (gzip_members, bytes_anywhere),
    "parquet": (parquet_headers, parquet_headers, bytes_anywhere),
    "images": (archive_files, archive_files, archive_headers, bytes_anywhere),
    "domain": (json_nodes, json_nodes, bytes_anywhere),
    "certificate": (certificate_nodes, certificate_nodes, json_nodes, bytes_anywhere),
    "bundle": (bundle_files, bundle_files, bytes_anywhere),
    "counts": (first_lines, first_lines, bytes_anywhere),
    "question": (bytes_anywhere,),
}
