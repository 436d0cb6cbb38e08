"""The page of measured figures, docs/benchmarks.md, written from benchmarks/results/*.json and nothing else."""

import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.composition_figures import composition
from docs.cost_figures import cost
from docs.gpu_figures import gpu_step
from docs.image_figures import brightness, images, unlabelled
from docs.load_figures import pages, polling, recovery, reservations, streams
from docs.peer_figures import trials
from docs.tables import machine, table
from docs.utility_figures import charged

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"

ADULT_BAR = (
    "bar: AUROC 0.88 with both classifiers, two-way 0.05, one-way 0.015 at epsilon 1; a later one, AUROC 0.908 with trees and 0.898 with logistic regression, "
    "two-way 0.03, is missed in AUROC by every private mean"
)
_VARIANTS = {"both": "anchor and critic", "anchor": "anchor only", "critic": "critic only"}


def benchmarks_page() -> str:
    """Every committed result, beside what it is compared with."""
    parts = [
        "# Benchmarks\n",
        (
            "Every figure is from a run committed under `benchmarks/results/`, with its machine and date. Speed and memory are "
            "ratios measured side by side in one run. Runs on public data use keys derived from a seed, so that they can be "
            "repeated; their output is not private.\n"
        ),
        _section("adult", "Adult: train on synthetic rows, test on real ones", _adult),
        _section("poker", "Poker Hand", poker),
        _section("table_trials", "Trials of engines for tables", trials),
        _section("charged", "Utility reports", charged),
        _section("images", "Images", images),
        _section("unlabelled_images", "Images without labels", unlabelled),
        _section("brightness", "What images are summed about", brightness),
        _section("critic_step", "The private critic step", _critic),
        _section("conv_step", "The private step of a critic of images", _convolutions),
        _section("gpu_step", "The private step on a GPU", gpu_step),
        _section("cost", "What privacy costs a step", cost),
        _section("composition", "Ways to compose the steps of DP-SGD", composition),
        _section("quote", "Quotes", _quote),
        _section("training_time", "A training on a table", _training_time),
        _section("sampling", "Sampling", _sampling),
        _section("ingestion", "Ingestion", _ingestion),
        _section("reservations", "Reservations", reservations),
        _section("polling", "Status polling", polling),
        _section("streams", "Event streams", streams),
        _section("pages", "Pages of the dashboard", pages),
        _section("recovery", "Recovery", recovery),
    ]
    return "\n".join(part for part in parts if part)


def _section(name: str, title: str, render: Callable[[dict[str, Any]], Iterable[str]]) -> str:
    path = RESULTS / f"{name}.json"
    if not path.exists():
        return ""
    result = json.loads(path.read_text())
    return "\n".join([f"## {title}\n", *render(result), ""])


def _adult(result: dict[str, Any]) -> list[str]:
    names = ("auroc_trees", "auroc_logistic", "two_way", "one_way", "seconds")
    rows = []
    for (variant, epsilon), runs in _grouped(result["runs"].values()).items():
        rows.append(
            [_VARIANTS[variant], f"{epsilon:g}", str(len(runs)), *(_over_seeds(runs, name) for name in names)]
        )
    for name, scores in result.get("baselines", {}).items():
        rows.append([name, "", "", *(_number(scores.get(key)) for key in names)])
    return [
        (
            "`make bench-adult`: the train file in, the test file for scoring, delta 1e-6, 100,000 synthetic rows. Area under the "
            "ROC curve of boosted trees and of logistic regression; mean total variation of all two-way and one-way counts on the "
            f"public bins ({ADULT_BAR}). Over seeds: mean (lowest to highest).\n"
        ),
        *table(
            [
                "rows from",
                "epsilon",
                "seeds",
                "AUROC trees",
                "AUROC logistic",
                "two-way",
                "one-way",
                "seconds",
            ],
            rows,
        ),
        "",
        machine(result),
    ]


def poker(result: dict[str, Any]) -> list[str]:
    """Poker Hand: runs of ours, of the private networks of the comparison, and what stands beside them."""
    rows, most = [], result["baselines"]["real"]["inception_ceiling"]
    for (variant, epsilon), runs in _grouped(result["runs"].values()).items():
        scores = [
            _over_seeds(runs, f"{kind}_{model}")
            for model in ("trees", "logistic")
            for kind in ("accuracy", "balanced_accuracy")
        ]
        rows.append(
            [
                _VARIANTS.get(variant, variant),
                f"{epsilon:g}",
                str(len(runs)),
                *scores,
                _over_seeds(runs, "inception_score"),
                _number(runs[0].get("paper_accuracy")),
                _over_seeds(runs, "seconds"),
            ]
        )
    for name, scores in result.get("baselines", {}).items():
        both = [
            _number(scores.get(f"{kind}_{model}", scores.get(kind)))
            for model in ("trees", "logistic")
            for kind in ("accuracy", "balanced_accuracy")
        ]
        inception = _number(scores.get("inception_score"))
        rows.append([name, "", "", *both, inception, "0.58420" if name == "real" else "", ""])
    without = json.loads((RESULTS / "poker_without_privacy.json").read_text())
    for run in sorted(without["runs"].values(), key=lambda run: (run["steps"], run["seed"])):
        scores = [
            _number(run[f"{kind}_{model}"])
            for model in ("trees", "logistic")
            for kind in ("accuracy", "balanced_accuracy")
        ]
        rows.append(
            [
                f"critic only, without privacy, {run['steps']:,} steps",
                "",
                "1",
                *scores,
                _number(run["inception_score"]),
                "",
                "",
            ]
        )
    return [
        (
            "`make bench-poker`: the train file in, the first 100,000 test rows for scoring, delta 1e-6. The paper's figures stand at "
            "the epsilon it prints, which is not a valid guarantee ([idpgan.md](idpgan.md)). Always answering the commonest hand "
            "is the line to beat. An order that says nothing is *anchor only*. DPGAN, GANobfuscator and DPACGAN are the product's training in other "
            "configurations (`python -m benchmarks.idpgan.poker_baselines`: 2,000 noisy steps, a fixed threshold, one from rows declared public, a critic that classifies hands too); the "
            "paper prints inception scores of 2.23, 2.54 and 2.39 for them, at its epsilon 15. The inception score is by boosted trees that learnt from "
            f"every other test row; no hands with the shares of the real ones can have more than {most:.2f}, and the paper prints 4.43 for "
            "real hands. Over seeds: mean (lowest to highest). *Without privacy* (`python -m benchmarks.idpgan.poker_without_privacy`): networks, rates, batches and "
            "steps of *critic only*, trained without clipping and without noise, so the ceiling of that rule; measured "
            f"{without['machine']['date']}. It is below the line too, so what *critic only* lacks there is not taken by the noise.\n"
        ),
        *table(
            [
                "rows from",
                "epsilon",
                "seeds",
                "accuracy trees",
                "balanced trees",
                "accuracy logistic",
                "balanced logistic",
                "inception",
                "paper",
                "seconds",
            ],
            rows,
        ),
        "",
        machine(result),
    ]


def _critic(result: dict[str, Any]) -> list[str]:
    rows = [
        [f"{shape['cells']:,}", str(shape["width"]), f"{shape['batch']:,}", f"{shape['cpu_ratio']:.2f}",
         f"{shape['wall_ratio']:.2f}", f"{shape['vmap_cpu_ratio']:.0f}", f"{shape['private_milliseconds']:.1f}",
         f"{shape['ordinary_milliseconds']:.1f}", str(shape["load_average"])]
        for shape in result["shapes"]
    ]  # fmt: skip
    return [
        (
            "`make bench-critic`: the whole private step (norms, clip, sum, keyed noise, grid, Adam) over an ordinary WGAN-GP step by autograd "
            "(real and generated records in one pass, float32, fused Adam), and per-record gradients by a plain `torch.func.vmap(grad)` "
            "in float32 (clip, noise by `torch.randn`, the same Adam) over the private step. The shapes are the public rules' for a table of so "
            "many codes: one hidden layer, 64 units below 400 codes and 128 from there on, the expected batch of its declared size. Adult is 216 "
            "codes and batches of 977. Processor seconds of all threads, so the noise's thread counts, and the clock's (wall) beside them; contenders take "
            "turns, medians of the rounds' ratios. Bar: at most 1.3 for Adult, and 1.1 at width 128 and a batch of 1,024. Small tables "
            "and small batches pay for what does not shrink with them: norms in float64, noise, some dozens of calls.\n"
        ),
        *table(
            [
                "codes",
                "width",
                "batch",
                "private / ordinary",
                "wall",
                "vmap / private",
                "private ms",
                "ordinary ms",
                "load",
            ],
            rows,
        ),
        "",
        machine(result),
    ]


def _convolutions(result: dict[str, Any]) -> list[str]:
    rows = [
        ["x".join(map(str, shape["image"])), ", ".join(map(str, shape["channels"])), str(shape["batch"]),
         *(f"{shape[f'{name}_over_ordinary']:.2f}" for name in ("private", "drawn")),
         f"{shape['private_over_ordinary_best']:.2f}", f"{shape['private_over_ordinary_wall']:.2f}",
         f"{shape['private_milliseconds']:.1f}",
         f"{min(shape['ordinary_milliseconds'], shape['ordinary_channels_last_milliseconds']):.1f}",
         str(shape["load_average"])]
        for shape in result["shapes"]
    ]  # fmt: skip
    return [
        (
            "`make bench-conv`: the whole private step over the ordinary autograd WGAN-GP step of the same network made of torch's "
            "layers, in the faster of two layouts of memory; convolutions of 4x4 at every second pixel, a last row per class. "
            "Processor seconds (all threads) of alternating steps, medians; best and wall-clock ratios beside them. *Drawn*: the "
            "private step on batches of the sizes that Poisson sampling gives, whose last chunk is not full. Bar: at most 1.6.\n"
        ),
        *table(
            [
                "image",
                "channels",
                "batch",
                "private / ordinary",
                "drawn",
                "best",
                "wall",
                "private ms",
                "ordinary ms",
                "load",
            ],
            rows,
        ),
        "",
        machine(result),
    ]


def _quote(result: dict[str, Any]) -> list[str]:
    rows = [
        [name, f"{times['p50_seconds']:.3f}", f"{times['slowest_seconds']:.3f}"]
        for name, times in result["warm"].items()
    ]
    return [
        (
            f"`make bench-quote`: {result['quotes']} quotes of each kind in a warm process, each for another epsilon; the first one "
            f"of a fresh process took {result['cold_seconds']} s after the imports. Bar: under 2 s, warm p50 under 0.3 s.\n"
        ),
        *table(["options", "p50 seconds", "slowest seconds"], rows),
        "",
        machine(result),
    ]


def _training_time(result: dict[str, Any]) -> list[str]:
    cases = sorted(result["cases"].items(), key=lambda case: case[1]["rows"])
    rows = [
        [name, f"{case['rows']:,}", f"{case['median_seconds']:.1f}", f"{case['slowest_seconds']:.1f}",
         str(case["load_average"])]
        for name, case in cases
    ]  # fmt: skip
    return [
        (
            "`make bench-training`: the default order on Adult's training rows at epsilon 1, from the sealed rows to the packed bundle, in a process of "
            f"its own on one thread. Start and imports count. Processor seconds of {cases[0][1]['rounds']} runs. Bars: at most 30 with all rows (hoped for 15), and 5 for what does not "
            "grow with them.\n"
        ),
        *table(["", "rows", "median", "slowest", "load"], rows),
        "",
        machine(result),
    ]


def _sampling(result: dict[str, Any]) -> list[str]:
    rows = [
        [case["generator"], f"{case['rows']:,}", "yes" if case["balanced"] else "no", case["format"],
         f"{case['rows_per_processor_second']:,}", f"{case['rows_per_second']:,}", str(case["bytes_per_row"])]
        for case in result["cases"]
    ]  # fmt: skip
    return [
        (
            f"`make bench-sampling`: samples of the Adult domain ({result['cells']} codes) into files on {result['threads']} "
            "threads; small samples are balanced. Rows per processor second of all threads, drawing and writing, and per second."
            " The mixture is what an order without a critic gets; it is sampled from its tables, and beside that through its "
            "network, as any runtime would. Bars of its large samples: 300,000 into Parquet, 150,000 into JSON lines a processor second, that is "
            "600,000 and 300,000 a second on two cores; hoped for 500,000 into Parquet.\n"
        ),
        *table(
            [
                "generator",
                "rows of a sample",
                "balanced",
                "format",
                "rows/processor s",
                "rows/s",
                "bytes a row",
            ],
            rows,
        ),
        "",
        machine(result),
    ]


def _ingestion(result: dict[str, Any]) -> list[str]:
    rows = [
        [f"{size['megabytes']:.0f}", f"{size['rows']:,}", f"{size['understudy']['rows_per_second']:,}",
         f"{size['duckdb']['rows_per_second']:,}", f"{size['understudy_over_duckdb']:.2f}",
         f"{size['understudy']['peak_megabytes']:.0f}", f"{size['duckdb']['peak_megabytes']:.0f}"]
        for size in result["sizes"]
    ]  # fmt: skip
    return [
        (
            "`make bench-ingestion`: checking, cleaning, sealing and storing a CSV beside a bare duckdb CSV-to-Parquet copy of it, "
            "each in a fresh process; bar: at least half of duckdb's speed, under 400 MB.\n"
        ),
        *table(["MB", "rows", "rows/s", "duckdb rows/s", "ratio", "peak MB", "duckdb peak MB"], rows),
        "",
        machine(result),
    ]


def _grouped(runs: Iterable[Mapping[str, Any]]) -> dict[tuple[str, float], list[Mapping[str, Any]]]:
    """By variant and epsilon: ours in their order, then baselines by name."""
    groups: dict[tuple[str, float], list[Mapping[str, Any]]] = {}
    ours = list(_VARIANTS)

    def place(run: Mapping[str, Any]) -> tuple[int, str, float, int]:
        variant = run["variant"]
        first = ours.index(variant) if variant in ours else len(ours)
        return first, variant, run["epsilon"], run["seed"]

    for run in sorted(runs, key=place):
        groups.setdefault((run["variant"], run["epsilon"]), []).append(run)
    return groups


def _over_seeds(runs: Sequence[Mapping[str, Any]], name: str) -> str:
    values = [float(run[name]) for run in runs if name in run]
    if not values:
        return ""
    if name == "seconds":
        return f"{statistics.mean(values):.0f}"
    mean = f"{statistics.mean(values):.4f}"
    return mean if len(values) == 1 else f"{mean} ({min(values):.4f} to {max(values):.4f})"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
