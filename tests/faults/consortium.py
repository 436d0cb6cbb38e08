"""A federation under fire: as its analyst and its board see it, its members, and a member that is played."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, Self

from core.jobs.states import ENDED
from core.plan.ordered_plan import ordered_plan_from_json
from core.plan.private_models.plan import ModelPlan
from core.plan.several_owners.member_plan import MemberPlan
from tests.faults.errand import DOMAIN, PAUSE_SECONDS, ROWS, Publication
from tests.faults.played_owner import TOKEN, Words
from tests.faults.processes import wait_until
from tests.faults.stack import Stack
from tests.system.conftest import COMMAND, environment
from tests.system.processes import Process, look

PATIENCE_SECONDS: Final = 600.0
EPSILON: Final = 1.0
DELTA: Final = 1e-6
ROUNDS: Final = {"model": 3, "generator": 2}
TERMS: Final[Mapping[str, Mapping[str, Any]]] = {
    "model": {"model": {"steps": 12, "averaging_rounds": ROUNDS["model"]}},
    "generator": {"generator": {"options": {"pretraining_steps": 20}}},
}
"""Small trainings of both kinds: one round takes two seconds at most."""


class Federation:
    """A federation of two owners, as its analyst and the database of its board see it.

    Args:
        board: the stack whose service is the board.
        kind: what is trained, `model` or `generator`.
        sizes: declared size of each member.
    """

    def __init__(self, board: Stack, *, kind: str, sizes: Mapping[str, int] | None = None) -> None:
        self.board, self.kind = board, kind
        self.sizes = dict(sizes or {"north": ROWS, "south": ROWS})
        with board.connection.client("analyst") as analyst:
            made = analyst.federations.create(
                "a drill", domain=DOMAIN, epsilon=EPSILON, delta=DELTA, members=self.sizes, round_seconds=600.0,
                **TERMS[kind],
            )  # fmt: skip
        self.id, self.tokens, self.plan = str(made["id"]), made["tokens"], made["plan"]
        self.rounds = int(made["rounds"])

    def planned(self, name: str) -> ModelPlan | MemberPlan:
        """The plan of a member."""
        plan = ordered_plan_from_json({**self.plan, "federation": self.plan["federation"] | {"member": name}})
        assert isinstance(plan, ModelPlan | MemberPlan), "a plan of a federation"
        return plan

    @property
    def address(self) -> str:
        """Terms of the federation that members join."""
        return f"{self.board.connection.url}/v1/federations/{self.id}"

    @property
    def names(self) -> list[str]:
        """Of the members, in order."""
        return list(self.sizes)

    def state(self) -> tuple[str, str | None, int]:
        """State, the members that vanished, and the open round."""
        row = self.board.ask("SELECT state, vanished, round FROM federations WHERE id = %s", self.id)
        assert row is not None, "an accepted federation is gone"
        return str(row[0]), None if row[1] is None else str(row[1]), int(str(row[2]))

    def handed_in(self) -> dict[tuple[int, int], bytes]:
        """The digest of every state, by round and place."""
        with self.board.connected() as connection:
            rows = connection.execute(
                "SELECT round, place, sha256 FROM federation_states WHERE federation_id = %s", [self.id]
            ).fetchall()
        return {(int(str(row[0])), int(str(row[1]))): bytes(row[2]) for row in rows}  # type: ignore[arg-type]  # columns of a bare connection

    def last_states(self) -> list[bytes]:
        """The states of the last round, in the order of the members."""
        with self.board.connected() as connection:
            rows = connection.execute(
                "SELECT content FROM federation_states WHERE federation_id = %s AND round = %s ORDER BY place",
                [self.id, self.rounds - 1],
            ).fetchall()
        return [bytes(row[0]) for row in rows]  # type: ignore[arg-type]  # columns of a bare connection

    def has(self, number: int, name: str) -> bool:
        """Whether a member has handed in its state of a round."""
        place = self.names.index(name)
        found = "SELECT 1 FROM federation_states WHERE federation_id = %s AND round = %s AND place = %s"
        return self.board.ask(found, self.id, number, place) is not None

    def await_state(self, number: int, name: str) -> None:
        """Wait until a member has handed in its state of a round."""
        came = wait_until(lambda: self.has(number, name), seconds=PATIENCE_SECONDS, look_seconds=0.01)
        assert came, f"{name} never handed in round {number}"

    def await_round(self, number: int) -> None:
        """Wait until a round is open, or all are over."""
        came = wait_until(
            lambda: self.state()[2] >= number or self.state()[0] != "open",
            seconds=PATIENCE_SECONDS,
            look_seconds=0.01,
        )
        assert came, f"round {number} never opened"

    def let_expire(self) -> None:
        """Have the deadline of the open round pass: the board looks at its clock when somebody asks."""
        with self.board.connected() as connection:
            connection.execute("UPDATE federations SET round_seconds = 0.001 WHERE id = %s", [self.id])
        with self.board.connection.client("analyst") as analyst:
            analyst.federations.read(self.id)


class Member(Publication):
    """An owner with a service of its own that joins a federation with the command, as a person does.

    Whatever ends the command before the job has ended, it is given again.

    Attributes:
        commands: how often it was given.
        command: the process.
        hold: clear it, and the command is not given before it is set.
    """

    def __init__(
        self, stack: Stack, rows: Path, federation: Federation, name: str, *, joins_at_once: bool = True
    ) -> None:
        super().__init__(stack, rows, name=name)
        self.stack, self.federation = stack, federation
        self.bundle = rows.with_name(f"{name}-{federation.id}.zip")
        self.commands = 0
        self._given_up = False
        self.command: subprocess.Popen[str] | None = None
        self.hold = threading.Event()
        if joins_at_once:
            self.hold.set()

    def _do(self) -> None:
        with (
            self._client("owner") as owner,
            self._client("admin") as admin,
            self._client("analyst") as analyst,
        ):
            self._ready(owner, admin, analyst, declared_size=self.federation.sizes[self.name])
        self.at = "order"
        assert self.hold.wait(PATIENCE_SECONDS)
        until = time.monotonic() + PATIENCE_SECONDS
        said = ""
        while time.monotonic() < until and not self._given_up:
            self.commands += 1
            self.command = self._given()
            _, said = self.command.communicate()
            if self.command.returncode == 0 or self.row()[0] in ENDED:
                self.at = "ended"
                return
            if self.row()[0] is None and "federation" in said:
                self.problem = f"refused: {said.strip()[-300:]}"
                return
            time.sleep(PAUSE_SECONDS)
        self.problem = f"the command never ended well; it said {said.strip()[-300:]}"

    def _given(self) -> "subprocess.Popen[str]":
        words = [
            "member", str(self.dataset_id), "--join", self.federation.address, "--out", str(self.bundle),
            "--data-folder", str(self.stack.folder.path),
        ]  # fmt: skip
        token = {"UNDERSTUDY_FEDERATION_TOKEN": self.federation.tokens[self.name]}
        return subprocess.Popen(
            [*COMMAND, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment() | token,
        )

    def row(self) -> tuple[str | None, str | None, int]:
        """State, failure code and fence of the job; nothing before it is ordered."""
        with self.stack.connected() as connection:
            found = connection.execute(
                "SELECT state, failure_code, fence, id FROM jobs WHERE dataset_id = %s", [self.dataset_id]
            ).fetchone()
        if found is None:
            return None, None, 0
        self.job_id = str(found[3])
        return str(found[0]), None if found[1] is None else str(found[1]), int(str(found[2]))

    def give_up(self) -> None:
        """Give no further command, and leave no process behind."""
        self.hold.set()
        self._given_up = True
        if self.is_alive():
            self.join(5.0)
        if self.command is not None and self.command.poll() is None:
            self.command.kill()
        self.join(20.0)

    def await_end(self) -> tuple[str | None, str | None]:
        """Wait for the end of the job. Returns its state and failure code."""
        self.join(PATIENCE_SECONDS)
        return self.row()[:2]


class PlayedMember:
    """A process of `tests.faults.played_owner` that is one member.

    Args:
        federation: whose member.
        copied: whose states it copies.
        actions: of rounds.
        first: the round with which it begins.

    Attributes:
        told: what the board answered, in order.
    """

    def __init__(
        self,
        federation: Federation,
        *,
        actions: Mapping[int, Sequence[str]] | None = None,
        name: str = "south",
        copied: str = "north",
        first: int = 0,
    ) -> None:
        words = Words(
            url=federation.board.connection.url,
            federation_id=federation.id,
            copied=copied,
            rounds=federation.rounds,
            first=first,
            actions={str(number): list(each) for number, each in (actions or {}).items()},
        )
        self.told: list[dict[str, Any]] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.played_owner", json.dumps(asdict(words))],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {TOKEN: federation.tokens[name]},
            cwd=Path(__file__).parents[2],
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Leave no process behind."""
        self.process.kill()
        self.process.wait()
        self._reader.join(timeout=20)

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout:
            self.told.extend(json.loads(line) for line in self.process.stdout)

    def _looked(self) -> Process | None:
        return look(self.process.pid)

    def await_stop(self) -> None:
        """Wait until it has frozen itself."""
        stopped = wait_until(
            lambda: (found := self._looked()) is not None and found.state == "T", seconds=PATIENCE_SECONDS
        )
        assert stopped, f"it never came to its stop; the board answered {self.told}"

    def await_end(self) -> int:
        """Wait until it has ended. Returns its status."""
        status = self.process.wait(PATIENCE_SECONDS)
        self._reader.join(timeout=20)
        return status

    def answers(self) -> list[tuple[str, int, str | None]]:
        """Action, status and code of everything that the board answered."""
        return [(one["action"], one["status"], one["code"]) for one in self.told if one["action"] != "stop"]
