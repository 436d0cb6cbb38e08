"""The tables of images of docs/benchmarks.md, written from benchmarks/results/images.json and published figures."""

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.baselines.matching import MatchingOptions
from benchmarks.images.idpgan import SHORT
from benchmarks.images.intervals import interval
from benchmarks.images.plots import SETS, plots
from benchmarks.images.published import ACCURACY, PAPER_FACES, PAPER_ROWS, Bars
from benchmarks.images.wasserstein_gan import Settings
from benchmarks.results_file import RESULTS
from core.plan.images.defaults import LABEL_STEPS
from docs.tables import machine, table

TITLES = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST", "faces": "Faces, 32x32, gender as the class"}
_FIRST = (
    "real images",
    "anchor only",
    "critic only",
    "critic only, standard",
    "critic only, long",
    "anchor and critic",
)
_CRITICS_ALONE = ("critic only", "critic only, without privacy")
_INTRODUCTION = """\
`make bench-images`. Classifiers are trained on synthetic images with one public recipe and tested on the whole test file: the paper's
LeNet-type network, a perceptron, logistic regression. Inception score and the distance of features come from a classifier that
was trained on every other test image; features (Frechet) and pixels (sliced Wasserstein-1) are compared with the other half of the
test, up to 5,000 images a side, so "real images" shows the floor of both. "JS" is the paper's score, half of a symmetrised
divergence that has no bound; beside it a lower bound on the true Jensen-Shannon divergence (at most 0.693). "Discriminator" is the share of unseen
real and made images that the LeNet-type network separates after it learnt from up to 10,000 of each: 50 % is chance. Over
seeds: mean ± half of Student's 95 % interval; a figure without ± is one seed, an empty cell was not measured (some seeds have the CNN and the distances alone, so other cells of their row are of fewer seeds); "made" is how many images were scored, and it, seconds and load are told from the least to the most. Choices were made on a held-out part of the training
images ([the public rules](rules-study.md)). "DP-SGD on real images" publishes no images: it is one small convolutional network
trained privately on the real ones, what the same budget gives to somebody who wants a classifier only. Keys derive from seeds, so
nothing here is private. Seconds are of the training, with other work on the machine where the load says so.
"""
_CURVES = """\
### After so many seconds of training

`make bench-curves`: scores along the training on three sets at epsilon 4, delta 1e-5, in development: trained without the training
images that are held out and scored on these, never on the test. Every point is of up to 5,000 made images; the paper's LeNet-type network is trained on them for three
epochs, so its accuracies are below those of the tables, which have 60,000 images and six epochs. Seconds are those of the processor, all
threads together, because other work ran on the machine; the scoring is not counted. The anchor alone is ready when it has measured
and has one point. The mean embedding cannot be looked at on its way: each of its points is a training of its own to that
length. WGAN-GP has no privacy; as many real images, scored alike, are the dotted line. One seed. *Critic only* is the short one of the tables; its standard and long
efforts have no curve. On none of the three sets does a critic beside the anchor end nearer in pixels or teach a classifier more than the anchor alone,
which is ready in a second; on MNIST the mean embedding is nearer in pixels than the anchor and teaches a classifier less.
"""
_BRIGHTNESS = """\
`make bench-brightness`. The anchor sums images less a value that is the same for all pixels, clipped. At first it was black, and images that are bright in
most places came back darker. Then it was the middle of the range, about which no image exceeds the clipping norm, which was larger by a ninth. Now the brightness of all images is
measured first, for 0.5 % of the anchor's budget: sets darker than 1/3 are summed from black, others about their brightness, with the first clipping norm.
The anchor alone, planned for 12,000 images, as many drawn; the held-out part of the training images scores. Error of brightness: the mean distance of a pixel's
mean in a label from the real one, over the range. Accuracy: logistic regression that learnt from made images. A negative has black and
white exchanged. A part of the error that remains is that a pixel with a normal distribution, clamped at black and white, has another mean.
Black and grey were measured a day earlier, on another processor and with 0.25 % less noise.
"""
_WAYS = "black / grey / brightness"
_UNLABELLED = """\
`python -m benchmarks.images.unlabelled`: faces whose owner declares no labels, delta 1e-5, 20,000 made images, one seed. Measured moments alone are the default;
beside them a critic of real and made images may be ordered (`"critic": true`), which then has a tenth of the budget. No classifier can be taught, so there are distances to one half of the test, as above, and the
discriminator. "Real images" is the training part. With the critic both distances are lower, in the one seed at one epsilon that was run, so that the default without it rests on no measurement. `tinted-faces` of that
program, 48x48 in colour, was not run.
"""
_STEPS = {
    "anchor only": 0,
    "anchor and critic": LABEL_STEPS,
    "critic only": SHORT["steps"],
    "mean embedding": MatchingOptions().steps,
    "WGAN-GP without privacy": Settings().generator_steps,
}
"""Of a whole training of each method with a curve, as in the tables."""
_NOT_RUN, _NOT_KNOWN = "not run", "-"
_BASELINES = ("DP-SGD on real images", "mean embedding", "DPGAN", "GANobfuscator", "DPACGAN")  # fmt: skip
"""Whose absence at an epsilon with a bar is said; a title may say more after a comma."""
_SCORES = (
    ("accuracy_cnn", "CNN", 2, True),
    ("accuracy_mlp", "MLP", 2, True),
    ("accuracy_logistic", "logistic", 2, True),
    ("inception_score", "inception", 2, False),
    ("frechet", "Frechet", 2, False),
    ("sliced_wasserstein", "sliced W1", 4, False),
    ("symmetrised_kl", "JS (paper's)", 2, False),
    ("jensen_shannon_bound", "JS bound", 3, False),
    ("told_apart", "discriminator", 2, True),
)
_FACTS = (("made", "made", 0), ("seconds", "seconds", 0), ("load", "load", 1))
FILE = "images"
Run = Mapping[str, Any]


def images(result: Mapping[str, Any]) -> list[str]:
    """Every set of images with its measured rows, the bars and the paper's rows."""
    lines = [_INTRODUCTION]
    for name, title in TITLES.items():
        runs = [run for run in result.get("runs", {}).values() if run["dataset"] == name]
        if runs:
            lines += [
                f"### {title}\n",
                *_measured(runs),
                "",
                *_older(runs),
                *_cut(runs),
                *_elsewhere(runs),
                *_bars(name, runs),
                *_papers(name),
            ]
            if any(run["epsilon"] is not None for run in runs):
                lines.append(f"![Accuracy against epsilon](benchmarks/{name}.svg)\n")
    if result.get("curves"):
        lines += [
            _CURVES,
            _lengths(result["curves"]),
            "![Scores against seconds of training](benchmarks/curves.svg)\n",
            *_ends(result["curves"]),
        ]
    return [*lines, machine(result)]


def unlabelled(result: Mapping[str, Any]) -> list[str]:
    """Images without labels, with and without a critic."""
    names = ("frechet", "sliced_wasserstein", "inception_score")
    runs = sorted(result["runs"].values(), key=lambda run: (run["dataset"], run["epsilon"], run["method"]))
    found = [*((run, run["method"], f"{run['epsilon']:g}", f"{run['steps']:,}") for run in runs)]
    found += [({"dataset": name, **real}, "real images", "", "") for name, real in result.get("real", {}).items()]  # fmt: skip
    rows = [
        [
            run["dataset"], title, epsilon, steps, *(f"{run[name]:.4g}" for name in names), f"{100 * run['separated']:.2f} %",
            f"{run['processor_seconds']:.0f}" if "processor_seconds" in run else "",
        ]
        for run, title, epsilon, steps in found
    ]  # fmt: skip
    header = ["images", "from", "epsilon", "noisy steps", "Frechet", "sliced W1", "inception", "discriminator", "processor seconds"]  # fmt: skip
    return [_UNLABELLED, *table(header, rows), "", machine(result)]


def brightness(result: Mapping[str, Any]) -> list[str]:
    """Sums from black, about grey and about brightness, on sets and on their negatives; means of the seeds."""
    groups: dict[tuple[str, float], dict[str, list[Run]]] = {}
    for run in result["runs"].values():
        groups.setdefault((run["images"], run["epsilon"]), {}).setdefault(run["from"], []).append(run)
    rows = []
    for (images, epsilon), ways in groups.items():
        errors, accuracies = (
            [statistics.fmean(run[score] for run in ways[way]) for way in ("black", "grey", "brightness")]
            for score in ("error", "accuracy")
        )
        rows.append(
            [
                *(images, f"{epsilon:g}", str(len(ways["brightness"]))),
                " / ".join(f"{100 * value:.1f} %" for value in errors),
                " / ".join(f"{100 * value:.1f} %" for value in accuracies),
            ]
        )
    titles = [
        "images",
        "epsilon",
        "seeds",
        *(f"{score}, {_WAYS}" for score in ("error of brightness", "accuracy")),
    ]
    return [_BRIGHTNESS, *table(titles, rows), "", machine(result)]


def _lengths(curves: Mapping[str, Any]) -> str:
    """Which trainings are as long as those of the tables, and which were cut to how many steps."""
    cut, missing, whole = [], [], 0
    for name, title in SETS.items():
        for method, steps in _STEPS.items():
            begun = [entry for key, entry in curves.items() if key.startswith(f"{name} {method} ")]
            if not begun:
                missing.append(f"{title}, {method}")
            for entry in begun:
                last = entry["points"][-1]["step"]
                if last < steps:
                    cut.append(f"{title}, {method}: {last:,} of {steps:,}")
                whole += last >= steps
    said = [f"{whole} trainings have all steps that the tables give them."]
    if cut:
        said.append(
            f"Cut to the minutes at hand, steps at the last point of the tables' number: {'; '.join(cut)}."
        )
    if missing:
        said.append(f"Not run: {'; '.join(missing)}.")
    return " ".join(said) + "\n"


def _ends(curves: Mapping[str, Any]) -> list[str]:
    """The first and the last point of every curve, and the machine's load when it began."""
    rows = [
        [name, str(len(entry["points"])), *(_point(entry["points"][place]) for place in (0, -1)), str(entry["load"])]
        for name, entry in sorted(curves.items())
    ]  # fmt: skip
    return [*table(["training", "points", "first", "last", "load"], rows), ""]


def _point(point: Mapping[str, Any]) -> str:
    return f"{100 * point['accuracy_cnn']:.1f} % and {point['sliced_wasserstein']:.4f} after {point['processor_seconds']:.0f} s ({point['seconds']:.0f} s on the clock)"


def image_plots() -> dict[str, str]:
    """The plots that stand beside the page, by file name."""
    path = RESULTS / f"{FILE}.json"
    return plots(json.loads(path.read_text())) if path.exists() else {}


def _measured(runs: Sequence[Run]) -> list[str]:
    rows = []
    for (method, epsilon), group in grouped(runs).items():
        spent = "" if epsilon is None else f"{epsilon:g}"
        cells = [_over_seeds(group, key, digits, percent=percent) for key, _, digits, percent in _SCORES]
        facts = [_reach(group, key, digits) for key, _, digits in _FACTS]
        rows.append([method, spent, str(len(group)), *cells, *facts])
    titles = [*(title for _, title, _, _ in _SCORES), *(title for _, title, _ in _FACTS)]
    return table(["images from", "epsilon", "seeds", *titles], rows)


def _older(runs: Sequence[Run]) -> list[str]:
    """Which rows with an anchor were scored before its pictures kept their brightness."""
    older = sorted(
        {
            (run["method"], run["epsilon"])
            for run in runs
            if run["method"] in {"anchor only", "anchor and critic"} and run.get("brightness") != "kept"
        }
    )
    if not older:
        return []
    which = ", ".join(f"{method} at {epsilon:g}" for method, epsilon in older)
    return [
        f"Scored before pictures [kept their brightness](#what-images-are-summed-about), and not since: {which}.\n"
    ]


def _cut(runs: Sequence[Run]) -> list[str]:
    """At what budget a critic alone ran where the order named another than the rule's."""
    places: dict[tuple[str, str], list[str]] = {}
    for run in sorted(runs, key=lambda run: (run["epsilon"] or 0.0, run["seed"])):
        ordered = ", ".join(
            f"{name} {value}" for name, value in run.get("options", {}).items() if name != "anchor"
        )
        if run["method"] in _CRITICS_ALONE and ordered:
            epsilon = "" if run["epsilon"] is None else f"epsilon {run['epsilon']:g} "
            places.setdefault((run["method"], ordered), []).append(f"{epsilon}seed {run['seed']}")
    return [
        f'"{method.capitalize()}" at {", ".join(found)} is not the rule\'s but ordered with {ordered}.\n'
        for (method, ordered), found in places.items()
    ]


def _elsewhere(runs: Sequence[Run]) -> list[str]:
    """Which runs were trained on a GPU, several at a time."""
    devices: dict[str, dict[tuple[str, float], list[str]]] = {}
    for run in sorted(runs, key=lambda run: (run["method"], run["epsilon"] or 0.0, run["seed"])):
        if "device" in run:
            gpu = run["device"].partition(",")[0]
            rows = devices.setdefault(gpu, {})
            rows.setdefault((run["method"], run["epsilon"]), []).append(str(run["seed"]))
    return [
        f"Trained on one {gpu}, ten to fifteen at a time: "
        + "; ".join(
            f"{method}, epsilon {epsilon:g}, seeds {', '.join(seeds)}"
            for (method, epsilon), seeds in rows.items()
        )
        + ".\n"
        for gpu, rows in devices.items()
    ]


def _bars(name: str, runs: Sequence[Run]) -> list[str]:
    """Accuracy of the CNN beside the bars of its epsilon, with what is missing; of made images only."""
    made = grouped(run for run in runs if "inception_score" in run)
    rows = []
    for (dataset, epsilon), bars in ACCURACY.items():
        if dataset != name or bars.bar is None:
            continue
        here = [(method, group) for (method, spent), group in made.items() if spent == epsilon]
        absent = [method for method in _FIRST[1:] if method not in dict(here)]
        rows += [[method, f"{epsilon:g}", "0", _NOT_RUN, *_percents(bars), ""] for method in absent]
        for method, group in here:
            accuracy = interval([run["accuracy_cnn"] for run in group])
            over = f"{100 * (accuracy.mean - bars.bar):+.2f}"
            rows.append([method, f"{epsilon:g}", str(len(group)), accuracy.text(2, percent=True), *_percents(bars), over])  # fmt: skip
    rows.sort(key=lambda row: (float(row[1]), _FIRST.index(row[0]) if row[0] in _FIRST else len(_FIRST), row[0]))  # fmt: skip
    header = ["images from", "epsilon", "seeds", "CNN", "bar", "hoped for", "the paper's claim", "best private GAN", "best of all", "over the bar, points"]  # fmt: skip
    text = f'Beside the bars and the published figures; "{_NOT_RUN}" is ours to run and was not, "{_NOT_KNOWN}" is a figure of which none is known here, or none was asked for:\n'
    return [text, *table(header, rows), "", *_missing(name, runs)] if rows else []


def _missing(name: str, runs: Sequence[Run]) -> list[str]:
    """Which baselines have no run at an epsilon that has a bar."""
    lines = []
    for (dataset, epsilon), bars in ACCURACY.items():
        if dataset == name and bars.bar is not None:
            there = {run["method"].partition(",")[0] for run in runs if run["epsilon"] == epsilon}
            absent = [method for method in _BASELINES if method not in there]
            if absent:
                lines.append(f"Baselines not run at epsilon {epsilon:g}: {', '.join(absent)}.\n")
    return lines


def _percents(bars: Bars) -> list[str]:
    return [
        _NOT_KNOWN if share is None else f"{100 * share:.1f} %"
        for share in (bars.bar, bars.hoped, bars.paper, bars.gan, bars.best)
    ]


def _papers(name: str) -> list[str]:
    if name in PAPER_ROWS:
        header = ["the paper's rows", "its epsilon", "CNN", "inception"]
        return ["What the paper prints (its epsilon is not a guarantee, [idpgan.md](idpgan.md)):\n", *table(header, PAPER_ROWS[name]), ""]  # fmt: skip
    if name == "faces":
        header = ["the paper's rows", "its epsilon", "JS (paper's)"]
        return ["What the paper prints for CelebA at 48x48, other faces than ours:\n", *table(header, PAPER_FACES), ""]  # fmt: skip
    return []


def grouped(runs: Iterable[Run]) -> dict[tuple[str, float | None], list[Run]]:
    """Runs by method and epsilon: the real images, ours, then baselines by name; epsilon rising."""
    groups: dict[tuple[str, float | None], list[Run]] = {}

    def place(run: Run) -> tuple[int, str, float, int]:
        first = _FIRST.index(run["method"]) if run["method"] in _FIRST else len(_FIRST)
        return first, run["method"], run["epsilon"] or 0.0, run["seed"]

    for run in sorted(runs, key=place):
        groups.setdefault((run["method"], run["epsilon"]), []).append(run)
    return groups


def _over_seeds(runs: Sequence[Run], key: str, digits: int, *, percent: bool) -> str:
    values = [float(run[key]) for run in runs if run.get(key) is not None]
    return interval(values).text(digits, percent=percent) if values else ""


def _reach(runs: Sequence[Run], key: str, digits: int) -> str:
    """From the least to the most of the seeds, for what is no score."""
    values = [f"{value:.{digits}f}" for value in sorted(run[key] for run in runs if run.get(key) is not None)]
    return " to ".join(dict.fromkeys((values[0], values[-1]))) if values else ""
