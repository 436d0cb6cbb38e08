"""The page on private models: what they release, and what they reach, from the results file."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.results_file import RESULTS
from docs.published_sgd_figures import published_sgd
from docs.tables import table

_TEXT = """\
# Private models

Where a model is wanted and no rows, train the model itself: a classifier of a table's target or of the labels of images, by DP-SGD
(Abadi and others 2016, arXiv 1607.00133). It answers one question and no other: on images better than a model trained on synthetic ones of the same epsilon, on a table of
[few rows](#a-table-of-few-rows) worse. An order is planned, quoted, reserved, spent and certified as one of a generator is; nothing synthetic comes out.

```sh
understudy publish digits.npz --domain digits.json --epsilon 3 --delta 1e-5 --out folder --model --set accuracy_share=0.02
```

```python
import understudy
from understudy.local import fit_classifier, set_cap

set_cap("admissions", epsilon=4.0, delta=1e-5)
fitted = fit_classifier(frame, domain, (1.0, 1e-6), dataset="admissions", declared_size=50_000)
fitted.predict(frame)  # of these rows, or of any others; fitted.predict_proba(frame) for probabilities
print(fitted)  # guarantee, network, accuracy if it was measured, and a warning where it answers one class
fitted.save("bundle.zip")
understudy.classifier("bundle.zip").predict(frame)  # later, or elsewhere; also the bundle of a service
```

`predict.py` of the bundle and `fitted.predict` read rows alike, as the domain declares files: delimiter, decimal mark, formats of numbers and dates, words for missing values. The target's column may
be absent. Of a target of numbers or times the answer is a bin, such as `11.6 to 16.69`: it is a classifier, and no regression. A target of dates or times must be declared without patterns, because its own weekday would be a feature. A value that the domain refuses counts as missing. Where the domain declares that a column is never missing, the model has no code for that, and the row has no prediction: an empty one in the
file, None (of `predict_proba` NaN) in Python. Both say how many, by column and reason, never a value: the script on standard error with the lines of the file, Python as the warning `FeaturesRefused`.
The script ends with status 0, with 3 where rows have no prediction, and with 2 and one line where it wrote nothing (`tests/understudy/local/test_predicting_files.py`).

By the API: `{"dataset_id": "…", "epsilon": 1.0, "model": {"network": "linear"}}` for `POST /v1/quotes` and `POST /v1/jobs`.
`understudy quote "$DATASET" --epsilon 1 --model --set network=mlp` shows the price; `understudy publish` prints the accuracy if the order measures it. On the dashboard: *Private model* in the form of an order.

## What is trained

| option | values | by rule |
|---|---|---|
| `network` | `linear`; `mlp` with one hidden layer; `cnn` for images; `module`, one that the worker's operator registered | `linear` |
| `features` | `plain`: pixels in [0, 1], columns one-hot; `scattering` for images; `pca` | `scattering` for a linear layer on images, `pca` for an mlp on images, else `plain` |
| `components`, `pca_share` | principal components, and their share of the budget in squared mu | 60 and .1 with `pca` |
| `hidden` | units of an mlp | 1000 with `pca`, else 64 |
| `engine` | `closed_form`, or `opacus`: `GradSampleModule` | `opacus` for a registered module alone |
| `steps`, `expected_batch_size` | noisy updates, and units of each | 100 to 800 by epsilon; a tenth of the units, at most 6,000. A linear layer on a table of [little signal](#a-table-of-few-rows): fewer steps, and at least 2,000 units, or all |
| `clipping_norm`, `optimizer`, `learning_rate`, `final_share`, `averaged_steps` | of the steps | .1; momentum at 200 for a linear layer, else Adam at .01; the last tenth is averaged. A linear layer on a table of little signal: 1, and momentum at 3 or less |
| `accuracy_share` | share of the budget for the accuracy on held-out units | 0: not measured |
| `averaging_rounds` | of [several owners](federated.md#averaged-weights): how often their copies of the weights are averaged; divides `steps` | gradients of all owners are summed in every step |

The **scattering transform** (Bruna and Mallat 2013) is fixed: two scales and eight angles of Morlet wavelets, 81 planes a channel,
normalised in groups within each image. It learns nothing and costs nothing. A linear layer on it learns faster under noise than a network that must learn its
filters (Tramer and Boneh 2021, arXiv 2011.11660).

A **registered module** is code, so it comes with the worker and never with an order: a package with the entry point group
`understudy.classifiers` names a function of (inputs, classes) that returns a torch module. A module that mixes the records of a batch, as any batch
normalisation does, or that changes a buffer, is refused before the first step, and the job ends with `module-refused`: what it makes of a public record is compared alone and among others. So is one that is not
trained record by record: with a parameter that is frozen, unused or used beside its own layer, or with dropout. opacus itself
refuses such layers only where they have weights. A trial on public records finds no module that mixes only some records: who registers a module vouches for it. The module's
weights are drawn again from the job's key.

## A constant model

Where noise outweighs what the units show, a model answers one class to every record. The quote of a table's model warns before anything is spent (`cautions`; `fit_classifier` warns as `DoubtfulOptions` before the charge): `few-units`, where
an order replaces the rule for [few units](#a-table-of-few-rows) by options of its own such as `network=mlp`, and `few-components`, where principal components of a table are fewer than its one-hot cells. And every new model answers inputs drawn from the declared domain alone, which costs nothing: 4,096 rows of evenly drawn codes, or 256 to 4,096 drawn scenes (discs, strokes, waves, noise) in the declared size of images. Where the share of its commonest
answer is 0.998 or more (1 for images), the job and the release carry the warning `constant-model`, the README says so, `understudy publish` ends with status 3, `fit_classifier` warns (`ConstantModel`), and the certificate has the
figures (`model_check`). Of a rare class that may be the right answer; its probabilities may still distinguish records.
The check of images is coarse: it finds models whose answer does not depend on the image at all. A model that answers one class to real images alone can pass it, and only a measured accuracy (`accuracy_share`) shows that;
a useful model of shapes that no scene resembles could fail it, so every answer must be the same.

## What it releases

| release | sensitivity | mechanism |
|---|---|---|
| upper triangle of the sum of x xᵀ, records shortened to length one | 1, because the sum over i ≤ j of (xᵢxⱼ)² is at most ‖x‖⁴ | one Gaussian |
| sum of the gradients of a Poisson sample, each clipped to C | C | Gaussian on a Poisson sample, `steps` times |
| number of wrong answers on held-out units | 1 | one Gaussian |

A unit takes part in a step by its own coin, with one of its records at random; elsewhere it counts with its first record. One in ten units is held out, by the keyed stream,
if the accuracy is measured. The divisor of the steps is the public expected batch. All are composed beforehand, the accuracy as if its units had been trained on: epsilon is a bound for every unit. Replay on neighbours is tested in
`tests/models/classifier/test_private_training.py`, clipped sums against automatic differentiation and both engines against each other (to 1e-5) in
`tests/models/classifier/test_forms.py`.

The bundle holds `model.onnx` (features included), `weights.safetensors`, `predict.py` for numpy and onnxruntime alone, and the certificate
`understudy.model-certificate/1`. `understudy verify` recomputes epsilon from the plan by the numerical composition of privacy losses of Gopi, Lee and Wutschitz (2021), an accountant that shares no code with the
service's two.

\
## What it reaches

By the public rules, delta 1e-5, one seed, scored on the published test records of which no rule saw any. The rules' constants were chosen on the last
10,000 training images of MNIST and looked at on those of Fashion-MNIST; those of tables of little signal on parts of [twelve public tables](rules-study.md#private-models-of-tables). At these epsilons Adult has the constants of images.

"""
_COLUMNS = "| data | network on features | epsilon | steps | batch | noise multiplier | accuracy | AUROC | seconds on one core |\n|---|---|---|---|---|---|---|---|---|\n"


_HOPED = {
    ("mnist", 1.0): 98.0,
    ("mnist", 3.0): 98.7,
    ("mnist", 10.0): 99.0,
    ("fashion_mnist", 1.0): 86.0,
    ("fashion_mnist", 10.0): 89.0,
}
"""Accuracies that a linear layer on scattering features was hoped to reach, in percent."""
_CLINICAL = ("diabetes", "synthea")
_WAYS = {
    "model": "private model",
    "rows": "logistic regression on drawn rows",
    "counts": "predictor of the counts",
    "real": "private rows",
}


def private_models_page() -> str:
    """Return the page."""
    runs = json.loads((RESULTS / "private_models.json").read_text())["runs"].values()
    ordered = sorted(
        (run for run in runs if run["dataset"] not in _CLINICAL),
        key=lambda run: (run["dataset"], run["epsilon"], run["seed"]),
    )
    clinical = sorted(
        (run for run in runs if run["dataset"] in _CLINICAL),
        key=lambda run: (run["dataset"], run["epsilon"], run["seed"]),
    )
    return (
        _TEXT
        + _COLUMNS
        + "".join(map(_row, ordered))
        + "\nSeconds are of a machine that other programs shared (`load` in the results file says how many), without those of the features.\n\n"
        + _hopes({(run["dataset"], run["epsilon"]): 100 * run["accuracy"] for run in ordered})
        + _clinical(clinical, json.loads((RESULTS / "tables.json").read_text())["cells"])
        + _few_rows(json.loads((RESULTS / "small_tables.json").read_text())["cells"].values())
        + _parity(json.loads((RESULTS / "parity.json").read_text())["runs"])
        + published_sgd(json.loads((RESULTS / "published_sgd.json").read_text()))
    )


def _hopes(reached: Mapping[tuple[str, float], float]) -> str:
    """Which accuracies that were hoped for are missed."""
    titles = {"mnist": "MNIST", "fashion_mnist": "Fashion-MNIST"}
    missed = [
        f"{titles[name]} at {epsilon:g} by {hoped - reached[name, epsilon]:.1f} points of {hoped:.1f} %"
        for (name, epsilon), hoped in _HOPED.items()
        if reached[name, epsilon] < hoped
    ]
    return (
        "With scattering features 98.0, 98.7 and 99.0 % were hoped for on MNIST at epsilon 1, 3 and 10, and 86 and 89 % on Fashion-MNIST at 1 and 10. "
        f"Missed: {', '.join(missed) or 'none'}.\n\n"
    )


def _clinical(runs: Iterable[Mapping[str, Any]], cells: Mapping[str, Any]) -> str:
    """How private models of clinical tables compare with trees on drawn rows and on private ones."""
    rows = []
    for run in runs:
        drawn, real = (
            next((cells[name] for name in names if name in cells), None)
            for names in (
                [f"{run['dataset']}, full, epsilon {run['epsilon']:g}, understudy, seed 0"],
                [f"{run['dataset']}, full, epsilon {epsilon}, real, seed 0" for epsilon in (1, 10)],
            )
        )
        rows.append(
            [
                run["dataset"], f"{run['epsilon']:g}", str(run["steps"]), str(run["expected_batch"]),
                f"{run['auroc']:.3f}", f"{run['accuracy']:.1%}", f"{run['commonest']:.1%}",
                *("" if cell is None else f"{max(cell['auroc_trees'], cell['auroc_logistic']):.3f}" for cell in (drawn, real)),
            ]
        )  # fmt: skip
    return "\n".join(
        [
            "## Clinical tables",
            "",
            "The first encounters of 57,215 patients (Diabetes 130, 48 columns, readmission in three classes) and 6,068 simulated encounters (Synthea, 7 columns, the kind of encounter in ten), by the rules,",
            "delta 1e-5, one seed, scored on the other fifth of the rows (`python -m benchmarks.private_models diabetes --epsilon 1 4 10`). AUROC is the mean of each class against the others. *Drawn rows* and *private rows*",
            "are the better of trees and logistic regression on rows of a generator of the same epsilon (delta 1e-6) and on the private rows, as in [tables beside peers](tables-beside-peers.md).",
            "Training rows of tables of that comparison took part in the choice of the rules.",
            "",
            *table(
                ["data", "epsilon", "steps", "batch", "AUROC", "accuracy", "commonest class", "AUROC, drawn rows", "AUROC, private rows"],
                rows,
            ),
            "",
            "",
        ]
    )  # fmt: skip


def _few_rows(cells: Iterable[Mapping[str, Any]]) -> str:
    """How a private model of a table of few rows compares with what a generator gives at the same epsilon."""
    listed = list(cells)
    rows = [
        [
            f"{epsilon:g}",
            *(_span(cell[way] for cell in listed if cell["epsilon"] == epsilon) for way in _WAYS),
        ]
        for epsilon in sorted({cell["epsilon"] for cell in listed})
    ]
    return "\n".join(
        [
            "## A table of few rows",
            "",
            "scikit-learn's breast cancer: 398 rows train, 171 test, by three splits, with the drafted domain and delta 1e-6 (`python -m benchmarks.tables.small_tables`). AUROC on the test rows. A",
            "private model's steps take all of so few rows, and stop before noise outweighs what they learn: the product of steps and learning rate grows with declared size times epsilon",
            "([the rule](rules-study.md#private-models-of-tables)). An order that names a step, a batch, a norm, an optimizer or a rate has the other defaults. Rows that a generator",
            "draws still teach more here, and so does the [predictor of its counts](asking.md#predicting-the-target). This table took part in the choice of the rule. *Private rows* is a logistic regression without privacy.",
            "",
            *table(["epsilon", *_WAYS.values()], rows),
            "",
            "",
        ]
    )


def _span(figures: Iterable[float]) -> str:
    found = sorted(figures)
    return f"{found[0]:.3f} to {found[-1]:.3f}"


def _parity(runs: Mapping[str, Any]) -> str:
    """What becomes of a target that is the parity of five columns."""
    rows = [
        [name, f"{run['steps']:,}" if run["steps"] else "", f"{run['score']:.1%}", f"{run['processor_seconds']:.0f}"]
        for name, run in runs.items()
    ]  # fmt: skip
    return "\n".join(
        [
            "## A target that no few columns show",
            "",
            "50,000 made rows of five fair bits and their parity, epsilon 10, one seed (`python -m benchmarks.idpgan.parity`): the share of fresh rows that a private model answers",
            "rightly, and of synthetic rows whose last column is the parity of the others. Chance is 50 %. No count of fewer than six columns shows a parity. The anchor",
            "keeps it because so small a table is [counted whole](decisions/all-combinations.md); of seven columns or more it could not. A critic is not bound to counts, but by",
            "the rule it does not learn a parity: its network does not, and [a mixture against it](rules-study.md#a-mixture-against-a-critic) does, at ten times the critic's rate and a third of the batch.",
            "Who knows the question orders a private model.",
            "",
            *table(["order", "noisy steps", "right", "processor seconds"], rows),
            "",
            "",
        ]
    )


def _row(run: Mapping[str, Any]) -> str:
    return "| " + " | ".join(_cells(run)) + " |\n"


def _cells(run: Mapping[str, Any]) -> Iterator[str]:
    yield str(run["dataset"]).replace("_", "-")
    yield f"{run['network']} on {run['features']}"
    yield f"{run['epsilon']:g}"
    yield str(run["steps"])
    yield str(run["expected_batch"])
    yield f"{run['noise_multiplier']:.3g}"
    yield f"{run['accuracy']:.1%}"
    yield f"{run['auroc']:.3f}" if "auroc" in run else ""
    yield f"{run['seconds']:.0f}"
