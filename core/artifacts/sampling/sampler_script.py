"""The script inside every bundle, `sample.py`: draws whole synthetic records with numpy and onnxruntime alone.

The meaning of codes (words of a category, grid and bins of a number) is computed here, by the code that encoded the
records, and embedded in the script as data; so the script needs no domain document. The script contains
`core.artifacts.sampling.inversion`, `core.artifacts.sampling.balanced_sampling` and, if there are patterns of times, differences or rules between
columns, the modules for these. A test runs it without this package, and compares its values with those of `core.plan.domain.codec`.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.artifacts.manifest import Manifest, TableManifest
from core.artifacts.sampling import balanced_sampling, codes_in_groups, inversion
from core.artifacts.script_sources import literal, source_of
from core.plan.domain.columns import differences, patterns
from core.plan.domain.columns.bins import Bins, Grid
from core.plan.domain.columns.kinds import LabelColumn, Modelled, TimeColumn
from core.plan.domain.rules import classes, exchanging, keeping, mending
from core.plan.domain.rules.kinds import Kept
from core.plan.domain.schema import is_plain_boolean
from core.plan.domain.table import TableDomain

_DATA, _RULES, _KEEPS, _FEWEST = "@DATA@", "@RULES@", "@KEEP@", "@FEWEST@"
_DRAWING, _BLOCKS, _WITHIN = "@DRAWING@", "@BLOCKS@", "@WITHIN@"

_ROWS = '''\
"""Draws synthetic rows from the files beside this one: unzip the bundle, then

    python sample.py 1000 rows.csv

Needs Python, numpy and onnxruntime, nothing else. Drawing costs no privacy, however many rows.
"""

import csv
import json
from argparse import ArgumentParser
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy
import onnxruntime

COLUMNS = json.loads(@DATA@)
NETWORK_ROWS = 512
@DRAWING@
@RULES@

def codes_of_rows(manifest, network, rows, rng, balanced, label=None):
    """Codes (rows, columns): labels as given or by their distribution, other columns from the softmax of their blocks of logits."""
    distribution, cardinalities = manifest["label_probabilities"] or [], manifest["@BLOCKS@"]
    if label is None and distribution:
        uniforms = stratified_uniforms(rows, rng) if balanced else rng.random(rows)
        label = numpy.searchsorted(numpy.cumsum(distribution)[:-1], uniforms, side="right")
    one_hot = numpy.eye(len(distribution), dtype=numpy.float32)[label] if distribution else numpy.zeros((rows, 0), numpy.float32)
    by_cell = numpy.empty((sum(cardinalities), rows), dtype=numpy.float32)
    for start in range(0, rows, NETWORK_ROWS):
        given = one_hot[start : start + NETWORK_ROWS]
        latent = standard_normals(len(given), manifest["latent_dimension"], rng)
        by_cell[:, start : start + NETWORK_ROWS] = network.run(["logits"], {"latent": latent, "label": given})[0].T
    place = manifest["label_index"]
    drawn = draw_codes(by_cell, cardinalities, rng, draws=1 + balanced, given=place)
    if distribution:
        drawn[:, place] = label
        start = sum(cardinalities[:place])
        by_cell[start : start + len(distribution)] = one_hot.T
    codes = drawn[0].T.astype(int)
    if balanced:
        normalise(by_cell, cardinalities)
        balance(codes, drawn[1].T, by_cell.T, cardinalities, rng)
@WITHIN@    return codes


def numbers(column, bins, uniforms):
    """A number drawn uniformly inside each bin."""
    grid = column["grid"]
    if grid is None:
        lows, highs = numpy.array(column["lows"])[bins], numpy.array(column["highs"])[bins]
        values = numpy.minimum(lows + uniforms * (highs - lows), numpy.nextafter(highs, lows))
        for special in sorted(column["specials"]):
            values = numpy.where(values == special, numpy.nextafter(special, numpy.inf), values)
        return values
    first, counts = numpy.array(column["first_ticks"])[bins], numpy.array(column["tick_counts"])[bins]
    ticks = first + numpy.minimum((uniforms * counts).astype(numpy.int64), counts - 1)
    for special in column["special_ticks"]:
        ticks += (ticks >= special) & (first <= special)
    if grid["table"] is not None:
        return numpy.array(grid["table"])[ticks].astype(float)
    whole = (ticks * grid["width"] + grid["offset"]).astype(float)
    return whole if grid["scale"] == 1 else whole / grid["scale"]


def decode(column, codes, uniforms):
    """The values of one column's codes as numbers: of a word its place in its list, not a number for a missing value."""
    if column["kind"] == "text":
        values = codes.astype(float)
    else:
        specials = column["specials"]
        bins = numpy.clip(codes - len(specials), 0, column["bins"] - 1)
        values = numbers(column, bins, uniforms)
        for code, special in enumerate(specials):
            values[codes == code] = special
    if column["null_code"] is not None:
        values[codes == column["null_code"]] = numpy.nan
    return values


def written(column, value):
    """A value as it stands in the file; a missing one is empty."""
    kind = column["kind"]
    if value != value:
        return ""
    if kind == "text":
        return column["words"][int(value)]
    if kind == "date":
        return (date(1970, 1, 1) + timedelta(days=int(value))).isoformat()
    if kind == "datetime":
        return str(datetime(1970, 1, 1) + timedelta(seconds=int(value)))
    return int(value) if kind == "integer" else value


def draw_rows(manifest, network, rows, rng, balanced):
    """Values of a chunk of rows by column."""

    def decoded(codes):
        return [decode(column, codes[:, place], rng.random(len(codes))) for place, column in enumerate(COLUMNS)]

    codes = codes_of_rows(manifest, network, rows, rng, balanced)
    values = decoded(codes)
@KEEP@    return values


def main():
    """Write the file."""
    parser = ArgumentParser(description="Draws synthetic rows: python sample.py 1000 rows.csv")
    parser.add_argument("rows", type=int, help="how many")
    parser.add_argument("file", type=Path, help="the CSV file to write")
    asked = parser.parse_args()
    rows, target = asked.rows, asked.file
    folder = Path(__file__).resolve().parent
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    network = onnxruntime.InferenceSession(str(folder / "generator.onnx"))
    rng = numpy.random.default_rng()
    balanced = is_balanced(rows, manifest["cardinalities"])
    together = min(rows_together(manifest["cardinalities"]), max(rows, CHUNK_ROWS)) if balanced else CHUNK_ROWS
    with target.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([column["name"] for column in COLUMNS])
        for start in range(0, rows, together):
            count = min(together, rows - start)
            chunk = draw_rows(manifest, network, @FEWEST@, rng, balanced)
            drawn = [own[:count] for own in chunk]
            texts = [[written(column, value) for value in own.tolist()] for column, own in zip(COLUMNS, drawn)]
            writer.writerows(zip(*texts))


if __name__ == "__main__":
    main()
'''

_CODES_IN_GROUPS = """

FOLDER = Path(__file__).resolve().parent
COUNTS = json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))
IN_GROUPS = CodesInGroups.read(
    (FOLDER / "generator.safetensors").read_bytes(), cardinalities=COUNTS["cardinalities"], groups=COUNTS["groups"]
)
"""
_KEEP = """\
    place = manifest["label_index"]

    def redraw(at):
        label = None if place is None else codes[at, place]
        return decoded(codes_of_rows(manifest, network, len(at), rng, False, label))

    KEEPER.keep(values, redraw, rng, target=place)
"""

_DECODED = "decode(column, codes[:, place], rng.random(len(codes)))"
_DECODED_WITH_PATTERNS = "decode_with_patterns(column, codes, place, rng.random(len(codes)))"
_WRITTEN = "def written(column, value):"
_DECODED_ROWS = re.compile(r"^        return (\[decode.* in enumerate\(COLUMNS\)\])$", re.MULTILINE)
_ROWS_WITH_STARTS = r"""        values = \1
        add_starts(values, DIFFERENCES)
        return values"""

_WRITTEN_DATE = """    if kind == "date":
"""
_WRITTEN_AS_DECLARED = """\
    if "format" in column:
        seconds = int(value) * (86400 if kind == "date" else 1)
        return (datetime(1970, 1, 1) + timedelta(seconds=seconds)).strftime(column["format"])
"""

_PATTERNED = '''\
PATTERNED = {column["name"]: PatternedBins(column) for column in COLUMNS if "patterns" in column}


def decode_with_patterns(column, codes, place, uniforms):
    """As `decode`; a time agrees with the codes of its patterns, as far as its bin has such a time."""
    own = codes[:, place]
    if "patterns" not in column:
        return decode(column, own, uniforms)
    bins = numpy.clip(own, 0, column["bins"] - 1)
    beside = [codes[:, other].astype(numpy.int64) for other in column["pattern_places"]]
    values = PATTERNED[column["name"]].draw(bins.astype(numpy.int64), beside, uniforms)
    if column["null_code"] is not None:
        values[own == column["null_code"]] = numpy.nan
    return values
'''

_IMAGES = '''\
"""Draws synthetic images from the files beside this one: unzip the bundle, then

    python sample.py 1000 images.npz

Needs Python, numpy and onnxruntime, nothing else. Drawing costs no privacy, however many images.
"""

import json
from argparse import ArgumentParser
from pathlib import Path

import numpy
import onnxruntime

LABELS = json.loads(@DATA@)
CHUNK_IMAGES = 64


def draw(manifest, network, images, rng):
    """Images (images, height, width, channels) of 8 bits, and the codes of their labels."""
    distribution = manifest["label_probabilities"] or []
    label = rng.choice(len(distribution), size=images, p=distribution) if distribution else numpy.zeros(images, dtype=int)
    one_hot = numpy.eye(len(distribution), dtype=numpy.float32)[label] if distribution else numpy.zeros((images, 0), numpy.float32)
    latent = rng.standard_normal((images, manifest["latent_dimension"]), dtype=numpy.float32)
    values = network.run(None, {"latent": latent, "label": one_hot})[0]
    shades = numpy.rint(numpy.nan_to_num(numpy.clip(values, 0, 1)) * numpy.float32(255))
    return shades.transpose(0, 2, 3, 1).astype(numpy.uint8), label.astype(numpy.int16)


def main():
    """Write the file."""
    parser = ArgumentParser(description="Draws synthetic images: python sample.py 1000 images.npz")
    parser.add_argument("images", type=int, help="how many")
    parser.add_argument("file", type=Path, help="the NPZ file to write")
    asked = parser.parse_args()
    images, target = asked.images, asked.file
    folder = Path(__file__).resolve().parent
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    network = onnxruntime.InferenceSession(str(folder / "generator.onnx"))
    rng = numpy.random.default_rng()
    sizes = [min(CHUNK_IMAGES, images - start) for start in range(0, images, CHUNK_IMAGES)]
    parts = [draw(manifest, network, size, rng) for size in sizes]
    pixels, labels = (numpy.concatenate(kind) for kind in zip(*parts))
    numpy.savez(target, images=pixels, labels=labels, label_names=numpy.array(LABELS, dtype=str))


if __name__ == "__main__":
    main()
'''


def render_script(manifest: Manifest, domain: Mapping[str, Any]) -> str:
    """Return the script of one bundle.

    Raises:
        DomainInvalid: The domain breaks a rule.
    """
    if isinstance(manifest, TableManifest):
        table = TableDomain.from_json(domain)
        script = _with_rules(table.kept) if table.kept else _without_rules()
        if table.patterns:
            script = _with_patterns(script)
        if table.differences:
            script = _with_differences(script, table)
        if any(isinstance(column, TimeColumn) and column.written_format for column in table.modelled):
            script = script.replace(_WRITTEN_DATE, f"{_WRITTEN_AS_DECLARED}{_WRITTEN_DATE}")
        drawing = "".join(f"\n\n{source_of(module)}" for module in (inversion, balanced_sampling))
        blocks, within = "cardinalities", ""
        if manifest.groups is not None:
            drawing += f"\n\n{source_of(codes_in_groups)}{_CODES_IN_GROUPS}"
            blocks, within = (
                "groups",
                "    codes = IN_GROUPS.draw(codes, rng.random(codes.shape)).astype(int)\n",
            )
        script = script.replace(_BLOCKS, blocks).replace(_WITHIN, within)
        # The data last: a declared word may look like a placeholder of the script.
        script = script.replace(_DRAWING, drawing)
        return script.replace(
            _DATA, literal([_coded(column) | _patterns(column, table) for column in table.modelled])
        )
    return _IMAGES.replace(_DATA, literal(domain["labels"]))


def _without_rules() -> str:
    return _ROWS.replace(_KEEPS, "").replace(_RULES, "").replace(_FEWEST, "count")


def _with_rules(kept: Kept) -> str:
    """The script for rows with rules: it contains the modules that apply rules here, verbatim."""
    modules = "".join(f"\n\n{source_of(module)}" for module in (classes, mending, exchanging, keeping))
    rules = f"{modules}\n\nKEEPER = Keeper(json.loads({literal(kept.data)}))\n"
    # A row that cannot be repaired takes values from its chunk, so every chunk is a full one.
    return _ROWS.replace(_KEEPS, _KEEP).replace(_RULES, rules).replace(_FEWEST, "together")


def _with_patterns(script: str) -> str:
    """The script for times with patterns: it contains `core.plan.domain.columns.patterns`, verbatim."""
    return script.replace(_DECODED, _DECODED_WITH_PATTERNS).replace(
        _WRITTEN, f"{source_of(patterns).lstrip()}\n\n{_PATTERNED}\n\n{_WRITTEN}"
    )


def _with_differences(script: str, table: TableDomain) -> str:
    """The script for columns that are made of another one and a distance: it contains `core.plan.domain.columns.differences`, verbatim."""
    module = f"{source_of(differences).lstrip()}\n\nDIFFERENCES = json.loads({literal(table.differences)})\n"
    return _DECODED_ROWS.sub(_ROWS_WITH_STARTS, script).replace(_WRITTEN, f"{module}\n\n{_WRITTEN}")


def _meaning(column: Modelled) -> dict[str, Any]:
    """The meaning of the codes of a column."""
    meaning: dict[str, Any] = {"name": column.name, "null_code": column.null_code}
    if isinstance(column, LabelColumn):
        words = ("false", "true") if is_plain_boolean(column) else column.words
        return meaning | {"kind": "text", "words": list(words)}
    bins: Bins = column.bins
    kind = column.kind if column.kind != "numeric" else "integer" if column.integer else "real"
    return meaning | {
        "kind": kind,
        "bins": bins.count,
        "specials": list(column.specials),
        "grid": None if bins.grid is None else _grid(bins.grid),
        "lows": bins.lows.tolist(),
        "highs": bins.highs.tolist(),
        "first_ticks": bins.first_ticks.tolist(),
        "tick_counts": bins.tick_counts.tolist(),
        "special_ticks": bins.special_ticks.tolist(),
    }


def _coded(column: Modelled) -> dict[str, Any]:
    """The meaning of a column's codes; of a column with a difference they are distances, and its values are written as its kind."""
    meaning = _meaning(column)
    if column.difference is not None:
        meaning = _meaning(column.difference.coded) | {"name": column.name, "kind": meaning["kind"]}
    if isinstance(column, TimeColumn) and column.written_format is not None:
        meaning["format"] = column.written_format
    return meaning


def _patterns(column: Modelled, table: TableDomain) -> dict[str, Any]:
    """The patterns of a time, and the positions of their codes in a row."""
    if not isinstance(column, TimeColumn) or not column.patterns:
        return {}
    names = [one.name for one in table.coded]
    return {
        "patterns": list(column.patterns),
        "pattern_places": [names.index(f"{column.name}.{pattern}") for pattern in column.patterns],
        "unit_seconds": column.seconds_per_unit,
    }


def _grid(grid: Grid) -> dict[str, Any]:
    return {
        "offset": grid.offset,
        "width": grid.width,
        "scale": grid.scale,
        "table": None if grid.table is None else grid.table.tolist(),
    }
