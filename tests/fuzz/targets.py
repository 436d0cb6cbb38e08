"""The parsers of what strangers send, each as one function of bytes, and the promise that holds for all of them.

Whatever the bytes: either they are taken, or an error of our own tree says so, of a status below 500, without any of
the input's values in its text; and nothing is half-stored. Time and memory are watched from outside (campaign.py).
"""

import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from core.artifacts.asking.answer import OpenedCounts
from core.artifacts.certificate import form_of
from core.artifacts.certificate_form import CertificateForm
from core.artifacts.counts import ReleasedCounts
from core.artifacts.sampling.samples import open_samples
from core.data.intake.intake import CSV, GZIP, NPZ, PARQUET, ZIP, store_rows
from core.data.intake.unpacking import IntakeLimits
from core.data.objects import open_store
from core.errors import UnderstudyError
from core.plan.domain.declared import Domain, domain_from_json
from tests.core.artifacts.certified import certified
from tests.core.data.pictures import images
from tests.core.plan.domain.examples import table

FIRST_SERVER_ERROR: Final = 500
# Stands in every seed where a person's value would; no error may repeat it.
CANARY: Final = "qZ7canary"
LIMITS: Final = IntakeLimits(max_bytes=8 << 20, max_unpacked_bytes=64 << 20)
DOMAIN: Final = table(
    {"name": "age", "kind": "numeric", "type": "integer", "lower": 0, "upper": 99},
    {"name": "pay", "kind": "numeric", "type": "real", "lower": -1.5, "upper": 1e6, "null": "category"},
    {"name": "work", "kind": "categorical", "categories": ["P", "Q"], "other": True},
    {"name": "sick", "kind": "boolean", "true": "yes", "false": "no"},
    {"name": "seen", "kind": "date", "lower": "2020-01-01", "upper": "2020-12-31", "resolution": "day"},
    {"name": "who", "kind": "unit"},
    {"name": "note", "kind": "ignored"},
    privacy_unit="who",
)
# Images whose labels are words, and images like MNIST's.
IMAGES: Final = images(labels=("cat", "dog"), unit="who")
DIGITS: Final = images()


class Broken(AssertionError):
    """The promise does not hold for an input."""


@dataclass(frozen=True)
class Target:
    """One parser.

    Args:
        name: Of the parser and of its folder in the corpus.
        parse: Reads bytes; raises what the parser raises.
        private: Whether the input holds values of people; a domain, a certificate and a bundle are public.
    """

    name: str
    parse: Callable[[bytes], None]
    private: bool


def check(target: Target, content: bytes) -> str:
    """Try one input. Returns what came of it: ``taken``, or the code of the refusal.

    Raises:
        Broken: The promise does not hold.
    """
    try:
        target.parse(content)
    except UnderstudyError as error:
        told = f"{error.detail} {error.remedy} {error.facts} {error!r}"
        if error.status >= FIRST_SERVER_ERROR:
            raise Broken(f"{target.name}: an internal error") from error
        if target.private and CANARY in told:
            raise Broken(f"{target.name}: {error.code} repeats a value") from error
        return error.code
    except Broken:
        raise
    except Exception as error:
        raise Broken(f"{target.name}: {type(error).__name__} is none of ours") from error
    return "taken"


def _intake(kind: str, domain: Domain = DOMAIN) -> Callable[[bytes], None]:
    def parse(content: bytes) -> None:
        store = open_store("memory://")
        with tempfile.TemporaryDirectory() as folder:
            taken = False
            try:
                store_rows(
                    io.BytesIO(content), content_type=kind, domain=domain, store=store, key="rows",
                    data_key=bytes(32), scratch_folder=Path(folder), limits=LIMITS, threads=1,
                )  # fmt: skip
                taken = True
            finally:
                if store.exists("rows") != taken or list(Path(folder).iterdir()):
                    raise Broken(f"{kind}: something is half-stored")

    return parse


def _images(content: bytes) -> None:
    """Send it as what the names in it look like."""
    if b".npy" in content:
        _intake(NPZ, IMAGES)(content)
    else:
        _intake(ZIP, DIGITS if b"ubyte" in content else IMAGES)(content)


def _document(content: bytes) -> Any:
    """What the service's own reading of JSON would hand on; None where it hands nothing on."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _domain(content: bytes) -> None:
    document = _document(content)
    domain = domain_from_json(document)
    again = domain_from_json(json.loads(json.dumps(domain.to_json())))
    if again != domain:
        raise Broken("domain: not the same after its own JSON")


def _certificate(content: bytes) -> None:
    document = _document(content)
    if isinstance(document, Mapping):
        form_of(document, CertificateForm)


def _bundle(content: bytes) -> None:
    open_samples(content)


def _counts(content: bytes) -> None:
    ReleasedCounts.from_bytes(content)


@cache
def _opened_counts() -> OpenedCounts:
    return OpenedCounts.open(certified({"critic": False}).packed)


def _question(content: bytes) -> None:
    _opened_counts().answer(content.decode(errors="replace"))


TARGETS: Final[Mapping[str, Target]] = {
    target.name: target
    for target in (
        Target("csv", _intake(CSV), private=True),
        Target("gzip", _intake(GZIP), private=True),
        Target("parquet", _intake(PARQUET), private=True),
        Target("images", _images, private=True),
        Target("domain", _domain, private=False),
        Target("certificate", _certificate, private=False),
        Target("bundle", _bundle, private=False),
        Target("counts", _counts, private=False),
        Target("question", _question, private=True),
    )
}
