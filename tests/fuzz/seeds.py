"""The first inputs of every parser: whole ones of every shape. `python -m tests.fuzz.seeds` writes them into the corpus."""

import gzip
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.core.artifacts.certified import REFRESHING, certified
from tests.core.artifacts.certified_graphical import certified_graphical
from tests.core.artifacts.stand_in import DOMAIN as BUNDLE_DOMAIN
from tests.core.artifacts.stand_in import bundle
from tests.core.data.pictures import archive, mnist, noise, npz, picture
from tests.core.plan.domain.ruled import TOGETHER
from tests.fuzz.targets import CANARY, DIGITS, DOMAIN, IMAGES

CORPUS: Final = Path(__file__).parent / "corpus"
_HEADER: Final = "age,pay,work,sick,seen,who,note\n"
_ROWS: Final = "".join(
    f"{age},{age / 4},{'PQ'[age % 2]},{'yes' if age % 3 else 'no'},2020-0{1 + age % 9}-11,p{age % 5},{CANARY}\n"
    for age in range(40)
)
CSV_ROWS: Final = (_HEADER + _ROWS).encode()


def seeds() -> Mapping[str, Mapping[str, bytes]]:
    """Whole inputs by parser and name."""
    quoted = _HEADER + f'5,,"{CANARY}",no,2020-02-29,"a ""b"", c","over\ntwo"\r\n,1e3,P,yes,2020-01-01,ü,\n'
    return {
        "csv": {
            "plain": CSV_ROWS,
            "quoted": quoted.encode(),
            "crlf": CSV_ROWS.replace(b"\n", b"\r\n"),
            "marked": b"\xef\xbb\xbf" + CSV_ROWS[:300],
            "wrong": f"{_HEADER}{CANARY},{CANARY},{CANARY},{CANARY},{CANARY},{CANARY},{CANARY}\n".encode(),
        },
        "gzip": {
            "plain": gzip.compress(CSV_ROWS, mtime=0),
            "members": gzip.compress(CSV_ROWS[:500], mtime=0) + gzip.compress(CSV_ROWS[500:], mtime=0),
            "stored": gzip.compress(CSV_ROWS, 0, mtime=0),
        },
        "parquet": {
            "dictionary": _parquet(),
            "plain": _parquet(use_dictionary=False, compression="none"),
            "second-version": _parquet(data_page_version="2.0", compression="zstd", data_page_size=64),
            "groups": _parquet(row_group_size=7, compression="gzip"),
            "prefixes": _parquet(use_dictionary=False, column_encoding={"who": "DELTA_BYTE_ARRAY"}),
            "differences": _parquet(use_dictionary=False, column_encoding={"age": "DELTA_BINARY_PACKED"}),
        },
        "images": {
            "packed": archive(_pictures(), zipfile.ZIP_DEFLATED),
            "stored": archive(_pictures(), zipfile.ZIP_STORED),
            "words": npz(
                images=noise(IMAGES, 4), labels=np.array(["cat", "dog"] * 2), units=np.array([CANARY] * 4)
            ),
            "numbers": npz(images=noise(IMAGES, 4)[..., 0], labels=np.arange(4) % 3, units=np.arange(4)),
            "idx": mnist(noise(DIGITS, 4), np.arange(4, dtype=np.uint8)),
        },
        "domain": {
            "every-kind": json.dumps(DOMAIN.to_json()).encode(),
            "released": json.dumps(BUNDLE_DOMAIN).encode(),
            "rules": json.dumps(TOGETHER).encode(),
            "images": json.dumps(IMAGES.to_json()).encode(),
        },
        "certificate": {
            "whole": json.dumps(certified().certificate).encode(),
            "refreshing": json.dumps(certified(REFRESHING).certificate).encode(),
            "graphical": json.dumps(certified_graphical().certificate).encode(),
        },
        "bundle": {
            "whole": pack(bundle(), readme="read me"),
            "signed": certified().packed,
            "images": pack(image_stand_in.bundle(), readme="read me"),
            "graphical": certified_graphical().packed,
        },
        "counts": {
            "by-class": certified({"critic": False}).bundle.counts or b"",
            "merged": certified({"critic": False}, epsilon=0.02).bundle.counts or b"",
            "graphical": certified_graphical().bundle.counts or b"",
            "not-by-class": certified({"critic": False}, epsilon=0.0001).bundle.counts or b"",
        },
        "question": {
            "count": f'ward by sick where age between 1 and 60 and ward in (A, "Ü") and seen = {CANARY}'.encode(),
            "mean": b"mean of age by sick where seen between 2020-01-02 and 2020-01-04",
            "share": b"share of sick = yes by ward",
            "quoted": b'"ward" where ward = \'B, or "C"\'',
        },
    }


def _pictures() -> dict[str, bytes]:
    """Pictures of every kind that is told apart, and their label file."""
    grey, colour = noise(IMAGES, 1)[0], noise(IMAGES, 1)[0].repeat(3, axis=2)
    files = {
        f"{CANARY}.png": picture(grey),
        "a.jpg": picture(grey, "JPEG"),
        "b.png": picture(colour),
        "c.jpg": picture(colour, "JPEG", mode="CMYK", progressive=True),
        "d.png": picture(grey, mode="P"),
        "e.png": picture(grey, exif=b"Exif\0\0MM\0*\0\0\0\x08\0\1\x01\x12\0\3\0\0\0\1\0\3\0\0\0\0\0\0"),
    }
    lines = [f"{name},{word},{CANARY}" for name, word in zip(files, ("cat", "dog") * 3, strict=True)]
    return {"set/labels.csv": "\n".join(["file,label,who", *lines, ""]).encode()} | {
        f"set/{name}": content for name, content in files.items()
    }


def _parquet(**options: object) -> bytes:
    ages = list(range(40))
    table = pa.table(
        {
            "age": pa.array(ages, pa.int32()),
            "pay": pa.array([None if age % 7 == 0 else age / 4 for age in ages]),
            "work": ["PQ"[age % 2] for age in ages],
            "sick": ["yes" if age % 3 else "no" for age in ages],
            "seen": [f"2020-0{1 + age % 9}-11" for age in ages],
            "who": [f"p{age % 5}{CANARY}" for age in ages],
            "note": [CANARY] * 40,
        }
    )
    target = io.BytesIO()
    pq.write_table(table, target, **options)
    return target.getvalue()


if __name__ == "__main__":
    for parser, inputs in seeds().items():
        (CORPUS / parser).mkdir(parents=True, exist_ok=True)
        for name, content in inputs.items():
            (CORPUS / parser / f"seed-{name}").write_bytes(content)
