"""The README inside every bundle: how to sample without this service. A test runs the program it prints."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.artifacts.counts import ReleasedCounts
from core.artifacts.manifest import ImageManifest, Manifest
from core.artifacts.stated_split import stated_split

if TYPE_CHECKING:
    from jinja2 import Template

_BESIDE_EARLIER = (
    "The figure below is for what this bundle adds to {earlier}, whose counts it holds (`plan.reused` in `certificate.json`). Whoever has this "
    "bundle knows these counts too, so of all of them together the epsilons and deltas add up."
)
_MADE_WITHOUT_A_SERVICE = ("understudy.local-certificate/", "understudy.local-model-certificate/")


def render_readme(
    manifest: Manifest,
    *,
    certificate: Mapping[str, Any],
    counts: bytes | None = None,
    notes: Sequence[str] = (),
) -> str:
    """Return the README of one bundle.

    Args:
        certificate: Of any form; the hash of the README is not needed yet.
        counts: Those that the bundle holds, if it does; of a table only.
        notes: Paragraphs that stand first: what to know before the release is used; of a table only.
    """
    guarantee = certificate.get("privacy_parameters") or certificate.get("guarantee") or {}
    return _template().render(
        manifest=manifest,
        epsilon=guarantee.get("epsilon"),
        delta=guarantee.get("delta"),
        unit=(certificate.get("privacy_unit") or {}).get("column"),
        split=stated_split(certificate),
        signed=is_signed(certificate),
        counted=counts is not None,
        pairs=None
        if counts is None or isinstance(manifest, ImageManifest)
        else ReleasedCounts.from_bytes(counts).counted_pairs,
        notes=(*notes, *_earlier(certificate)),
    )


def is_signed(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate is of a form that a service signs."""
    return not str(certificate.get("schema")).startswith(_MADE_WITHOUT_A_SERVICE)


def _earlier(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Paragraph on a release that holds the counts of earlier ones."""
    reused = (certificate.get("plan") or {}).get("reused", ())
    count = sum(1 + len(one["holds"]) for one in reused)
    if count:
        yield _BESIDE_EARLIER.format(
            earlier="an earlier release" if count == 1 else f"{count} earlier releases"
        )


@cache
def _template() -> "Template":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=False,  # noqa: S701 - Markdown
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,
    )
    return environment.get_template("readme.md.jinja")
