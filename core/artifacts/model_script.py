"""The script inside the bundle of every model, `predict.py`: answers records of a file with numpy and onnxruntime alone.

What codes mean is computed here, by the code that encoded the records, and embedded in the script as data.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from core.artifacts.asking.codes import labels_of_values, values_of
from core.plan.domain.columns.document import time_text
from core.plan.domain.columns.kinds import LabelColumn, Modelled, NumericColumn, TimeColumn
from core.plan.domain.declared import domain_from_json
from core.plan.domain.images import ImageDomain
from core.plan.domain.schema import is_plain_boolean
from core.plan.domain.table import TableDomain

_DATA, _WORDS = "@DATA@", "@WORDS@"

_TABLE = '''\
"""Predicts the target of rows, from the files beside this one: unzip the bundle, then

    python predict.py rows.csv predictions.csv

Needs Python, numpy and onnxruntime, nothing else. Predictions cost no privacy, however many.
"""

import csv
import json
import sys
from datetime import date, datetime
from pathlib import Path

import numpy
import onnxruntime

COLUMNS = json.loads(@DATA@)
CLASSES = json.loads(@WORDS@)
CHUNK_ROWS = 512
PATTERNS = {"weekday": lambda moment: moment.weekday(), "month": lambda moment: moment.month - 1, "hour": lambda moment: moment.hour}


def number_of(column, text):
    """A number or time as the domain counts it, with the moment it stands for."""
    if column["kind"] == "number":
        return (round(float(text)) if column["whole"] else float(text)), None
    moment = datetime.strptime(text, column["format"]) if column["format"] else datetime.fromisoformat(text)
    if column["kind"] == "date":
        return float((moment.date() - date(1970, 1, 1)).days), moment
    return float((moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() // 1), moment


def distance_from(start, row, number):
    """How far a number or time is from the start of its column's difference; None where the start is missing."""
    text = row[start["name"]].strip()
    if text == "" or text in start["null_values"]:
        if start["stand_in"] is None:
            return None
        text = start["stand_in"]
    begin = min(max(number_of(start, text)[0], start["lower"]), start["upper"])
    if start["start_unit"] != 1:
        begin = begin // start["start_unit"]
    apart = (min(max(number, start["lowest"]), start["highest"]) - begin) / start["unit"]
    return apart if start["scale"] is None else round(apart * start["scale"]) / start["scale"]


def code_of(column, row):
    """The code of one value; None where the declared domain has none."""
    text = row[column["name"]].strip()
    if text == "" or text in column["null_values"]:
        if column["stand_in"] is None:
            return column["null_code"]
        text = column["stand_in"]
    if column["kind"] == "text":
        return column["codes"].get(text, column["unlisted"])
    try:
        number, moment = number_of(column, text)
        if column["start"]:
            number = distance_from(column["start"], row, number)
    except ValueError:
        return column["null_code"]
    if number is None:
        return column["null_code"]
    if column["pattern"]:
        return PATTERNS[column["pattern"]](moment)
    if number in column["specials"]:
        return column["specials"].index(number)
    interval = numpy.searchsorted(column["starts"], number, side="right") - 1
    interval = min(max(interval, 0), len(column["starts"]) - 1)
    return len(column["specials"]) + max(column["code_of_interval"][interval], 0)


def codes_of(rows):
    """(rows, columns) codes.

    A row with a value that the domain has no code for is refused with its number.
    """
    codes = numpy.zeros((len(rows), len(COLUMNS)), dtype=numpy.int64)
    for place, row in enumerate(rows):
        for index, column in enumerate(COLUMNS):
            code = code_of(column, row)
            if code is None:
                raise SystemExit(f"row {place + 1} of this chunk: the domain has no code for its value of {column['name']}")
            codes[place, index] = code
    return codes


def probabilities(network, codes):
    """(rows, classes) probabilities of (rows, columns) codes."""
    logits = network.run(["logits"], {"codes": codes})[0].astype(float)
    weights = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def main():
    """Write the file: the predicted class of every row, and the probability of every class."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    network = onnxruntime.InferenceSession(str(Path(__file__).resolve().parent / "model.onnx"))
    with source.open(newline="", encoding="utf-8") as read, target.open("w", newline="", encoding="utf-8") as written:
        rows, writer = list(csv.DictReader(read)), csv.writer(written)
        writer.writerow(["prediction", *CLASSES])
        for start in range(0, len(rows), CHUNK_ROWS):
            found = probabilities(network, codes_of(rows[start : start + CHUNK_ROWS]))
            for row in found:
                writer.writerow([CLASSES[int(row.argmax())], *(f"{share:.6f}" for share in row)])


if __name__ == "__main__":
    main()
'''

_IMAGES = '''\
"""Predicts the labels of images, from the files beside this one: unzip the bundle, then

    python predict.py images.npz predictions.csv

`images` of the file is uint8, (images, height, width, channels). Needs Python, numpy and onnxruntime, nothing else.
Predictions cost no privacy, however many.
"""

import csv
import json
import sys
from pathlib import Path

import numpy
import onnxruntime

SHAPE = tuple(json.loads(@DATA@))
CLASSES = json.loads(@WORDS@)
CHUNK_IMAGES = 64


def probabilities(network, images):
    """(images, classes) probabilities of (images, height, width, channels) uint8."""
    logits = network.run(["logits"], {"images": images})[0].astype(float)
    weights = numpy.exp(logits - logits.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def main():
    """Write the file: the predicted label of every image, and the probability of every label."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    network = onnxruntime.InferenceSession(str(Path(__file__).resolve().parent / "model.onnx"))
    images = numpy.load(source, allow_pickle=False)["images"]
    if images.dtype != numpy.uint8 or images.size % int(numpy.prod(SHAPE)):
        raise SystemExit(f"images are uint8 of {SHAPE[0]} x {SHAPE[1]} pixels and {SHAPE[2]} channels")
    images = images.reshape(-1, *SHAPE)
    with target.open("w", newline="", encoding="utf-8") as written:
        writer = csv.writer(written)
        writer.writerow(["prediction", *CLASSES])
        for start in range(0, len(images), CHUNK_IMAGES):
            for row in probabilities(network, images[start : start + CHUNK_IMAGES]):
                writer.writerow([CLASSES[int(row.argmax())], *(f"{share:.6f}" for share in row)])


if __name__ == "__main__":
    main()
'''


def render_predictor(document: Mapping[str, Any]) -> str:
    """Return the script of one model.

    Args:
        document: The declared domain, as JSON.

    Raises:
        DomainInvalid: The domain breaks a rule.
    """
    domain = domain_from_json(document)
    # The data last: a declared word may look like a placeholder of the script.
    if isinstance(domain, ImageDomain):
        shape = [domain.height, domain.width, domain.channels]
        return _IMAGES.replace(_WORDS, _data(list(domain.labels))).replace(_DATA, _data(shape))
    columns = [
        _coder(column, domain) if column.difference is None else _difference_coder(place, domain)
        for place, column in enumerate(domain.modelled)
        if column.name != domain.target
    ]
    for time, pattern in domain.patterns:
        if time.name != domain.target:
            columns.append(_coder(time, domain) | {"pattern": pattern})
    return _TABLE.replace(_WORDS, _data(class_names(domain))).replace(_DATA, _data(columns))


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


def _coder(column: Modelled, domain: TableDomain) -> dict[str, Any]:
    """How a value's text becomes a code."""
    coder: dict[str, Any] = {
        "name": column.name,
        "null_code": column.null_code,
        "stand_in": _stand_in(column),
        "null_values": list(domain.csv.null_values),
        "pattern": None,
        "start": None,
    }
    if isinstance(column, LabelColumn):
        words = ("false", "true") if is_plain_boolean(column) else column.words
        unlisted = column.null_code if column.other_code is None else column.other_code
        codes = {word: code for code, word in enumerate(words)}
        return coder | {"kind": "text", "codes": codes, "unlisted": unlisted}
    bins = column.bins
    return coder | {
        "kind": column.kind if isinstance(column, TimeColumn) else "number",
        "format": column.format if isinstance(column, TimeColumn) else None,
        "whole": not isinstance(column, TimeColumn) and column.integer,
        "starts": np.asarray(bins.starts).tolist(),
        "code_of_interval": bins.code_of_interval.tolist(),
        "specials": [float(special) for special in column.specials],
    }


def _stand_in(column: Modelled) -> str | None:
    """The text that replaces a missing value, written as the file writes values; None if missing values are not replaced."""
    if column.null.action != "use":
        return None
    if not isinstance(column, TimeColumn):
        return str(column.null.value)
    text = time_text(column, float(column.null.value or 0))
    return datetime.fromisoformat(text).strftime(column.format) if column.format else text


def _difference_coder(place: int, domain: TableDomain) -> dict[str, Any]:
    """How the values' texts of a column and of the one that its difference starts from become a code."""
    column = domain.modelled[place]
    assert column.difference is not None, "a column that is coded by its distance"
    (difference,) = (one for one in domain.differences if one["place"] == place)
    own, coded = _coder(column, domain), _coder(column.difference.coded, domain)
    other = domain.modelled[difference["start"]]
    assert isinstance(column, NumericColumn | TimeColumn), "labels have no difference"
    assert isinstance(other, NumericColumn | TimeColumn), "and none starts from them"
    start = _coder(other, domain) | {
        "lower": other.lower,
        "upper": other.upper,
        "lowest": column.lower,
        "highest": column.upper,
    }
    kept = ("name", "null_values", "stand_in", "kind", "format", "whole")
    return coded | {
        **{key: own[key] for key in kept},
        "start": {key: start[key] for key in (*kept, "lower", "upper", "lowest", "highest")}
        | {key: difference[key] for key in ("start_unit", "unit", "scale")},
    }


def _data(document: object) -> str:
    """A JSON text as a Python literal: no declared word can end it."""
    return repr(json.dumps(document, sort_keys=True, ensure_ascii=True))
