"""The private step on a GPU beside the ordinary one, for docs/benchmarks.md."""

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from docs.tables import machine, table

_RATIOS = (
    "private_over_ordinary",
    "private_over_ordinary_best",
    "drawn_over_ordinary",
    "private_over_played",
)


def gpu_step(result: dict[str, Any]) -> list[str]:
    """Ratios of every critic, batch and precision, and what they come to for the bar."""
    shapes = result["shapes"]
    gpu, packages = result["machine"]["gpu"], result["machine"]["packages"]
    rows = [
        [_critic(shape["critic"]), str(shape["batch"]), shape["precision"],
         *(f"{shape[ratio]:.2f}" for ratio in _RATIOS),
         *(f"{shape[f'{step}_milliseconds']:.2f}" for step in ("private", "ordinary", "played"))]
        for shape in shapes
    ]  # fmt: skip
    recorded = "every one" if all(shape["recorded"] for shape in shapes) else "not every one"
    return [
        (
            "`make bench-gpu`: the whole private step over an ordinary one of the same network, wall clock from the first launch until the GPU "
            "is done, medians of alternating steps. *Ordinary* is what torch gives: layers, autograd, the fused Adam, launched one kernel at a time; of images in "
            "the faster of two layouts of memory. *Played* is the same captured as a whole and replayed as one CUDA graph, which few trainings "
            f"do. The private step replayed CUDA graphs for {recorded} of these shapes. *Drawn* has batches of sizes that Poisson sampling gives. "
            "The ordinary step has TF32 products beside a private one of TF32 and of bfloat16. Bar for critics of images: at most 1.5, hoped for 1.1; for critics of tables 1.3 of a played step was hoped for, and is missed.\n"
        ),
        *table(["critic", "from", "to", "played, from", "to"], _ranges(shapes)),
        "",
        (
            "Lowest and highest ratio of each kind of critic over all batches and precisions. For small networks of tables an ordinary step "
            "waits for its launches, not for the GPU, so against a played one the private step costs several times as much: it is several "
            "graphs, between which the host copies records and repairs a few numbers of the noise. A critic of labels is compared with a classifier, which has one backward "
            "pass and no gradient penalty. Critics of labels at 8192 were not measured again.\n"
        ),
        *table(
            ["critic", "batch", "precision", "private / ordinary", "best", "drawn", "private / played",
             "private ms", "ordinary ms", "played ms"],
            rows,
        ),
        "",
        f"On {gpu['name']}, {gpu['memory_gib']} GiB, CUDA {gpu['cuda']}, torch {packages['torch']}. {machine(result)}",
    ]  # fmt: skip


def _critic(name: str) -> str:
    return (
        name.replace("linear", "of tables, two layers of").removeprefix("of ").replace("labels of", "labels,")
    )


def _ranges(shapes: Iterable[Mapping[str, Any]]) -> Iterable[list[str]]:
    kinds = {"linear": "of tables", "of images": "of images", "labels": "of labels"}

    def kind(shape: Mapping[str, Any]) -> str:
        return next(named for start, named in kinds.items() if shape["critic"].startswith(start))

    for named, given in groupby(shapes, kind):
        some = list(given)
        yield [
            named,
            *(
                f"{chosen(shape[ratio] for shape in some):.2f}"
                for ratio in ("private_over_ordinary", "private_over_played")
                for chosen in (min, max)
            ),
        ]
