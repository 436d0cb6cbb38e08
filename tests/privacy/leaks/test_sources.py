"""Every field of every answer, and of the bundle, is traced to a source; a new one fails until it is."""

import pytest

from tests.privacy.leaks.answers import Answer
from tests.privacy.leaks.comparing import is_refusal, sourceless
from tests.privacy.leaks.described import described
from tests.privacy.leaks.sources import HEADERS, LENGTH, OPERATIONS, PROBLEM, source_of


def test_every_reported_field_has_a_source(played):
    for one in played.values():
        assert not sourceless(one.answers)


def test_every_operation_and_every_field_of_the_document_has_a_source(played):
    """Also fields that no answer of this test happened to hold."""
    app = played["canaries"].stage.world.app
    fields = described(app)
    assert set(fields) == set(OPERATIONS)
    missing = {
        (operation, path)
        for operation, paths in fields.items()
        for path in paths
        if source_of(operation, path) is None
    }
    assert not missing


def test_no_line_is_about_a_field_that_does_not_exist(played):
    """Lines are removed with their fields, so the page stays true."""
    told = {
        (a.operation, path)
        for one in played.values()
        for a in one.answers
        if not is_refusal(a)
        for path in a.fields()
    }
    in_document = {
        (name, path)
        for name, paths in described(played["canaries"].stage.world.app).items()
        for path in paths
    }
    unused = {
        (operation, line)
        for operation, lines in OPERATIONS.items()
        for line in lines
        if not any(_covers(line, path) for name, path in told | in_document if name == operation)
    }
    assert not unused


def _covers(line: str, path: str) -> bool:
    # A parent that may be null or empty is a field of its own then.
    return (
        path == line
        or path.startswith((f"{line}.", f"{line}["))
        or (line.endswith("**") and path.startswith(line[:-2]))
    )


@pytest.mark.parametrize(
    ("operation", "content"),
    [
        ("read_job", b'{"rows_seen": 3}'),
        ("read_job", b'{"progress": {"loss": 0.5}}'),
        ("read_certificate", b'{"actual_size": 3}'),
        ("list_releases", b'{"items": [{"accuracy": 0.9}]}'),
        ("create_quote", b'{"actual_rows": 3}'),
        ("an_endpoint_of_tomorrow", b'{"any": 1}'),
    ],
)
def test_a_new_field_is_noticed(operation, content):
    answer = Answer("analyst", operation, "", 200, {"content-type": "application/json"}, content)
    assert len(sourceless([answer])) == 1


def test_a_new_header_is_noticed():
    answer = Answer(
        "analyst", "read_job", "", 200, {"content-type": "application/json", "x-rows": "3"}, b"{}"
    )
    assert sourceless([answer]) == {("read_job", "header.x-rows"), ("read_job", "")}


def test_a_new_member_of_the_bundle_and_new_metadata_of_the_network_are_noticed(played):
    import io
    import zipfile

    import onnx

    (found,) = (
        a for a in played["canaries"].answers if (a.caller, a.operation) == ("analyst", "download_bundle")
    )
    target = io.BytesIO(found.content)
    with zipfile.ZipFile(target, "a") as archive:
        model = onnx.load_model_from_string(archive.read("generator.onnx"))
        archive.writestr("losses.json", "[0.5]")
    assert {path for _, path in sourceless([_with(found, target.getvalue())])} >= {
        "losses.json[]",
        "zip.losses.json.date_time",
    }
    model.metadata_props.add(key="host", value="a machine")
    model.doc_string = "trained on a machine"
    rebuilt = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(found.content)) as former, zipfile.ZipFile(rebuilt, "w") as archive:
        for entry in former.infolist():
            is_network = entry.filename == "generator.onnx"
            archive.writestr(entry, model.SerializeToString() if is_network else former.read(entry))
    assert {path for _, path in sourceless([_with(found, rebuilt.getvalue())])} == {
        "generator.onnx.metadata_props[].key", "generator.onnx.metadata_props[].value", "generator.onnx.doc_string",
    }  # fmt: skip


def _with(answer: Answer, content: bytes) -> Answer:
    return Answer(**{**vars(answer), "content": content})


def test_heads_and_refusals_have_lines_too():
    assert source_of("read_job", "facts.allowed_roles[]", refused=True) is PROBLEM["facts.allowed_roles[]"]
    assert LENGTH not in HEADERS, "it is as long as the body"
