"""The README inside the bundle of a private model. A test runs the command it prints."""

from collections.abc import Mapping
from typing import Any, Final

from core.artifacts.private_models.bundle import ModelManifest
from core.artifacts.private_models.constancy_check import REMEDY, ModelCheck
from core.artifacts.readme import is_signed

_TEXT = """\
# A differentially private classifier of `{target}`

This model was trained on private {records} under ({epsilon}, {delta})-differential privacy for adding or removing
{unit}. `certificate.json` says by which mechanism, so that anyone can compute the figure again. Predictions, publishing them
and publishing this bundle cost no further privacy. {accuracy}{constant}

| file | content |
|---|---|
| `model.onnx` | the whole model: {inputs} in, `logits` ({classes} numbers) out |
| `weights.safetensors` | its weights, and principal components if it has any |
| `manifest.json` | inputs and outputs, SHA-256 of model, weights and domain |
| `domain.json` | the declared domain: the meaning of codes and labels |
| `predict.py` | predicts from a file, with numpy and onnxruntime alone |
| `certificate.json` | the budget spent, the mechanism, and the SHA-256 of all other files; {signed} |

{verify}

To predict, unzip the bundle (verify it first if it comes from somebody else) and run

    python predict.py {source} predictions.csv

which writes the predicted class of every record and the probability of every class. {reading}The probabilities are those of the
network; noise in training makes them worse calibrated than those of a model without it.
"""
_READING: Final = (
    "It reads\nthe file as `domain.json` declares files of this table; rows with a value that the domain refuses and the model has no "
    "code for\nhave an empty prediction, and are counted on standard error (exit status 3). "
)
_SIGNED: Final = {
    "signed": "signed",
    "verify": (
        "With understudy installed: `understudy verify bundle.zip --keys signing-keys.json` recomputes the figures and "
        "checks\nthe signature. Take the keys from the service itself, never from this bundle."
    ),
}
_UNSIGNED: Final = {
    "signed": "not signed",
    "verify": (
        "With understudy installed: `understudy verify bundle.zip --allow-unsigned` recomputes the figures. This bundle "
        "was made\nwithout a service and is not signed: it is only as trustworthy as the person who gave it to you."
    ),
}


def render_model_readme(manifest: ModelManifest, *, certificate: Mapping[str, Any]) -> str:
    """Return the README of one model; its certificate may be of either form, and the hash of the README is not needed yet."""
    guarantee = certificate["privacy_parameters"]
    unit = certificate["privacy_unit"]["column"]
    image = manifest.image
    if image is None:
        inputs = f"`codes` ({len(manifest.cardinalities)} integers a row)"
    else:
        inputs = f"`images` ({image[0]} x {image[1]} pixels, {image[2]} channels, 8 bits each)"
    return _TEXT.format(
        target=manifest.target,
        records="rows" if image is None else "images",
        epsilon=guarantee["epsilon"],
        delta=guarantee["delta"],
        unit="one record" if unit is None else f"all records of one `{unit}`",
        accuracy=_accuracy(certificate["accuracy"]),
        constant=_constant(ModelCheck.of_certificate(certificate)),
        inputs=inputs,
        classes=manifest.classes,
        reading="" if image is not None else _READING,
        source="rows.csv" if image is None else "images.npz",
        **(_SIGNED if is_signed(certificate) else _UNSIGNED),
    )


def _constant(check: ModelCheck | None) -> str:
    return f"\n\n**{check.detail}** {REMEDY}" if check is not None and check.constant else ""


def _accuracy(accuracy: Mapping[str, Any] | None) -> str:
    if accuracy is None:
        return "Its accuracy was not measured."
    return (
        f"On held-out units its accuracy is {accuracy['estimate']:.1%}, between {accuracy['low']:.1%} and "
        f"{accuracy['high']:.1%} for the noise."
    )
