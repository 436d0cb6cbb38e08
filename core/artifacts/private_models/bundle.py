"""The bundle of a private model: one ZIP with all files of a release, none of them private.

    weights.safetensors   the weights
    model.onnx            the whole model for any ONNX runtime: images, or codes of a table -> logits
    manifest.json         what goes in and out, SHA-256 of weights, model and domain
    domain.json           the declared domain: what codes and labels mean
    certificate.json      what was spent and by which mechanism, signed; holds the digests of all other files
    README.md             how to predict
    predict.py            predicts from a file, with numpy and onnxruntime alone

As for generators (`core.artifacts.bundle`) there is no pickle, no time and no machine fact.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from core.artifacts.bundle import CERTIFICATE, DOMAIN, MANIFEST, README, json_object, read_files
from core.artifacts.errors import BundleInvalid
from core.artifacts.manifest import MODEL_SCHEMA
from core.artifacts.packing import json_bytes, zipped
from core.artifacts.private_models.script import render_predictor

WEIGHTS, MODEL, SCRIPT = "weights.safetensors", "model.onnx", "predict.py"
_DIGESTED: Final = (WEIGHTS, MODEL, DOMAIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelManifest:
    """Inputs and outputs of a model: ``logits`` (rows, classes).

    Attributes:
        target: The predicted column, or `label` of images.
        classes: Number of its codes.
        image: Height, width and channels of the input ``images`` (rows, height, width, channels), uint8; None for a table.
        cardinalities: Codes of each column of the input ``codes`` (rows, columns), int64; empty for images.
    """

    target: str
    classes: int
    image: tuple[int, int, int] | None
    cardinalities: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without the digests."""
        return {
            "schema": MODEL_SCHEMA,
            "target": self.target,
            "classes": self.classes,
            "image": None if self.image is None else list(self.image),
            "cardinalities": list(self.cardinalities),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form.

        Raises:
            BundleInvalid: A version this software does not know, or a field that is missing or of the wrong type.
        """
        if data.get("schema") != MODEL_SCHEMA:
            raise BundleInvalid("The bundle's manifest is not of a model.")
        try:
            image = data["image"]
            return cls(
                target=str(data["target"]),
                classes=int(data["classes"]),
                image=None if image is None else (int(image[0]), int(image[1]), int(image[2])),
                cardinalities=tuple(int(codes) for codes in data["cardinalities"]),
            )
        except (KeyError, TypeError, ValueError, IndexError):
            raise BundleInvalid("The bundle's manifest lacks a field or has one of the wrong type.") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelBundle:
    """An opened bundle of a model.

    Attributes:
        model: The ONNX model, serialised.
        weights: The safetensors file.
    """

    manifest: ModelManifest
    model: bytes
    weights: bytes
    domain: dict[str, Any]
    certificate: dict[str, Any]


def model_files(bundle: ModelBundle, *, readme: str) -> dict[str, bytes]:
    """Return the files of a bundle by name, except the certificate, which lists them."""
    files = {WEIGHTS: bundle.weights, MODEL: bundle.model, DOMAIN: json_bytes(bundle.domain)}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    manifest = json_bytes({**bundle.manifest.to_json(), "sha256": digests})
    script = render_predictor(bundle.domain).encode()
    return files | {MANIFEST: manifest, README: readme.encode(), SCRIPT: script}


def packed_model(bundle: ModelBundle, *, readme: str) -> bytes:
    """Return the ZIP of a bundle; the same bundle always gives the same bytes."""
    return zipped(model_files(bundle, readme=readme) | {CERTIFICATE: json_bytes(bundle.certificate)})


def holds_model(source: bytes) -> bool:
    """Return whether a bundle is one of a model, by its manifest."""
    try:
        manifest = json_object(read_files(source, (MANIFEST,))[MANIFEST], MANIFEST)
    except BundleInvalid:
        return False
    return manifest.get("schema") == MODEL_SCHEMA


def unpack_model(source: bytes | Path | BinaryIO) -> ModelBundle:
    """Open a bundle and check it.

    Raises:
        BundleInvalid: Not a ZIP, a file missing or too large, or not the bytes its manifest lists.
    """
    files = read_files(source, (*_DIGESTED, MANIFEST, CERTIFICATE))
    manifest = json_object(files[MANIFEST], MANIFEST)
    digests = manifest.get("sha256")
    for name in _DIGESTED:
        if not isinstance(digests, dict) or digests.get(name) != hashlib.sha256(files[name]).hexdigest():
            raise BundleInvalid(f"{name} in the bundle is not the file its manifest lists.")
    return ModelBundle(
        manifest=ModelManifest.from_json(manifest),
        model=files[MODEL],
        weights=files[WEIGHTS],
        domain=json_object(files[DOMAIN], DOMAIN),
        certificate=json_object(files[CERTIFICATE], CERTIFICATE),
    )
