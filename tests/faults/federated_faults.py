"""The faults of a consortium, each a round by itself: owners that vanish, freeze, lie or withdraw, and boards and workers that die.

A round of two services needs a second stack; in a round of one the other owner is played (tests.faults.played_owner). A round
returns what it found wrong.
"""

import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from core.ledger.reservation import NOTHING
from tests.faults.consortium import PATIENCE_SECONDS, Federation, Member, PlayedMember
from tests.faults.errand import ROWS
from tests.faults.faults import NothingToHit, freeze
from tests.faults.faults import Scene as OneStack
from tests.faults.federated_checks import charged_to
from tests.faults.ledger_faults import (
    TOO_FEW,
    kill_while_it_reserves,
    kill_while_it_settles,
    kill_while_it_spends,
    lie_in_one_service,
    no_room,
    withdraw_before_the_claim,
)
from tests.faults.processes import kill_all, send, wait_until
from tests.faults.scene import CANCELLED, CHARGED, SUCCEEDED, Scene, ended, held, hit, succeeded
from tests.faults.stack import LEASE_SECONDS, Stack
from tests.system.processes import Process

VANISHED: Final = frozenset({"member-vanished"})
REFUSED: Final = frozenset({"federation-state-refused"})
FAR_TOO_FEW: Final = ROWS // 20
"""A declared size of which no upload is taken."""

# The other owner is played.


def vanish(scene: Scene) -> list[str]:
    """kill -9 of an owner in a round, or before it ever came; the others' jobs end at the deadline of the round."""
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds + 1)
    with scene.member(federation) as north, ExitStack() as played:
        if number < federation.rounds:
            south = played.enter_context(PlayedMember(federation, actions={number: ["die"]}))
            south.await_end()
        else:
            number = 0
        federation.await_state(number, "north")
        federation.let_expire()
        found = ended(federation, (north, VANISHED), state="failed", vanished="south")
        with PlayedMember(federation, first=number) as again:
            if again.await_end() != 3:
                found.append(f"the owner that came back was answered {again.answers()}")
        return found + ended(federation, (north, VANISHED), state="failed", vanished="south")


def freeze_played(scene: Scene) -> list[str]:
    """Stop an owner in the middle of sending, or before, until the deadline has passed; then wake it."""
    federation = Federation(scene.board, kind=scene.kind())
    number, action = scene.number_below(federation.rounds), scene.one_of(["half", "stop"])
    actions = {number: [action] if action == "half" else ["stop", "copy"]}
    with scene.member(federation) as north, PlayedMember(federation, actions=actions) as south:
        south.await_stop()
        federation.await_state(number, "north")
        before = federation.handed_in()
        federation.let_expire()
        found = ended(federation, (north, VANISHED), state="failed", vanished="south")
        south.process.send_signal(signal.SIGCONT)
        south.await_end()
        if "federation-over" not in {code for _, _, code in south.answers()}:
            found.append(f"the owner that thawed was answered {south.answers()}")
        if federation.handed_in() != before:
            found.append("the late state was taken")
        return found + ended(federation, (north, VANISHED), state="failed", vanished="south")


def freeze_for_a_while(scene: Scene) -> list[str]:
    """Stop an owner in the middle of sending and wake it before the deadline: nothing is lost, nothing counts twice."""
    federation = Federation(scene.board, kind=scene.kind())
    actions = {scene.number_below(federation.rounds): ["half"]}
    with scene.member(federation) as north, PlayedMember(federation, actions=actions) as south:
        south.await_stop()
        time.sleep(float(scene.draw.uniform(0.5, 2.0)))
        south.process.send_signal(signal.SIGCONT)
        south.await_end()
        return succeeded(federation, north)


def interrupt_and_repeat(scene: Scene) -> list[str]:
    """kill -9 of an owner that has sent half of its state; it comes back, and hands in too much, twice, other bytes and other rounds."""
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds)
    expected = [
        ("stranger", 401, "federation-token-refused"),
        ("too much", 413, "upload-too-large"),
        ("ahead", 409, "federation-round-not-open"),
        ("copy", 204, None),
        ("again", 204, None),
        ("other", 409, "federation-state-differs"),
    ]
    if number:
        expected[:0] = [("replay", 204, None), ("earlier", 409, "federation-state-differs")]
    with scene.member(federation) as north:
        with PlayedMember(federation, actions={number: ["half"]}) as south:
            south.await_stop()
            south.process.kill()
            south.await_end()
        found = [] if not federation.has(number, "south") else ["half a state was taken"]
        actions = {number: [one[0] for one in expected]}
        with PlayedMember(federation, actions=actions, first=number) as south:
            south.await_end()
            if south.answers()[: len(expected)] != expected:
                found.append(f"the board answered {south.answers()}")
        return found + succeeded(federation, north)


def lie(scene: Scene) -> list[str]:
    """An owner hands in what is no state of the round: the other's job ends at once, and says why."""
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds)
    action = scene.one_of(["short", "longer", "garbage", "wrong"])
    with scene.member(federation) as north, PlayedMember(federation, actions={number: [action]}) as south:
        came = wait_until(lambda: north.row()[0] in {"failed", "succeeded"}, seconds=PATIENCE_SECONDS)
        south.process.kill()
        state = "done" if number == federation.rounds - 1 else "open"
        found = ended(federation, (north, REFUSED), state=state)
        if not _is_named(scene.board, north):
            found.append("the log does not name whose state was refused")
        return found + ([] if came else [f"{action} in round {number}: the job never ended"])


def _is_named(stack: Stack, member: Member) -> bool:
    """Whether the log of a member's worker says that it refused a state of south."""
    sought = ('"event": "federation-state-refused"', '"member": "south"', f'"job_id": "{member.job_id}"')
    lines = stack.folder.log("worker").read_text().splitlines()
    return any(all(each in line for each in sought) for line in lines)


def absurd(scene: Scene) -> list[str]:
    """An owner hands in enormous numbers in the form of a state: it harms what is trained, and no ledger."""
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds)
    with scene.member(federation) as north, PlayedMember(federation, actions={number: ["absurd"]}) as south:
        north.await_end()
        south.process.kill()
        state = federation.state()[0]
        # From weights that overflow the next state of north is none, and the other owner cannot copy it.
        found = ended(federation, (north, SUCCEEDED | REFUSED | CHARGED), state=state)
        return found + ([] if state in {"open", "done"} else [f"the federation is {state}"])


def end_federation(scene: Scene) -> list[str]:
    """The analyst ends the federation in a round."""
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds)
    with scene.member(federation) as north, PlayedMember(federation, actions={number: ["stop"]}) as south:
        south.await_stop()
        federation.await_state(number, "north")
        with scene.board.connection.client("analyst") as analyst:
            analyst.federations.end(federation.id)
        return ended(federation, (north, frozenset({"federation-ended"})), state="ended")


def withdraw(scene: Scene) -> list[str]:
    """An owner withdraws in the middle: it cancels its job or deletes its dataset, or closes grant and ledger, which does not stop it."""
    federation = Federation(scene.board, kind=scene.kind())
    action = scene.one_of(["cancel", "delete", "freeze", "revoke"])
    with scene.member(federation) as north, PlayedMember(federation, actions={0: ["stop", "copy"]}) as south:
        south.await_stop()
        federation.await_state(0, "north")
        north.row()
        _withdraw(scene.board, north, action)
        if action in {"freeze", "revoke"}:
            south.process.send_signal(signal.SIGCONT)
            return succeeded(federation, north)
        return ended(federation, (north, CANCELLED), state="open")


def _withdraw(stack: Stack, member: Member, action: str) -> None:
    dataset_id, job_id = str(member.dataset_id), str(member.job_id)
    with stack.connection.client("owner") as owner, stack.connection.client("admin") as admin:
        if action == "cancel":
            member.cancel()
        elif action == "delete":
            owner.auditing.delete_dataset(dataset_id)
        elif action == "freeze":
            owner.governance.freeze(dataset_id, reason=f"withdrawn from {job_id}")
        else:
            for grant in owner.governance.list_grants(dataset_id):
                admin.governance.revoke_grant(grant.id)


# Both owners have a service of their own.


def kill_member(scene: Scene) -> list[str]:
    """kill -9 in the service of an owner: of the child that trains, the worker, its servers, or everything."""
    what = scene.one_of(["training child", "pool process", "worker", "redis", "postgres", "everything"])
    return _killed_between(scene, "south", what)


def kill_board(scene: Scene) -> list[str]:
    """kill -9 of the board's API or database between two rounds."""
    return _killed_between(scene, "north", scene.one_of(["api", "postgres"]))


def _killed_between(scene: Scene, name: str, what: str) -> list[str]:
    federation = Federation(scene.board, kind=scene.kind())
    number = scene.number_below(federation.rounds)
    with scene.both(federation) as members:
        if number:
            federation.await_round(number)
        else:
            wait_until(scene.stacks[name].runner, seconds=PATIENCE_SECONDS)
        time.sleep(float(scene.draw.uniform(0, 0.5)))
        hit(scene.stacks[name], what)
        found = succeeded(federation, *members.values())
        if not scene.stacks[name].await_health():
            found.append(f"the stack did not become well again after kill -9 of {what}")
        return found


def kill_while_it_sends(scene: Scene) -> list[str]:
    """kill -9 of the child whose state waits for a lock of the board: whether it was taken or not, the next child sends the same."""
    federation = Federation(scene.board, kind=scene.kind())
    locked = "SELECT 1 FROM federations WHERE id = %s FOR UPDATE"
    with scene.both(federation) as members:
        # Once both train, whoever waits for the lock sends a state.
        wait_until(lambda: len(_children(scene)) == len(members), seconds=PATIENCE_SECONDS)
        held(
            scene,
            locked,
            [federation.id],
            waiting="federations",
            action=lambda: None,
            blow=partial(_kill_children, scene),
        )
        return succeeded(federation, *members.values())


def _children(scene: Scene) -> list[Process]:
    """The children that train, of both owners."""
    return [child for stack in scene.stacks.values() if (child := stack.runner()) is not None]


def _kill_children(scene: Scene) -> None:
    children = _children(scene)
    if not children:
        raise NothingToHit
    kill_all(children)


def kill_command(scene: Scene) -> list[str]:
    """kill -9 of the command of an owner, before it orders or while it waits; it is given again, and orders nothing more."""
    federation = Federation(scene.board, kind=scene.kind())
    with scene.both(federation) as members:
        south = members["south"]
        ordered = scene.draw.random() < 0.5
        ready = (lambda: south.row()[0] is not None) if ordered else (lambda: south.command is not None)
        wait_until(ready, seconds=PATIENCE_SECONDS, look_seconds=0.01)
        assert south.command is not None
        south.command.kill()
        found = succeeded(federation, *members.values())
        return found + ([] if south.commands > 1 else ["the command was not given again"])


def never_orders(scene: Scene) -> list[str]:
    """An owner is killed before it approves: nothing of its ledger moves, and the other owner does not wait for ever."""
    federation = Federation(scene.board, kind=scene.kind())
    with scene.member(federation) as north, scene.member(federation, "south", at_once=False) as south:
        federation.await_state(0, "north")
        wait_until(lambda: south.at == "order", seconds=PATIENCE_SECONDS)
        federation.let_expire()
        found = ended(federation, (north, VANISHED), state="failed", vanished="south")
        if south.row()[0] is not None:
            found.append("an owner that has not ordered has a job")
        # It comes after all: the command is given, the job ends before a row is opened, and nothing is charged.
        south.hold.set()
        ends = (north, VANISHED), (south, VANISHED)
        found += ended(federation, *ends, state="failed", vanished="south")
        return found + ([] if charged_to(south) == NOTHING else ["the owner that came too late is charged"])


def freeze_member(scene: Scene) -> list[str]:
    """Stop all that trains at an owner until the deadline has passed; when it thaws, its state is refused and it is charged once, in full."""
    federation = Federation(scene.board, kind=scene.kind())
    with scene.both(federation) as members:
        federation.await_round(1)
        stack = scene.stacks["south"]
        frozen = [one for one in (stack.process("worker"), stack.pool(), stack.runner()) if one is not None]
        for process in frozen:
            send(process, signal.SIGSTOP)
        federation.await_state(1, "north")
        time.sleep(LEASE_SECONDS)
        before = federation.handed_in()
        late = not federation.has(1, "south")
        if late:
            federation.let_expire()
        for process in frozen:
            send(process, signal.SIGCONT)
        if not late:
            raise NothingToHit
        ends = (members["north"], VANISHED), (members["south"], CHARGED)
        found = ended(federation, *ends, state="failed", vanished="south")
        return found + ([] if federation.handed_in() == before else ["the late state was taken"])


def freeze_past_the_lease(scene: Scene) -> list[str]:
    """Stop the worker of an owner past its lease, let another one take over, and wake the first: its states count once."""
    federation = Federation(scene.board, kind=scene.kind())
    with scene.both(federation) as members:
        stack, south = scene.stacks["south"], members["south"]
        wait_until(lambda: south.row()[0] and stack.runner(), seconds=PATIENCE_SECONDS)
        one = OneStack(stack, south, scene.folder, scene.draw)
        thaw = freeze(whole=scene.draw.random() < 0.5)(one)
        found = succeeded(federation, *members.values())
        return found + ((thaw() if thaw is not None else None) or [])


def lie_about_size(scene: Scene) -> list[str]:
    """An owner declares four times its rows, or fewer: ledgers and certificates say what was declared, and no owner is charged more.

    Of a twentieth no upload is taken: the owner never orders, and the other one does not wait for ever.
    """
    size = int(scene.draw.choice([4 * ROWS, TOO_FEW, FAR_TOO_FEW]))
    federation = Federation(scene.board, kind=scene.kind(), sizes={"north": ROWS, "south": size})
    with scene.both(federation) as members:
        if size > FAR_TOO_FEW:
            return succeeded(federation, *members.values())
        members["south"].join(PATIENCE_SECONDS)
        refused = members["south"].problem or ""
        federation.await_state(0, "north")
        federation.let_expire()
        found = ended(federation, (members["north"], VANISHED), state="failed", vanished="south")
        if members["south"].row()[0] is not None:
            found.append("the owner that declared a twentieth of its rows has a job")
        return found + ([] if "too-many-units" in refused else [f"its upload was answered {refused}"])


@dataclass(frozen=True)
class Fault:
    """One kind of round.

    Attributes:
        play: does it.
        services: how many owners need a service of their own.
    """

    play: Callable[[Scene], list[str]]
    services: int = 1


FAULTS: Final[Mapping[str, Fault]] = {
    "owner vanishes": Fault(vanish),
    "owner freezes past the deadline": Fault(freeze_played),
    "owner freezes for a while": Fault(freeze_for_a_while),
    "owner interrupts and repeats": Fault(interrupt_and_repeat),
    "owner lies": Fault(lie),
    "owner hands in absurd numbers": Fault(absurd),
    "analyst ends the federation": Fault(end_federation),
    "owner withdraws": Fault(withdraw),
    "one ledger has no room": Fault(no_room),
    "kill while it reserves": Fault(kill_while_it_reserves),
    "kill while it spends": Fault(kill_while_it_spends),
    "owner withdraws before the claim": Fault(withdraw_before_the_claim),
    "kill while it settles": Fault(kill_while_it_settles),
    "kill a member's processes": Fault(kill_member, 2),
    "kill the board": Fault(kill_board, 2),
    "kill while it sends": Fault(kill_while_it_sends, 2),
    "kill the command": Fault(kill_command, 2),
    "owner never orders": Fault(never_orders, 2),
    "owner's service freezes past the deadline": Fault(freeze_member, 2),
    "owner's worker freezes past its lease": Fault(freeze_past_the_lease, 2),
    "owner lies about its size": Fault(lie_about_size, 2),
    "owner of one service lies about its size": Fault(lie_in_one_service),
}
