"""The classifier behind the inception score and the features: the paper's network, trained on one half of the test images.

    python -m benchmarks.images.scorer mnist

It is public: it learns from every other test image, which no synthesizer sees. The weights that the tables were made
with are in benchmarks/scorers, but for the faces, whose licence asks for research use; anybody who has the data gets the
like by the command above, kept outside the tree (UNDERSTUDY_BENCH_CACHE, default ~/.cache/understudy-bench). Names are
made of the recipe and the images, so a stale one is never taken.
"""

import argparse
import hashlib
import os
from pathlib import Path

from safetensors.torch import load_file, save_file

from benchmarks.images.classifiers import Recipe, accuracy, train
from benchmarks.images.datasets import NAMES, ImageSet, load
from benchmarks.images.networks import Classifier, lenet

RECIPE = Recipe(epochs=30, shift=1)
"""More passes than the classifiers of the tables make: it sees few images, and is never compared with them."""


PUBLISHED = Path(__file__).parents[1] / "scorers"


def cache_folder() -> Path:
    """Folder of trained scorers."""
    return Path(
        os.environ.get("UNDERSTUDY_BENCH_CACHE", Path.home() / ".cache" / "understudy-bench")
    ).expanduser()


def scorer(images: ImageSet, *, folder: Path | None = None, recipe: Recipe = RECIPE) -> Classifier:
    """The classifier of this set's scores, trained if it is not there yet.

    Args:
        images: whose `scorer_half` it learns from.
        folder: where it is kept if it is not among the published ones; default `cache_folder()`.
        recipe: how it is trained.
    """
    half = images.scorer_half
    content = hashlib.sha256(repr(recipe).encode() + half.pixels.tobytes() + half.labels.tobytes())
    name = f"scorer-{images.name}-{content.hexdigest()[:16]}.safetensors"
    published, kept = PUBLISHED / name, (folder or cache_folder()) / name
    path = published if published.exists() else kept
    if path.exists():
        height, width, channels = half.pixels.shape[1:]
        network = lenet((height, width, channels), images.classes)
        network.load_state_dict(load_file(path))
        return network.eval()
    network = train("cnn", half, classes=images.classes, seed=0, recipe=recipe)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    save_file({name: value.contiguous() for name, value in network.state_dict().items()}, part)
    part.replace(path)
    return network


def main() -> None:
    """Train and keep the scorer of each named set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+", choices=NAMES)
    for name in parser.parse_args().names:
        images = load(name)
        share = accuracy(scorer(images), images.reference_half)
        print(f"{name}: accuracy {share:.4f} on the half it has not seen")


if __name__ == "__main__":
    main()
