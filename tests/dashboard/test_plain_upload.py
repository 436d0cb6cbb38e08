"""Uploading without scripts: the form with the file, read as it comes, its token looked at before the file."""

import re
from collections.abc import Callable, Iterator

import pytest

from service.dashboard.multipart import FileForm, boundary_of
from service.dashboard.plain_upload import KINDS
from service.dashboard.rendering import TEMPLATES
from service.problem import MalformedRequest
from tests.dashboard.visitor import BROWSER, Visitor, require_page
from tests.service.world import CSV, World

BOUNDARY = b"----formdata"


def _body(content: bytes, *, token: bytes = b"secret", file_name: bytes = b"rows.csv") -> bytes:
    return (
        b'--%b\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n%b\r\n'
        b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\nContent-Type: text/csv\r\n\r\n%b\r\n--%b--\r\n'
    ) % (BOUNDARY, token, BOUNDARY, file_name, content, BOUNDARY)


def _pieces(body: bytes, size: int) -> Iterator[bytes]:
    return (body[at : at + size] for at in range(0, len(body), size))


def test_a_form_is_read_however_it_is_cut() -> None:
    hostile = b"a\r\n--\r\n----formdat\r\n------formdat\r\n-----formdata\r\n\r\n\x00" * 3
    for content in (b"", b"x", hostile, b"\r\n" * 50, CSV):
        body = _body(content, file_name='Ü, \\"rows\\".CSV'.encode())
        for size in (1, 2, 7, 17, 64, len(body)):
            form = FileForm(_pieces(body, size), BOUNDARY)
            assert form.fields() == {"csrf_token": "secret"}
            assert form.file_name.endswith(".CSV")
            assert b"".join(form) == content, size


def test_what_is_no_such_form_is_refused() -> None:
    whole = _body(CSV)
    no_file = b'--%b\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--%b--\r\n' % (
        BOUNDARY,
        BOUNDARY,
    )
    many = b'--%b\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' % BOUNDARY * 50
    for body in (b"", b"x" * 10**6, whole[:60], whole[:200], no_file, many, _body(CSV, token=b"x" * 5000),
                 b"--%b\r\n%b" % (BOUNDARY, b"h" * 10**5), whole[:-20]):  # fmt: skip
        form = FileForm(_pieces(body, 4096), BOUNDARY)
        with pytest.raises(MalformedRequest):
            _ = form.fields(), list(form)
    assert boundary_of("multipart/form-data; boundary=x") == b"x"
    for other in (
        "multipart/form-data",
        "text/plain; boundary=x",
        "multipart/form-data; boundary=" + "x" * 71,
        "",
    ):
        assert boundary_of(other) is None


def test_rows_are_sent_by_the_form_alone(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    owner, path = sign_in("owner"), f"/datasets/{dataset_id}/rows"
    page = owner.page(f"/datasets/{dataset_id}/upload")
    assert f'method="post" enctype="multipart/form-data" action="{path}"' in page

    def send(token: str | None, name: str = "rows.csv", **headers: str) -> int:
        fields = {} if token is None else {"csrf_token": token}
        answer = owner.client.post(
            path, data=fields, files={"file": (name, CSV)}, headers=BROWSER | headers, follow_redirects=False
        )
        if answer.status_code >= 400:
            require_page(answer)
        return answer.status_code

    token = owner.token()
    assert send(None) == 403
    assert send("wrong") == 403
    assert send(token, Origin="https://elsewhere.example", **{"Sec-Fetch-Site": "cross-site"}) == 403
    assert send(token, name="rows.exe") == 422
    late = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\n%b\r\n' % CSV
    late += (
        b'--x\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n%b\r\n--x--\r\n' % token.encode()
    )
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    assert owner.client.post(path, content=late, headers=BROWSER | form).status_code == 403
    assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == "declared"
    for other, status in (("stranger", 404), ("analyst", 403)):
        visitor = sign_in(other)
        sent = visitor.client.post(
            path, data={"csrf_token": visitor.token()}, files={"file": ("a.csv", CSV)}, headers=BROWSER
        )
        assert sent.status_code == status, other
    assert send(token) == 303
    assert "Private: this report counts rows." in owner.page(f"/datasets/{dataset_id}/facts")
    assert send(token) == 409


def test_the_owner_decides_on_rows_that_wait(world: World, sign_in: Callable[..., Visitor]) -> None:
    dataset_id = world.declare()
    owner, path = sign_in("owner"), f"/datasets/{dataset_id}"
    facts = f"{path}/facts"
    assert "your decision" not in owner.page(facts)
    for word, told, state in (
        ("discard", "The rows are discarded.", "declared"),
        ("accept", "The rows are accepted into the dataset.", "ready"),
    ):
        assert world.upload(dataset_id, CSV + b"nobody's ward,30,yes,2020-01-02\n").status_code == 201
        assert "your decision" in owner.page(facts)
        for other in ("stranger", "analyst", "admin"):
            visitor = sign_in(other)
            assert "your decision" not in visitor.get(facts).text
            assert visitor.send(f"{path}/rows/{word}").status_code in {403, 404}
        page = owner.follow(f"{path}/rows/{word}")
        assert told in page
        assert "your decision" not in page
        assert world.owner.get(f"/v1/datasets/{dataset_id}").json()["state"] == state


def test_the_script_and_the_form_know_the_same_files() -> None:
    script = (TEMPLATES.parent / "static" / "upload.js").read_text()
    assert (
        dict(re.findall(r'(\w+): "(\w+/[\w.-]+)"', script.partition("const KINDS = {")[2].partition("}")[0]))
        == KINDS
    )
