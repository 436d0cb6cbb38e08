"""Every request about releases as a value; see `understudy.calls`."""

import json

from understudy.asking import Answer
from understudy.calls import Call, items, read_nothing, read_object
from understudy.documents import Json
from understudy.errors import InputUnusable
from understudy.releasing.results import Release
from understudy.rules import RulesCheck
from understudy.sample_formats import FORMATS


def list_releases() -> Call[tuple[Release, ...]]:
    """Ask for the newest releases."""
    return Call(method="GET", path="/v1/releases", read=items(Release.from_json))


def read_release(release_id: str) -> Call[Release]:
    """Ask for a release."""
    return Call(method="GET", path=f"/v1/releases/{release_id}", read=Release.from_json)


def read_certificate(release_id: str) -> Call[Json]:
    """Ask for a release's certificate."""
    return Call(method="GET", path=f"/v1/releases/{release_id}/certificate", read=read_object)


def ask_counts(release_id: str, question: str) -> Call[Answer]:
    """Ask a question of a release's noisy counts."""
    path = f"/v1/releases/{release_id}/counts"
    return Call(method="GET", path=path, read=Answer.from_json, query={"question": question})


def check_rules(release_id: str) -> Call[RulesCheck]:
    """Ask which declared rules a release's noisy counts contradict."""
    return Call(method="GET", path=f"/v1/releases/{release_id}/rules", read=RulesCheck.from_json)


def read_known_counts(dataset_id: str) -> Call[Json]:
    """Ask what the releases of a dataset already answer."""
    return Call(method="GET", path=f"/v1/datasets/{dataset_id}/known-counts", read=read_object)


def download_bundle(release_id: str) -> Call[None]:
    """Ask for the generator bundle; the answer is streamed."""
    return Call(method="GET", path=f"/v1/releases/{release_id}/bundle", read=read_nothing)


def draw_samples(
    release_id: str,
    *,
    rows: int,
    file_format: str | None,
    where: Json | None = None,
    spreadsheet_safe: bool = False,
) -> Call[None]:
    """Ask for synthetic rows or images; the answer is streamed. Without a format the usual one of their kind comes.

    `where` fixes columns to values. `spreadsheet_safe` puts an apostrophe before text of a CSV file that a spreadsheet would
    run as a formula.

    Raises:
        InputUnusable: if the format is none of ``FORMATS``.
    """
    if file_format is not None and file_format not in FORMATS:
        message = f"unknown format {file_format!r}; it is one of {', '.join(FORMATS)}"
        raise InputUnusable(message)
    query: dict[str, str | int] = {"rows": rows}
    if file_format is not None:
        query["format"] = file_format
    if where:
        query["where"] = json.dumps(dict(where), ensure_ascii=False)
    if spreadsheet_safe:
        query["spreadsheet_safe"] = "true"
    return Call(method="GET", path=f"/v1/releases/{release_id}/samples", read=read_nothing, query=query)
