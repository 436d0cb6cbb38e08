"""The README inside the bundle of an image generator. A test runs the program it prints."""

from core.artifacts.manifest import ImageManifest

_TEXT = """\
# A differentially private generator of images

This bundle was trained on private images under ({epsilon}, {delta})-differential privacy for adding or removing
{unit}. `certificate.json` says by which mechanism, so that anyone can compute the figure again. Drawing images from
the generator, publishing them and publishing this bundle cost no further privacy.

| file | content |
|---|---|
| `generator.onnx` | the network: `latent` ({latent} numbers) and `label` ({classes} numbers, one-hot) in, `images` ({channels} x {height} x {width} numbers from 0 to 1) out |
| `generator.safetensors` | its weights |
| `manifest.json` | the images' shape, the law of the label, SHA-256 of network, weights and domain |
| `domain.json` | the declared images: shape, and the labels in the order of their codes |
| `sample.py` | draws images with numpy and onnxruntime alone |
| `certificate.json` | what was spent, how, and the SHA-256 of all other files; {signed} |

{verify} To draw images:
`understudy sample --bundle bundle.zip --rows 1000 --out synthetic.npz` (or `.zip` for PNG files, `.png` for a contact
sheet).

Without it, unzip the bundle, verified if it comes from somebody else, and run `python sample.py 1000 images.npz`. This
program (Python, numpy and onnxruntime) draws images; label `c` is the `c`-th of `domain.json`.

```python
import json
import zipfile

import numpy
import onnxruntime

archive = zipfile.ZipFile("bundle.zip")
manifest = json.loads(archive.read("manifest.json"))
network = onnxruntime.InferenceSession(archive.read("generator.onnx"))
rng = numpy.random.default_rng()
rows = 100

law = manifest["label_probabilities"] or []
label = rng.choice(len(law), size=rows, p=law) if law else numpy.zeros(rows, dtype=int)
one_hot = numpy.eye(len(law), dtype=numpy.float32)[label] if law else numpy.zeros((rows, 0), numpy.float32)
latent = rng.standard_normal((rows, manifest["latent_dimension"]), dtype=numpy.float32)
values = network.run(None, {{"latent": latent, "label": one_hot}})[0]

images = numpy.rint(values.transpose(0, 2, 3, 1) * 255).clip(0, 255).astype(numpy.uint8)
numpy.savez("synthetic.npz", images=images, labels=label)
print(images.shape, images.dtype)
```
"""


def image_text(
    manifest: ImageManifest,
    *,
    epsilon: object,
    delta: object,
    unit: str | None,
    **words: str,
) -> str:
    """Return the README of a bundle of images.

    Args:
        manifest: How to sample from it.
        epsilon: Of the guarantee.
        delta: Of the guarantee.
        unit: The column that identifies the unit of an image, or None if each image is its own unit.
        **words: The sentences on the signature (`signed`) and on verification (`verify`).
    """
    return _TEXT.format(
        epsilon=epsilon,
        delta=delta,
        **words,
        unit="one image" if unit is None else f"all images of one `{unit}`",
        latent=manifest.latent_dimension,
        classes=len(manifest.label_probabilities or ()),
        channels=manifest.channels,
        height=manifest.height,
        width=manifest.width,
    )
