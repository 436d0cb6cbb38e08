"""The script inside the bundle of every model, `predict.py`: answers records of a file with numpy and onnxruntime alone.

How the domain reads values and what codes mean is computed here and embedded in the script as data. The script of a table contains
`core.artifacts.private_models.rows` and, of `core.plan.domain.columns`, `differences` and `prefixes`, and where times have patterns the module for these; tests compare
its codes with those of `core.plan.domain`.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from core.artifacts.asking.codes import labels_of_values, values_of
from core.artifacts.private_models import rows as model_rows
from core.artifacts.script_sources import literal, source_of
from core.plan.domain.columns import differences, patterns, prefixes
from core.plan.domain.columns.calendar import python_format
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.schema import is_plain_boolean
from core.plan.domain.table import TableDomain

_DATA, _WORDS, _MODULES, _COMMON = "@DATA@", "@WORDS@", "@MODULES@", "@COMMON@"

_BOTH = '''\
def fail(message):
    """End with one line, and nothing written."""
    print(f"predict.py: {message}", file=sys.stderr)
    raise SystemExit(NOTHING_WRITTEN)


def asked(source):
    """The two files that the command names."""
    parser = ArgumentParser(description=f"Predicts: python predict.py {source} predictions.csv")
    parser.add_argument("source", type=Path, metavar=source, help="the file to read")
    parser.add_argument("target", type=Path, metavar="predictions.csv", help="the CSV file to write")
    files = parser.parse_args()
    if files.target.exists() and files.source.exists() and files.target.samefile(files.source):
        fail("the predictions would replace what they are of; name another file")
    return files.source, files.target


@contextmanager
def written(target):
    """A writer of a CSV file that is there only when it is whole."""
    if target.exists() and not target.is_file():
        with target.open("w", newline="", encoding="utf-8") as file:
            yield csv.writer(file)
        return
    part = target.with_name(f"{target.name}.part")
    try:
        with part.open("w", newline="", encoding="utf-8") as file:
            yield csv.writer(file)
        part.replace(target)
    finally:
        if part.exists():
            part.unlink()


def opened_network():
    """The model beside this script."""
    return onnxruntime.InferenceSession(str(Path(__file__).resolve().parent / "model.onnx"))


def probabilities(network, inputs):
    """(records, classes) probabilities of records."""
    logits = network.run(["logits"], inputs)[0].astype(float)
    weights = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def answered(row):
    """The line of one record: its most probable class, and the probability of every class."""
    return [CLASSES[int(row.argmax())], *(f"{share:.6f}" for share in row)]


def run(main):
    """Run, and end with one line where a file cannot be read or written."""
    try:
        raise SystemExit(main())
    except FileUnusable as error:
        fail(error)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}" if error.filename else error.strerror)
'''

_TABLE = '''\
"""Predicts the target of rows, from the files beside this one: unzip the bundle, then

    python predict.py rows.csv predictions.csv

The file is read as the domain declares files of this table: its delimiter, its decimal mark, its words for missing values, its formats.
A row has an empty prediction where a value is missing or refused by the domain and the model has no code for that; such rows are
counted on standard error. Exit status: 0 if every row has a prediction, 3 if some have none, 2 if nothing was written.

Needs Python, numpy and onnxruntime, nothing else. Predictions cost no privacy, however many.
"""

import csv
import json
import sys
from argparse import ArgumentParser
from collections import Counter
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

import numpy
import onnxruntime

LAYOUT, FEATURES, CODED = json.loads(@DATA@)
CLASSES = json.loads(@WORDS@)
CHUNK_ROWS = 512
NOTHING_WRITTEN, SOME_WITHOUT = 2, 3
MOST_LISTED = 20
@MODULES@

@COMMON@

class Refusals:
    """Refused rows and values: line of the file, column and reason, never the value."""

    def __init__(self):
        self.rows = self.without = self.refused = 0
        self.reasons, self.listed = Counter(), []

    def add(self, line, reasons, without):
        """Count one row."""
        self.rows += 1
        self.without += without
        self.refused += len(reasons)
        self.reasons.update(reasons)
        if (reasons or without) and len(self.listed) < MOST_LISTED:
            named = ", ".join(f"{name} ({reason})" if name else reason for name, reason in reasons)
            self.listed.append(f"line {line}: {named or 'a column that is made of the target'}{', no prediction' if without else ''}")

    def lines(self):
        """The lines to print."""
        if not (self.refused or self.without):
            return []
        reasons = ", ".join(f"{name + ': ' if name else ''}{reason} {count}" for (name, reason), count in sorted(self.reasons.items()))
        counted = f"{self.without} of {self.rows} rows have no prediction"
        if not self.without:
            counted = f"{self.refused} values that the domain refuses count as missing"
        return [f"{counted} ({reasons})" if reasons else counted, *self.listed]


def predict(network, records, width, places, writer):
    """Write the prediction of every row, and say of which rows there is none."""
    reader, refused = RowReader(LAYOUT, FEATURES, CODED), Refusals()
    writer.writerow(["prediction", *CLASSES])
    nothing = [""] * (1 + len(CLASSES))
    while True:
        chunk = list(islice(records, CHUNK_ROWS))
        if not chunk:
            return refused
        whole = [[record[place] for place in places] for _, record in chunk if len(record) == width]
        codes, without, refusals = reader.codes(whole)
        found = probabilities(network, {"codes": codes}) if whole else []
        at = 0
        for line, record in chunk:
            if len(record) != width:
                refused.add(line, [("", "wrong-number-of-fields")], True)
                writer.writerow(nothing)
                continue
            reasons = [(column["name"], why[at]) for column, why in zip(FEATURES, refusals) if why[at]]
            refused.add(line, reasons, bool(without[at]))
            writer.writerow(nothing if without[at] else answered(found[at]))
            at += 1


def main():
    """Write the file: the predicted class of every row, and the probability of every class."""
    source, target = asked("rows.csv")
    with source.open(newline="", encoding=LAYOUT.get("encoding", "utf-8-sig")) as read:
        records = records_of(read, LAYOUT)
        first = next(records, None)
        if first is None:
            raise FileUnusable("the file has no lines")
        places = places_of(LAYOUT, FEATURES, first[1])
        if not LAYOUT["header"]:
            records = chain([first], records)
        with written(target) as writer:
            refused = predict(opened_network(), records, len(first[1]), places, writer)
    for line in refused.lines():
        print(line, file=sys.stderr)
    return SOME_WITHOUT if refused.without else 0


if __name__ == "__main__":
    run(main)
'''

_IMAGES = '''\
"""Predicts the labels of images, from the files beside this one: unzip the bundle, then

    python predict.py images.npz predictions.csv

`images` of the file is uint8, (images, height, width, channels). Needs Python, numpy and onnxruntime, nothing else.
Predictions cost no privacy, however many. Exit status: 2 if nothing was written.
"""

import csv
import json
import sys
from argparse import ArgumentParser
from contextlib import contextmanager
from pathlib import Path
from zipfile import BadZipFile

import numpy
import onnxruntime

SHAPE = tuple(json.loads(@DATA@))
CLASSES = json.loads(@WORDS@)
CHUNK_IMAGES = 64
NOTHING_WRITTEN = 2


class FileUnusable(Exception):
    """The file as a whole cannot be read."""


@COMMON@

def images_of(source):
    """The images of a file, (images, height, width, channels)."""
    try:
        images = numpy.load(source, allow_pickle=False)["images"]
    except (ValueError, KeyError, IndexError, EOFError, BadZipFile):
        raise FileUnusable(f"{source} is no NPZ file with the array `images`") from None
    if images.dtype != numpy.uint8 or images.size % int(numpy.prod(SHAPE)):
        raise FileUnusable(f"images are uint8 of {SHAPE[0]} x {SHAPE[1]} pixels and {SHAPE[2]} channels")
    return images.reshape(-1, *SHAPE)


def main():
    """Write the file: the predicted label of every image, and the probability of every label."""
    source, target = asked("images.npz")
    images, network = images_of(source), opened_network()
    with written(target) as writer:
        writer.writerow(["prediction", *CLASSES])
        for start in range(0, len(images), CHUNK_IMAGES):
            for row in probabilities(network, {"images": images[start : start + CHUNK_IMAGES]}):
                writer.writerow(answered(row))
    return 0


if __name__ == "__main__":
    run(main)
'''


def render_predictor(document: Mapping[str, Any]) -> str:
    """Return the script of one model.

    Raises:
        DomainInvalid: The domain breaks a rule.
    """
    domain = domain_from_json(document)
    if isinstance(domain, ImageDomain):
        shape = [domain.height, domain.width, domain.channels]
        script = _IMAGES.replace(_COMMON, _BOTH)
        return script.replace(_WORDS, literal(list(domain.labels))).replace(_DATA, literal(shape))
    modules = [*([patterns] if domain.patterns else []), differences, prefixes, model_rows]
    script = _TABLE.replace(_COMMON, _BOTH)
    script = script.replace(_MODULES, "".join(f"\n\n{source_of(module)}" for module in modules).rstrip())
    # The data last: a declared word may look like a placeholder of the script.
    script = script.replace(_WORDS, literal(class_names(domain)))
    return script.replace(_DATA, literal([_layout(domain), _features(domain), _coded(domain)]))


def class_names(domain: TableDomain | ImageDomain) -> list[str]:
    """Names of the classes in the order of their codes, as `ask` names them: words, numbers, ranges; `missing`."""
    if isinstance(domain, ImageDomain):
        return list(domain.labels)
    column = _target(domain)
    if isinstance(column, LabelColumn):
        names = ["false", "true"] if is_plain_boolean(column) else list(column.words)
    else:
        names = labels_of_values(column)
    return names + (["missing"] if column.null_code is not None else [])


def class_values(domain: TableDomain | ImageDomain) -> list[Any]:
    """What a column of the target holds where a record is of a class, in the order of `class_names`.

    A truth value, a word, or a number where each class is one number; else the class's name. None for missing values.
    """
    names: list[Any] = list(class_names(domain))
    if isinstance(domain, ImageDomain):
        return names
    column = _target(domain)
    if isinstance(column, LabelColumn) and is_plain_boolean(column):
        names[:2] = [False, True]
    elif isinstance(column, NumericColumn) and (numbers := values_of(column)) is not None:
        names[: len(numbers)] = [int(number) if column.integer else number for number in numbers]
    if column.null_code is not None:
        names[-1] = None
    return names


def _target(domain: TableDomain) -> Modelled:
    return next(column for column in domain.modelled if column.name == domain.target)


def _layout(domain: TableDomain) -> dict[str, Any]:
    """How the domain declares files."""
    return {
        **domain.csv.to_json(),
        "decimal_mark": domain.csv.decimal_mark,
        "names": [column.name for column in domain.columns],
        "target": domain.target,
    }


def _read_columns(domain: TableDomain) -> list[Modelled]:
    return [column for column in domain.modelled if column.name != domain.target]


def _features(domain: TableDomain) -> list[dict[str, Any]]:
    """How the text of each column becomes a number, or the code of a word."""
    return [_feature(column, domain) for column in _read_columns(domain)]


def _feature(column: Modelled, domain: TableDomain) -> dict[str, Any]:
    stand_in = column.null.value if column.null.action == "use" else None
    read: dict[str, Any] = {"name": column.name, "null": column.null.action, "stand_in": stand_in}
    if isinstance(column, LabelColumn):
        codes = {word: code for code, word in enumerate(column.words)}
        return read | {
            "kind": "label",
            "codes": codes,
            "other": column.other_code,
            "unknown": column.unknown,
            "prefix": column.prefix,
            "stand_in": None if stand_in is None else codes[str(stand_in)],
        }
    read |= {
        "lower": float(column.lower),
        "upper": float(column.upper),
        "specials": [float(special) for special in column.specials],
        "outside": column.outside,
        "unreadable": column.unreadable,
        "whole": False,
    }
    if isinstance(column, TimeColumn):
        return read | {"kind": column.kind, "format": column.format and python_format(column.format)}
    how = column.number_format
    return read | {
        "kind": "number",
        "whole": column.integer,
        "infinite": column.infinite,
        "fraction": column.fraction,
        "number_format": None if how is None else how.expressions(decimal_mark=domain.csv.decimal_mark),
    }


def _coded(domain: TableDomain) -> list[dict[str, Any]]:
    """How the values of columns become the codes that the model reads, in its order."""
    return [_coder(domain, place) for place in range(len(domain.coded)) if place != domain.target_index]


def _coder(domain: TableDomain, place: int) -> dict[str, Any]:
    """How values become one column of codes. `column` and `start` are places among the columns that are read; None where that is the target."""
    names = [column.name for column in _read_columns(domain)]
    coded, pattern, modelled = domain.coded[place], None, len(domain.modelled)
    own: Modelled
    if place < modelled:
        own = domain.modelled[place]
    else:
        own, pattern = domain.patterns[place - modelled]
    coder: dict[str, Any] = {
        "column": names.index(own.name) if own.name in names else None,
        "start": None,
        "pattern": pattern,
        "kind": "ordered",
        "null_code": coded.null_code,
    }
    if pattern is not None:
        assert isinstance(own, TimeColumn), "only times have patterns"
        coder |= own.pattern_data() | {"lower": float(own.lower)}
        coded = own
    if own.difference is not None:
        (difference,) = (one for one in domain.differences if one["place"] == place)
        start = domain.modelled[difference["start"]].name
        if start not in names:
            return coder | {"column": None}
        kept = {key: difference[key] for key in ("start_unit", "unit", "scale")}
        coder |= {"start": names.index(start), "difference": kept}
    if isinstance(coded, LabelColumn):
        return coder | {"kind": "label"}
    bins = coded.bins
    return coder | {
        "starts": np.asarray(bins.starts).tolist(),
        "code_of_interval": bins.code_of_interval.tolist(),
        "specials": [float(special) for special in coded.specials],
    }
