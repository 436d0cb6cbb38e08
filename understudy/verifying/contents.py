"""Compare the other files of a bundle with its certificate and with each other."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from understudy.verifying.bundle_file import MANIFEST, Opened
from understudy.verifying.learning import RECORDS, learns_records
from understudy.verifying.planned import canonical_digest
from understudy.verifying.records import IMAGES, described

_DIGESTED: Final = ("domain.json", "generator.onnx", "generator.safetensors")
_MEMBERS: Final = frozenset({
    "schema", "latent_dimension", "cardinalities", "label_index", "label_probabilities", "sha256",
})  # fmt: skip
_IMAGE_MEMBERS: Final = frozenset({
    "schema", "latent_dimension", "height", "width", "channels", "label_probabilities", "sha256",
})  # fmt: skip
_TABLE: Final = "understudy.bundle/2"
_WIDE: Final = "understudy.wide-bundle/1"
"""Schema of the manifest of a table whose network outputs logits of groups of codes."""
_MOST_COLUMNS, _MOST_CODES, _MOST_LOGITS, _WIDEST = 2**16, 1_000_000, 32767, 2**16
_LONGEST_SIDE, _MOST_LABELS = 256, 1000


def artefact_problems(opened: Opened) -> Iterator[str]:
    """Report files that differ from the certificate's list."""
    for name, listed in opened.certificate["artefacts"].items():
        found = opened.files.get(name)
        if found is None:
            yield f"{name} is listed and not there"
            continue
        if listed["sha256"] != found.sha256:
            yield f"{name} is not the file that the certificate lists (SHA-256 {found.sha256})"
        if listed["bytes"] != found.bytes:
            yield f"{name} has {found.bytes} bytes, the certificate lists {listed['bytes']}"


def manifest_problems(opened: Opened) -> Iterator[str]:
    """Report an invalid manifest, or one that lists other files than the bundle."""
    manifest = opened.manifest
    schema = manifest.get("schema")
    describes = _describes_images if schema == IMAGES else _describes
    if schema not in (_TABLE, _WIDE, IMAGES) or not describes(manifest):
        yield f"{MANIFEST} does not describe a generator"
    elif manifest["sha256"] != {name: opened.files[name].sha256 for name in _DIGESTED}:
        yield f"{MANIFEST} lists other files than are there"


def _describes(manifest: Mapping[str, Any]) -> bool:
    wide = manifest["schema"] == _WIDE
    if manifest.keys() != (_MEMBERS | {"groups"} if wide else _MEMBERS):
        return False
    cardinalities, distribution = manifest["cardinalities"], manifest["label_probabilities"]
    label, blocks = manifest["label_index"], manifest["groups" if wide else "cardinalities"]
    if not (_is_whole(manifest["latent_dimension"], _WIDEST) and _are_columns(cardinalities, blocks)):
        return False
    if label is None or distribution is None:
        return label is None and distribution is None
    if type(label) is not int or not 0 <= label < len(cardinalities) or not isinstance(distribution, list):
        return False
    return len(distribution) == cardinalities[label] == blocks[label] and _is_distribution(distribution)


def _are_columns(cardinalities: object, blocks: object) -> bool:
    """Whether the lists are codes of columns and, for each column, no more logits than codes."""
    if not isinstance(cardinalities, list) or not isinstance(blocks, list):
        return False
    if not 0 < len(cardinalities) == len(blocks) <= _MOST_COLUMNS:
        return False
    if not all(_is_whole(codes, _MOST_CODES) for codes in cardinalities) or sum(cardinalities) > _MOST_CODES:
        return False
    fewer = all(_is_whole(logits, codes) for logits, codes in zip(blocks, cardinalities, strict=True))
    return fewer and sum(blocks) <= _MOST_LOGITS


def _describes_images(manifest: Mapping[str, Any]) -> bool:
    if manifest.keys() != _IMAGE_MEMBERS or not _is_whole(manifest["latent_dimension"], _WIDEST):
        return False
    sides = all(_is_whole(manifest[side], _LONGEST_SIDE) for side in ("height", "width"))
    distribution = manifest["label_probabilities"]
    labelled = (
        isinstance(distribution, list)
        and 1 < len(distribution) <= _MOST_LABELS
        and _is_distribution(distribution)
    )
    return sides and manifest["channels"] in (1, 3) and (distribution is None or labelled)


def _is_distribution(distribution: list[Any]) -> bool:
    numbers = all(isinstance(p, float) and p >= 0 for p in distribution)
    return numbers and math.isclose(math.fsum(distribution), 1, abs_tol=1e-6)


def _is_whole(value: object, most: int) -> bool:
    return type(value) is int and 0 < value <= most


def domain_problems(opened: Opened) -> Iterator[str]:
    """Report a declared domain that differs from the certificate's."""
    certificate, domain = opened.certificate, opened.domain
    stated, cardinalities = certificate["data_domain"], described(opened.manifest).cardinalities
    if stated["sha256"] != canonical_digest(domain):
        yield "data_domain/sha256 is not the hash of domain.json"
    if stated["columns"] != len(cardinalities) or stated["cells"] != sum(cardinalities):
        yield "data_domain is not of the manifest's columns"
    parts = ("bounds", "bins", "categories")
    if any(
        column.get(part) == "learn" for column in domain.get("columns", ()) for part in (*parts, "records")
    ):
        yield "domain.json leaves something to be learnt"
    if domain.get("privacy_unit") != certificate["privacy_unit"]["column"]:
        yield "privacy_unit is not the declared domain's"
    declared = [column.get("records") for column in domain.get("columns", ()) if column["kind"] == "unit"]
    if learns_records(certificate["plan"]):
        if not (certificate["privacy_unit"].get("records") is None and declared and declared[0] in RECORDS):
            yield "domain.json does not say how many records of a unit were learnt to count"
    elif certificate["privacy_unit"].get("records") not in (declared or [None]):
        yield "privacy_unit/records is not the declared domain's"
    if opened.manifest["schema"] == IMAGES:
        yield from _image_problems(domain, opened.manifest)
    elif (domain.get("target") is None) != (opened.manifest["label_index"] is None):
        yield "the target of domain.json is not the manifest's"


def generator_problems(opened: Opened) -> Iterator[str]:
    """Report impossible findings of the generator check; only the signature attests the findings themselves."""
    checked, domain = opened.certificate["generator_check"], opened.domain
    found = bool(checked["constant_columns"] or checked["repeated_labels"] or checked["few_records"])
    if checked["degenerate"] != found:
        yield "generator_check/degenerate is not what was found"
    if not 1 <= checked["distinct_records"] <= checked["draws"]:
        yield "generator_check/distinct_records is not between one and the draws"
    columns = [column.get("name") for column in domain.get("columns", ())]
    if not set(checked["constant_columns"]) <= set(columns):
        yield "generator_check/constant_columns names a column that is not declared"
    images, repeated = opened.manifest["schema"] == IMAGES, checked["repeated_labels"]
    declared = (
        set(repeated) <= set(domain.get("labels") or ()) if images else domain.get("target") is not None
    )
    if repeated and not declared:
        yield "generator_check/repeated_labels names a label that is not declared"


def generator_text(checked: Mapping[str, Any]) -> str:
    """The generator check's findings, on one line."""
    counts = f"{checked['distinct_records']} different records in {checked['draws']} draws"
    named = [*checked["constant_columns"], *checked["repeated_labels"]]
    return f"DEGENERATE: {counts}; {listed(named)}".rstrip("; ") if checked["degenerate"] else counts


def _image_problems(domain: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    for side in ("height", "width", "channels"):
        if domain.get(side) != manifest[side]:
            yield f"the {side} of domain.json is not the manifest's"
    distribution = manifest["label_probabilities"]
    if domain.get("labels") is None or len(domain["labels"]) != (
        0 if distribution is None else len(distribution)
    ):
        yield "the labels of domain.json are not the manifest's"


def listed(problems: Sequence[str]) -> str:
    """Format problems on one line, listing the first few only."""
    few = "; ".join(problems[:4])
    return few if len(problems) <= 4 else f"{few}; and {len(problems) - 4} more"  # noqa: PLR2004 - a line's worth
