"""Declaring a dataset: paste a drafted domain, review it column by column, upload the rows.

``understudy domain draft`` makes the draft where the rows are, not in this service. A draft quotes values of rows, and
this service shows nothing derived from rows before a mechanism has paid for it (docs/decisions/domain-drafts.md).
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final
from uuid import UUID

from fastapi import APIRouter, Response
from fastapi.exceptions import RequestValidationError

from core.errors import InvalidInput
from core.plan.domain.confirmation import MARK
from core.plan.domain.declared import domain_from_json
from core.plan.domain.spreadsheet import formula_places
from service.dashboard.draft_editing import (
    CSV,
    KEPT_COLUMN,
    NEW_SIZE,
    RULE,
    VALUE,
    WHOLE,
    fields_of,
    label_of,
    line_of,
    part_of,
    size_after,
    with_column_kept,
    with_values,
    without,
)
from service.dashboard.errors import FormInvalid
from service.dashboard.forms import Form, order
from service.dashboard.rendering import page, sent_on
from service.dashboard.visit import CurrentVisit, Visit
from service.datasets.endpoints import create_dataset, read_dataset, upload_rows
from service.datasets.schemas import DatasetOrder
from service.edge.body_limit import MAX_JSON_BYTES
from service.edge.json_body import read_json
from service.problem import MalformedRequest
from service.wording import domain_text

KINDS: Final[Mapping[str, str]] = {
    "document": "The document and its files",
    "unit": "Privacy unit",
    "categories": "Categories",
    "numbers": "Numbers",
    "times": "Dates and times",
    "others": "Other columns",
    "rules": "Rules between columns",
}
"""Kinds of locations, in the order of the page; one box confirms all of a kind."""
ALL: Final = "all-"
"""Before the name of a kind it stands for all locations of that kind."""
_KIND_OF: Final = {
    "unit": "unit", "categorical": "categories", "ordinal": "categories", "boolean": "categories", "numeric": "numbers", "date": "times",
    "datetime": "times",
}  # fmt: skip
_NOTE: Final = "_note"
_QUOTED_CODE: Final = re.compile(r"`([^`]+)`")
SIZE: Final = "declared_size"
"""A field of the form and of a drafted file, but not of a domain."""
ENTERED: Final = ("name", SIZE, "domain")

router = APIRouter(include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """A location in a draft with values taken from the data.

    Args:
        place: Index of the column, or ``WHOLE``.
        note: What the draft says of it; empty if it says nothing.
        values: The values taken from the data, by key, each value of a list by itself; all values if the draft does not list keys.
    """

    place: str
    kind: str
    name: str
    note: str
    values: Mapping[str, Sequence[str]]


@router.get("/datasets/new")
def declare_page(visit: CurrentVisit) -> Response:
    """Show the form for name, size and domain."""
    visit.require(create_dataset)
    return page(
        visit, "declare.html", given=dict.fromkeys(ENTERED, ""), problem=None, most_bytes=MAX_JSON_BYTES
    )


@router.post("/datasets/new")
def declare_again(visit: CurrentVisit) -> Response:
    """Show the form with what was entered: the way back from the review."""
    visit.require(create_dataset)
    return _entered(visit, None)


@router.post("/datasets/review")
def review(visit: CurrentVisit) -> Response:
    """Show the declared columns and ask to confirm every value that came from the data.

    What is invalid is said on the form, which keeps what was entered.
    """
    visit.require(create_dataset)
    try:
        return _review(visit, None)
    except InvalidInput as refusal:
        return _entered(visit, refusal)


@router.post("/datasets/edit")
def edit(visit: CurrentVisit) -> Response:
    """Show the values of one part of the document in a form."""
    visit.require(create_dataset)
    try:
        drafted = _valid_document(visit.form)
    except InvalidInput as refusal:
        return _entered(visit, refusal)
    return _editing(visit, drafted, visit.form.required("edit"), None)


@router.post("/datasets/edited")
def take_edits(visit: CurrentVisit) -> Response:
    """Show the review of the document with what was entered for one part; a refused entry stays on its form."""
    visit.require(create_dataset)
    try:
        drafted = _valid_document(visit.form)
    except InvalidInput as refusal:
        return _entered(visit, refusal)
    place = visit.form.required("edit")
    try:
        match visit.form.text("do"):
            case "leave-out":
                changed = without(drafted, place)
            case "keep":
                changed = with_column_kept(drafted, place)
            case _:
                changed = with_values(drafted, place, visit.form.entered(VALUE))
        entered = visit.form.entered(VALUE).get(NEW_SIZE, "")
        size = size_after(drafted, changed, entered=entered, size=visit.form.whole(SIZE))
        domain_from_json(_confirmed(changed))
    except InvalidInput as refusal:
        return _editing(visit, drafted, place, refusal)
    return _review(visit, None, edited=changed, ticked=_still_ticked(visit.form, drafted, changed), size=size)


def _editing(visit: Visit, drafted: Mapping[str, Any], place: str, refusal: InvalidInput | None) -> Response:
    """The form of one part, with what was entered if that was refused."""
    part = part_of(drafted, place)
    entered = visit.form.entered(VALUE)
    return page(
        visit,
        "edit_draft.html",
        status=HTTPStatus.OK if refusal is None else refusal.status,
        problem=refusal,
        place=place,
        title=_title(place, part),
        note=_note_of(part),
        fields=[
            replace(field, value=entered.get(field.key, field.value)) for field in fields_of(drafted, place)
        ],
        kind=part.get("kind"),
        rule=part if place.startswith(RULE) else None,
        may_be_left_out=place not in {WHOLE, CSV} and part.get("kind") not in {"ignored", "unit"},
        may_be_kept=isinstance(part.get(KEPT_COLUMN), dict),
        given={name: "".join(visit.form.all(name)[:1]) for name in ENTERED},
        ticked=visit.form.all("confirmed"),
    )


def _title(place: str, part: Mapping[str, Any]) -> str:
    """The name of a part for people."""
    if place.startswith(RULE):
        return _rule_name(int(place.removeprefix(RULE)), part.get("columns"))
    return {WHOLE: "the document", CSV: "how files are written"}.get(place, str(part.get("name")))


def _review(
    visit: Visit,
    refusal: InvalidInput | None,
    *,
    edited: dict[str, Any] | None = None,
    ticked: set[str] | None = None,
    size: int | None = None,
) -> Response:
    """The review of the document in the form, or of an edited one with the ticks that remain and the size that was entered."""
    drafted = _document(visit.form) if edited is None else edited
    declared = domain_from_json(_confirmed(drafted))
    domain = declared.to_json()
    wanted = _order(visit.form, domain, size=size)
    marked = _marked(drafted)
    ticked = set(visit.form.all("confirmed")) if ticked is None else ticked
    return page(
        visit,
        "review.html",
        status=HTTPStatus.OK if refusal is None else refusal.status,
        problem=refusal,
        wanted=wanted,
        domain=domain,
        drafted=json.dumps(drafted, ensure_ascii=False),
        marked=_by_kind(marked),
        remaining=_unconfirmed(marked, ticked),
        all_of=ALL,
        label_of=label_of,
        ticked=ticked,
        formulas=formula_places(declared),
    )


def _still_ticked(form: Form, before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The ticks after an edit: those of places whose values are as they were. A tick of a group stands for its places.

    Rules are found by their values: one that is dropped moves the numbers of those behind it.
    """
    given, edited = set(form.all("confirmed")), form.text("edit")
    confirmed = [
        found
        for found in _marked(before)
        if {found.place, ALL + found.kind} & given and found.place != edited
    ]
    rules = [(found.name, found.values) for found in confirmed if found.kind == "rules"]
    others = {found.place: found for found in confirmed if found.kind != "rules"}
    marked = _marked(after)
    ticked = {
        found.place
        for found in marked
        if (
            (found.name, found.values) in rules
            if found.kind == "rules"
            else found.place in others and found.values == others[found.place].values
        )
    }
    left = {found.kind for found in marked if found.place not in ticked}
    return ticked | {ALL + kind for kind in KINDS if ALL + kind in given and kind not in left}


@router.post("/datasets")
def declare(visit: CurrentVisit) -> Response:
    """Declare the dataset after every marked location was confirmed."""
    drafted = _document(visit.form)
    ticked = set(visit.form.all("confirmed"))
    if _unconfirmed(_marked(drafted), ticked):
        unconfirmed = FormInvalid(
            "Some values taken from the data were not confirmed.",
            remedy="Review each highlighted value, and tick its box or go back to the declaration and edit the document.",
        )
        return _review(visit, unconfirmed)
    made = visit.ask(create_dataset, order=_order(visit.form, _confirmed(drafted)))
    return sent_on(f"/datasets/{made.id}/upload?done=declared")


@router.get("/datasets/{dataset_id}/upload")
def upload_page(dataset_id: UUID, visit: CurrentVisit) -> Response:
    """Show the upload form; the browser sends the file to the API in parts."""
    visit.require(upload_rows)
    dataset = visit.ask(read_dataset, dataset_id=dataset_id)
    return page(
        visit,
        "upload.html",
        dataset=dataset,
        declared=json.dumps(domain_text.previewed(dataset.domain)),
        is_of_images="columns" not in dataset.domain,
        hours=f"{visit.context.settings.upload_hours:g}",
    )


def _entered(visit: Visit, refusal: InvalidInput | None) -> Response:
    """The form for name, size and domain with what was entered, and what is wrong with it.

    Text that is no domain may be private rows, so it is not sent back.
    """
    given = {name: "".join(visit.form.all(name)[:1]) for name in ENTERED}
    if not _is_domain(given["domain"]):
        given["domain"] = ""
    return page(
        visit,
        "declare.html",
        status=HTTPStatus.OK if refusal is None else refusal.status,
        problem=refusal,
        given=given,
        most_bytes=MAX_JSON_BYTES,
    )


def _is_domain(text: str) -> bool:
    """Whether a text is an object with the keys of a domain, by the same test as the page's script (declare.js)."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    if not isinstance(found, dict):
        return False
    schema, columns = found.get("schema"), found.get("columns")
    if isinstance(schema, str) and schema.startswith("understudy."):
        return True
    # The orient "split" of pandas writes names under `columns`, and rows beside them.
    return isinstance(columns, list) and all(
        isinstance(one, dict) and isinstance(one.get("name"), str) and isinstance(one.get("kind"), str)
        for one in columns
    )


def _order(form: Form, domain: dict[str, Any], *, size: int | None = None) -> DatasetOrder:
    size = form.whole(SIZE) if size is None else size
    return order(DatasetOrder, name=form.text("name"), declared_size=size, domain=domain)


def _document(form: Form) -> dict[str, Any]:
    text = form.required("domain")
    if not _is_domain(text):
        raise FormInvalid(
            "The text holds rows or is no domain. It is not shown again, and nothing was stored.",
            remedy="Draft a domain on your machine: understudy domain draft FILE. Then paste all of its text, from { to }.",
        )
    try:
        found = read_json(text.encode())
    except (MalformedRequest, RequestValidationError):
        found = None
    if not isinstance(found, dict):
        raise FormInvalid(
            "The domain is not a JSON document.", remedy="Paste the complete domain.json, from { to }."
        )
    return _without_size(found)


def _valid_document(form: Form) -> dict[str, Any]:
    """The document, of which a domain would be valid once its marks are confirmed."""
    found = _document(form)
    domain_from_json(_confirmed(found))
    return found


def _without_size(drafted: dict[str, Any]) -> dict[str, Any]:
    """The document without the draft's proposed size: the form has its own field, like ``--declared-size``."""
    rest = {key: value for key, value in drafted.items() if key != SIZE}
    marks = rest.get(MARK)
    if isinstance(marks, list):
        rest[MARK] = [name for name in marks if name != SIZE]
        if marks and not rest[MARK]:  # an empty list would mark the whole document
            del rest[MARK]
    return rest


def _marked(drafted: Mapping[str, Any]) -> Sequence[Marked]:
    """The marked locations: the document itself, how its files are written, then its columns and its rules in order."""
    columns, rules, written = (drafted.get(key) for key in ("columns", "rules", "csv"))
    places = [(WHOLE, "document", "The document", drafted)]
    if isinstance(written, dict):
        places.append((CSV, "document", "How files are written", written))
    if isinstance(columns, list):
        places += [
            (
                str(index),
                _KIND_OF.get(str(column.get("kind")), "others"),
                str(column.get("name", index)),
                column,
            )
            for index, column in enumerate(columns)
            if isinstance(column, dict)
        ]
    if isinstance(rules, list):
        places += [
            (f"{RULE}{index}", "rules", _rule_name(index, rule.get("columns")), rule)
            for index, rule in enumerate(rules)
            if isinstance(rule, dict)
        ]
    parts = {
        "csv": isinstance(written, dict),
        "columns": isinstance(columns, list),
        "rules": isinstance(rules, list),
    }
    found = []
    for place, kind, name, holder in places:
        within = [
            key
            for key in holder
            if not (_is_note(key) or (holder is drafted and parts.get(key))) and _holds_marks(holder[key])
        ]
        if MARK in holder or within:
            values = dict(_values(holder, within))
            found.append(Marked(place=place, kind=kind, name=name, note=_note_of(holder), values=values))
    return found


def _is_note(key: str) -> bool:
    """Whether a key is a draft's own, which no domain keeps: a mark, a note, what else a column might be."""
    return key.startswith("_")


def _holds_marks(value: object) -> bool:
    """Whether something in a value is marked; what is marked within a location is confirmed with the location."""
    if isinstance(value, dict):
        return MARK in value or any(_holds_marks(item) for key, item in value.items() if not _is_note(key))
    return isinstance(value, list) and any(map(_holds_marks, value))


def _unconfirmed(marked: Sequence[Marked], ticked: set[str]) -> Sequence[Marked]:
    """The locations that neither their own box nor the one of their kind confirms."""
    return [found for found in marked if not {found.place, ALL + found.kind} & ticked]


def _by_kind(marked: Sequence[Marked]) -> Sequence[tuple[str, str, Sequence[Marked]]]:
    """The kinds that occur, each with its name for people and its locations."""
    found = [(kind, title, [one for one in marked if one.kind == kind]) for kind, title in KINDS.items()]
    return [each for each in found if each[2]]


def _rule_name(index: int, columns: object) -> str:
    """The columns of a rule, or its number where the document is not as the service wants it."""
    return f"Rule of {', '.join(map(str, columns))}" if isinstance(columns, list) else f"Rule {index + 1}"


def _note_of(holder: Mapping[str, Any]) -> str:
    """The draft's note, without the sentence about the command that asks for confirmation, and with names of fields for keys."""
    note = str(holder.get(_NOTE, ""))
    note = note.partition(". ")[2] if note.startswith("A draft: ") else note
    return _QUOTED_CODE.sub(
        lambda found: found[1] if label_of(found[1]) == found[1] else f"“{label_of(found[1])}”", note
    )


def _values(holder: Mapping[str, Any], within: Sequence[str]) -> Iterator[tuple[str, Sequence[str]]]:
    """The values of a location that are marked, and those that hold marks."""
    marks = holder.get(MARK, within)
    keys = marks if isinstance(marks, list) and marks else list(holder)
    for key in (*keys, *within):
        if isinstance(key, str) and key in holder and not _is_note(key):
            value = holder[key]
            yield (
                key,
                [_said(key, item) for item in (value if value and isinstance(value, list) else [value])],
            )


def _said(key: str, value: object) -> str:
    """A value for people: in words where it has some, else as it is."""
    if value == []:
        return "none"
    if key == "pairs" and isinstance(value, list):
        return " → ".join(map(line_of, value))
    return domain_text.value_words(key, value) or line_of(value)


def _confirmed(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The document without marks."""
    if isinstance(value, dict):
        return {key: _confirmed(item) for key, item in value.items() if key != MARK}
    return [_confirmed(item) for item in value] if isinstance(value, list) else value
