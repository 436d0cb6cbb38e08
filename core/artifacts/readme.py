"""The README inside every bundle: how to sample without this service. A test runs the program it prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.artifacts.image_readme import image_text
from core.artifacts.manifest import ImageManifest, Manifest, TableManifest

_TEXT = """\
# A differentially private generator

{notes}This bundle was trained on a private table under ({epsilon}, {delta})-differential privacy for adding or removing
{unit}. `certificate.json` says by which mechanism, so that anyone can compute the figure again. Drawing rows from
the generator, publishing them and publishing this bundle cost no further privacy.

| file | content |
|---|---|
| `generator.onnx` | the network: `latent` ({latent} numbers) and `label` ({classes} numbers, one-hot) in, `logits` ({cells} numbers) out |
| `generator.safetensors` | its weights |
| `manifest.json` | codes per column, the law of the label, SHA-256 of network, weights and domain |
| `domain.json` | the declared columns: what each code means |
| `sample.py` | draws whole rows, which keep the declared rules between columns, with numpy and onnxruntime alone |
{counts_row}| `certificate.json` | what was spent, how, and the SHA-256 of all other files; {signed} |

{counts_text}{verify} To draw rows:
`understudy sample --bundle bundle.zip --rows 1000`.

Without it, unzip the bundle, verified if it comes from somebody else, and run `python sample.py 1000 rows.csv`. This program
(Python, numpy and onnxruntime) draws rows in coded form; code `c` of a column is its
`c`-th category or bin as `domain.json` lists them.

```python
import json
import zipfile

import numpy
import onnxruntime

archive = zipfile.ZipFile("bundle.zip")
manifest = json.loads(archive.read("manifest.json"))
network = onnxruntime.InferenceSession(archive.read("generator.onnx"))
rng = numpy.random.default_rng()
rows = 1000

law = manifest["label_probabilities"] or []
label = rng.choice(len(law), size=rows, p=law) if law else numpy.zeros(rows, dtype=int)
one_hot = numpy.eye(len(law), dtype=numpy.float32)[label] if law else numpy.zeros((rows, 0), numpy.float32)
latent = rng.standard_normal((rows, manifest["latent_dimension"]), dtype=numpy.float32)
logits = network.run(["logits"], {{"latent": latent, "label": one_hot}})[0]

columns, start = [], 0
for cells in manifest["{blocks}"]:
    block = logits[:, start : start + cells]
    weights = numpy.exp(block - block.max(axis=1, keepdims=True))
    threshold = rng.random((rows, 1)) * weights.sum(axis=1, keepdims=True)
    columns.append((weights.cumsum(axis=1)[:, :-1] <= threshold).sum(axis=1))
    start += cells
codes = numpy.stack(columns, axis=1)
{within}print(codes[:5])
```

Sample the codes as above. Taking the most likely code instead would destroy the joint distribution. These codes may break
`rules` of `domain.json`; rows of `sample.py` do not.
"""


_WITHIN = """\

# The logits are of groups of codes; a code is drawn within its group.
weights = archive.read("generator.safetensors")
body = 8 + int.from_bytes(weights[:8], "little")
places = json.loads(weights[8:body])

def tensor(name, kind):
    first, last = places[name]["data_offsets"]
    return numpy.frombuffer(weights[body + first : body + last], kind)

group_of_code, shares = tensor("group_of_code", "<i8"), numpy.exp(tensor("within_group", "<f4").astype(float))
groups = codes + numpy.cumsum([0, *manifest["groups"]])[:-1]
for column, start in enumerate(numpy.cumsum([0, *manifest["cardinalities"]])[:-1]):
    for group in numpy.unique(groups[:, column]):
        members, drawn = numpy.flatnonzero(group_of_code == group), groups[:, column] == group
        law = shares[members] / shares[members].sum()
        codes[drawn, column] = rng.choice(members, drawn.sum(), p=law) - start
"""
_COUNTS_ROW = (
    "| `counts.bin` | noisy counts of columns, pairs and, with the target, triples, with standard errors |\n"
)
_COUNTS_TEXT = """\
`understudy ask bundle.zip "COLUMN by COLUMN"` answers counts, means and shares with intervals from `counts.bin`. Without it:
the first line is JSON, and the cells of the tables that it lists follow as little-endian int32, in order, each table in C
order, times `step` records, with Gaussian noise of standard deviation `noise_std` on every cell.

"""
_SIGNED = {
    "signed": "signed",
    "verify": (
        "With understudy installed: `understudy verify bundle.zip --keys signing-keys.json` computes the figures again and "
        "checks\nthe signature against keys that you have from the service itself, never from this bundle."
    ),
}
_UNSIGNED = {
    "signed": "not signed",
    "verify": (
        "With understudy installed: `understudy verify bundle.zip --allow-unsigned` computes the figures again. Nobody has "
        "signed\nthis bundle: it was made without a service, and is worth the word of whoever handed it to you."
    ),
}
_BESIDE_EARLIER = (
    "The figure below is for what this bundle adds to {told}, whose counts it holds (`plan.reused` in `certificate.json`). Whoever has this "
    "bundle knows these counts too, so of all of them together the epsilons and deltas add up."
)
_MADE_WITHOUT_A_SERVICE = "understudy.local-certificate/"


def _table_text(
    manifest: TableManifest, *, epsilon: object, delta: object, unit: str | None, **words: str
) -> str:
    return _TEXT.format(
        epsilon=epsilon,
        delta=delta,
        unit="one record" if unit is None else f"all records of one `{unit}`",
        latent=manifest.latent_dimension,
        classes=len(manifest.label_probabilities or ()),
        cells=sum(manifest.blocks),
        blocks="cardinalities" if manifest.groups is None else "groups",
        within="" if manifest.groups is None else _WITHIN,
        **words,
    )


def render_readme(
    manifest: Manifest, *, certificate: Mapping[str, Any], counted: bool = False, notes: Sequence[str] = ()
) -> str:
    """Return the README of one bundle.

    Args:
        manifest: How to sample from it.
        certificate: Of any form; the hash of the README is not needed yet.
        counted: Whether the bundle holds counts; of a table only.
        notes: Paragraphs that stand first: what to know before the release is used; of a table only.
    """
    guarantee = certificate.get("privacy_parameters") or certificate.get("guarantee") or {}
    epsilon, delta = guarantee.get("epsilon"), guarantee.get("delta")
    unit = (certificate.get("privacy_unit") or {}).get("column")
    alone = str(certificate.get("schema")).startswith(_MADE_WITHOUT_A_SERVICE)
    words = _UNSIGNED if alone else _SIGNED
    match manifest:
        case TableManifest():
            words = words | {"counts_row": _COUNTS_ROW * counted, "counts_text": _COUNTS_TEXT * counted}
            told = (*notes, *_earlier(certificate))
            words |= {"notes": "".join(f"> {note}\n\n" for note in told)}
            return _table_text(manifest, epsilon=epsilon, delta=delta, unit=unit, **words)
        case ImageManifest():
            return image_text(manifest, epsilon=epsilon, delta=delta, unit=unit, **words)


def _earlier(certificate: Mapping[str, Any]) -> Iterator[str]:
    """What to know of a release that holds the counts of earlier ones."""
    reused = (certificate.get("plan") or {}).get("reused", ())
    count = sum(1 + len(one["holds"]) for one in reused)
    if count:
        yield _BESIDE_EARLIER.format(told="an earlier release" if count == 1 else f"{count} earlier releases")
