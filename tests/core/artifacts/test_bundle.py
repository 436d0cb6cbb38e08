import contextlib
import io
import json
import zipfile
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.artifacts.bundle import unpack
from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import manifest_from_json
from core.artifacts.packing import pack
from tests.core.artifacts.stand_in import bundle


def _rewritten(packed: bytes, name: str, content: bytes | None) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(packed)) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.namelist():
            if entry != name:
                new.writestr(entry, old.read(entry))
            elif content is not None:
                new.writestr(entry, content)
    return target.getvalue()


def test_what_is_packed_comes_back():
    assert unpack(pack(bundle(), readme="read me")) == bundle()


def test_the_same_bundle_gives_the_same_bytes():
    assert pack(bundle(), readme="x") == pack(bundle(), readme="x")


def test_a_bundle_holds_the_files_the_docs_name_and_no_pickle():
    with zipfile.ZipFile(io.BytesIO(pack(bundle(), readme="x"))) as archive:
        assert set(archive.namelist()) == {
            "README.md",
            "certificate.json",
            "domain.json",
            "generator.onnx",
            "generator.safetensors",
            "manifest.json",
            "sample.py",
        }
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("name", ["generator.onnx", "generator.safetensors", "domain.json"])
def test_a_file_that_is_not_the_listed_one_is_refused(name):
    with pytest.raises(BundleInvalid, match="not the file its manifest lists"):
        unpack(_rewritten(pack(bundle(), readme="x"), name, b"{}"))


@pytest.mark.parametrize("name", ["generator.onnx", "manifest.json"])
def test_a_missing_file_is_refused(name):
    with pytest.raises(BundleInvalid, match="not a complete bundle"):
        unpack(_rewritten(pack(bundle(), readme="x"), name, None))


@given(st.binary(max_size=200))
def test_any_other_bytes_are_refused(content):
    with pytest.raises(BundleInvalid):
        unpack(content)


@cache
def _packed():
    return pack(bundle(), readme="x")


@settings(max_examples=300)
@given(st.integers(0, 10_000), st.integers(1, 255))
def test_a_flipped_byte_never_goes_unnoticed_or_crashes(position, change):
    packed = bytearray(_packed())
    packed[position % len(packed)] ^= change
    with contextlib.suppress(BundleInvalid):
        assert unpack(bytes(packed)) == bundle()  # the flip hit what nobody reads: the README, a date


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "understudy.bundle/3"},
        {"schema": []},
        {"latent_dimension": 0},
        {"latent_dimension": "many"},
        {"cardinalities": []},
        {"cardinalities": [3, 0]},
        {"label_index": None},
        {"label_index": 9},
        {"label_probabilities": [0.5, 0.6]},
        {"label_probabilities": [1.5, -0.5]},
        {"label_probabilities": [1.0]},
    ],
)
def test_a_manifest_of_a_generator_that_cannot_exist_is_refused(change):
    good = bundle().manifest.to_json()
    assert manifest_from_json(good) == bundle().manifest
    with pytest.raises(BundleInvalid):
        manifest_from_json({**good, **change})


def test_a_manifest_that_lacks_a_field_is_refused():
    good = bundle().manifest.to_json()
    for name in good:
        with pytest.raises(BundleInvalid):
            manifest_from_json({key: value for key, value in good.items() if key != name})


def test_a_manifest_that_is_no_object_is_refused():
    with pytest.raises(BundleInvalid, match="not a JSON object"):
        unpack(_rewritten(pack(bundle(), readme="x"), "manifest.json", json.dumps([1]).encode()))


def test_a_generator_without_a_target_has_no_label_distribution():
    plain = replace(bundle().manifest, label_index=None, label_probabilities=None)
    assert manifest_from_json(plain.to_json()) == plain
