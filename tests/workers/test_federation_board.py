"""The board as a member's worker calls it: which answers end its job, which are asked for again, and which addresses are called."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import IPv4Network
from typing import cast

import pytest
from structlog.testing import capture_logs

from core.clock import FixedClock
from core.data.boards import Board
from core.jobs.visible_progress import Edges
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.federation import FederationMember, shared_digest
from core.plan.several_owners.member_plan import MemberPlan
from workers.child import AttemptEnded, ExitCode
from workers.federation_board import BoardAnswer, BoardConnection, BoardSilent, FederationBoard, exchanging

LOOPBACK = (IPv4Network("127.0.0.0/8"),)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Scripted:
    """A connection whose answers are given."""

    def __init__(self, *answers: BoardAnswer | type[BoardSilent]) -> None:
        self.answers, self.asked = list(answers), []

    def ask(self, method: str, path: str, *, body: bytes = b"", most_bytes: int = 0) -> BoardAnswer:
        self.asked.append((method, path.rpartition("/v1/federations/")[2][37:], body, most_bytes))
        answer = self.answers.pop(0)
        if isinstance(answer, BoardAnswer):
            return answer
        raise answer


def _board(
    federated: MemberPlan | ModelPlan, connection: Scripted, waited: list[float], *, begun: bool = False
) -> FederationBoard:
    return FederationBoard(
        cast("BoardConnection", connection),
        federated,
        begun=begun,
        edges=Edges(claimed_at=NOW, seconds=60.0),
        clock=FixedClock(NOW.replace(second=20)),
        sleep=waited.append,
        monotonic=lambda: sum(waited),
    )


@pytest.fixture(scope="module", params=["weights", "counts"])
def plan(request: pytest.FixtureRequest) -> MemberPlan | ModelPlan:
    from tests.models.classifier.test_federation import plan_for
    from tests.models.tables import test_count_rounds as counting

    if request.param == "weights":
        return plan_for("south")
    made = counting.plan_for("south")
    north = FederationMember(name="north", declared_size=made.declared_size - made.local_size)
    return replace(made, federation=replace(made.federation, members=(north, counting.MEMBERS[1])))


def test_a_state_leaves_at_an_edge_and_every_other_one_is_read(plan: MemberPlan | ModelPlan) -> None:
    ok = BoardAnswer(200, b'{"complete": false}')
    connection = Scripted(
        BoardSilent, BoardAnswer(503, b""), BoardAnswer(204, b""), ok, BoardAnswer(200, b'{"complete": true}'),
        BoardAnswer(200, b"his"),
    )  # fmt: skip
    waited: list[float] = []
    assert _board(plan, connection, waited).exchange(1, b"own") == [b"his", b"own"]
    assert waited == [40.0, 2.0, 2.0, 2.0]
    assert [one[:2] for one in connection.asked[2:]] == [
        ("PUT", "rounds/1"), ("GET", "rounds/1"), ("GET", "rounds/1"), ("GET", "rounds/1/north"),
    ]  # fmt: skip
    assert connection.asked[-1][3] == len(b"own"), "another state is exactly as long"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (BoardAnswer(409, b'{"facts": {"state": "failed"}}'), ExitCode.MEMBER_VANISHED),
        (BoardAnswer(409, b'{"facts": {"state": "failed", "vanished": "north"}}'), ExitCode.MEMBER_VANISHED),
        # How long the own steps take depends on rows: charged in full.
        (BoardAnswer(409, b'{"facts": {"state": "failed", "vanished": "north, south"}}'), ExitCode.DATA),
        (BoardAnswer(409, b'{"facts": {"state": "ended"}}'), ExitCode.FEDERATION_ENDED),
        (BoardAnswer(409, b'{"code": "federation-state-differs"}'), ExitCode.FEDERATION_DIFFERS),
        (BoardAnswer(409, b'{"facts": []}'), ExitCode.FEDERATION_DIFFERS),
        (BoardAnswer(401, b""), ExitCode.FEDERATION_DIFFERS),
        (BoardAnswer(302, b""), ExitCode.FEDERATION_DIFFERS),
        (BoardAnswer(409, b"[" * 100_000), ExitCode.FEDERATION_DIFFERS),
    ],
)
def test_what_the_board_answers_ends_the_job_with_a_code(
    plan: MemberPlan | ModelPlan, answer: BoardAnswer, code: ExitCode
) -> None:
    with pytest.raises(AttemptEnded) as ended:
        _board(plan, Scripted(answer), []).exchange(0, b"own")
    assert ended.value.code is code


@pytest.mark.parametrize(("begun", "code"), [(False, ExitCode.MEMBER_VANISHED), (True, ExitCode.DATA)])
def test_a_member_that_was_late_itself_is_charged_in_full_once_it_has_begun(
    plan: MemberPlan | ModelPlan, begun: bool, code: ExitCode
) -> None:
    late = BoardAnswer(200, json.dumps({
        "plan_sha256": shared_digest(plan.to_json()), "member": "south", "state": "failed", "vanished": "south"
    }).encode())  # fmt: skip
    with pytest.raises(AttemptEnded) as ended:
        _board(plan, Scripted(late), [], begun=begun).require_same()
    assert ended.value.code is code


def test_another_plan_at_the_board_ends_the_job_before_rows_are_opened(plan: MemberPlan | ModelPlan) -> None:
    for body in (b"{}", b"[]", b'{"plan_sha256": "0", "member": "south", "state": "open"}'):
        with pytest.raises(AttemptEnded) as ended:
            _board(plan, Scripted(BoardAnswer(200, body)), []).require_same()
        assert ended.value.code is ExitCode.FEDERATION_DIFFERS


def test_a_silent_board_is_given_time_and_then_another_attempt(plan: MemberPlan | ModelPlan) -> None:
    waited: list[float] = []
    with pytest.raises(AttemptEnded) as ended:
        _board(plan, Scripted(*[BoardSilent] * 1000), waited).require_same()
    assert ended.value.code is ExitCode.MACHINERY
    assert 300 <= sum(waited) < 310


def _connection(url: str, *, plain: bool = True, found: str = "127.0.0.1") -> BoardConnection:
    return BoardConnection(
        Board(url=url, token="uf_secret"),
        networks=LOOPBACK,
        plain_allowed=plain,
        resolver=lambda _host, _port: [found],
    )


@pytest.mark.parametrize(
    ("url", "plain", "found"),
    [
        ("http://board.example", False, "127.0.0.1"),
        ("http://board.example/elsewhere", True, "127.0.0.1"),
        ("http://user@board.example", True, "127.0.0.1"),
        ("http://board.example", True, "10.0.0.1"),
        ("http://board.example", True, "169.254.169.254"),
    ],
)
def test_an_address_that_the_operator_does_not_allow_is_not_called(url: str, plain: bool, found: str) -> None:
    with pytest.raises(AttemptEnded) as ended:
        _connection(url, plain=plain, found=found).ask("GET", "/v1")
    assert ended.value.code is ExitCode.FEDERATION_DIFFERS


@contextmanager
def answering(*answers: bytes) -> Iterator[tuple[BoardConnection, list[bytes]]]:
    """A connection to a board that gives these answers, each on a connection of its own; and what it was asked."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            for one in answers:
                accepted, _ = listener.accept()
                with accepted:
                    requests.append(accepted.recv(65536))
                    accepted.sendall(one)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield _connection(f"http://board.example:{listener.getsockname()[1]}"), requests
        thread.join(timeout=20)


def http(content: bytes, *, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\n\r\n".encode() + content


def test_redirects_are_not_followed_and_long_answers_are_cut_off() -> None:
    redirect = b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    whole = http(b"x" * 100)
    with answering(redirect, whole, whole, b"no HTTP at all\r\n\r\n") as (connection, requests):
        assert connection.ask("GET", "/v1").status == 302
        assert connection.ask("GET", "/v1", most_bytes=100).body == b"x" * 100
        assert connection.ask("GET", "/v1", most_bytes=49).body == b"x" * 50
        with pytest.raises(BoardSilent):
            connection.ask("GET", "/v1")
    assert b"Host: board.example" in requests[0]
    assert b"Authorization: Bearer uf_secret" in requests[0]


def test_an_answer_that_broke_off_is_no_answer() -> None:
    """A board that dies in the middle of handing out a state has not handed out a wrong one."""
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nnorth"
    for broken_off in (http(b"x" * 100)[:-1], http(b"x" * 100)[:-100], chunked):
        with answering(broken_off) as (connection, _), pytest.raises(BoardSilent):
            connection.ask("GET", "/v1", most_bytes=100)


@pytest.mark.parametrize("state", [b"more", b"as", b""])
def test_a_state_of_another_length_is_refused_at_once(plan: MemberPlan | ModelPlan, state: bytes) -> None:
    """A member that hands in too much is not taken for a silent board, and is named."""
    waited: list[float] = []
    sent, complete = BoardAnswer(204, b""), BoardAnswer(200, b'{"complete": true}')
    proxy = BoardAnswer(502, b"a long page")
    with capture_logs() as told, pytest.raises(AttemptEnded) as ended, exchanging():
        _board(plan, Scripted(sent, complete, proxy, BoardAnswer(200, state)), waited).exchange(0, b"own")
    assert ended.value.code is ExitCode.STATE_REFUSED
    assert waited == [40.0, 2.0], "the long page of a proxy is no state: the board is asked again"
    assert [(one["event"], one["member"]) for one in told] == [("federation-state-refused", "north")]


def test_a_state_that_the_analyst_deleted_ends_the_job_as_an_ended_federation_does(
    plan: MemberPlan | ModelPlan,
) -> None:
    complete, gone = (
        BoardAnswer(200, b'{"complete": true}'),
        BoardAnswer(404, b'{"code": "federation-state-not-found"}'),
    )
    with pytest.raises(AttemptEnded) as ended:
        _board(plan, Scripted(BoardAnswer(204, b""), complete, gone), []).exchange(1, b"own")
    assert ended.value.code is ExitCode.FEDERATION_ENDED


def test_a_state_whose_sending_was_cut_off_is_sent_again(plan: MemberPlan | ModelPlan) -> None:
    """A member that froze in the middle of sending, or a slow line, is answered so; it has the same bytes again."""
    cut_off = BoardAnswer(400, b'{"code": "upload-interrupted"}')
    connection = Scripted(
        cut_off, BoardAnswer(204, b""), BoardAnswer(200, b'{"complete": true}'), BoardAnswer(200, b"his")
    )
    assert _board(plan, connection, []).exchange(0, b"own") == [b"his", b"own"]
    assert [one[2] for one in connection.asked[:2]] == [b"own", b"own"]
    for other in (b'{"code": "invalid-input"}', b"[]", b""):
        with pytest.raises(AttemptEnded) as ended:
            _board(plan, Scripted(BoardAnswer(400, other)), []).exchange(0, b"own")
        assert ended.value.code is ExitCode.FEDERATION_DIFFERS
