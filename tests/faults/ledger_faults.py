"""The faults of an order over the datasets of one service: several ledgers, of which all move or none does."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tests.faults.consortium import PATIENCE_SECONDS
from tests.faults.errand import CAP, ROWS, OwnersOrder
from tests.faults.owners_checks import order_violations
from tests.faults.processes import kill_all, send, wait_until
from tests.faults.scene import CANCELLED, CHARGED, SUCCEEDED, Scene, held, hit
from tests.system.processes import Process

TOO_FEW: Final = 5 * ROWS // 8
"""A declared size that is too small, and with which the rows are still taken in: they are less than twice as many."""
OWNERS: Final = 3


@contextmanager
def _owners(
    scene: Scene,
    *,
    sizes: Sequence[int] = OWNERS * (ROWS,),
    steps: int = 30,
) -> Iterator[OwnersOrder]:
    """Owners whose datasets are ready; the order is given when its `hold` is set."""
    order = OwnersOrder(scene.board, scene.rows, name="an owner", sizes=sizes, steps=steps)
    scene.orders.append(order)
    order.start()
    order.await_datasets()
    try:
        yield order
    finally:
        order.hold.set()
        order.join(PATIENCE_SECONDS)


def _held_ledger(
    scene: Scene, order: OwnersOrder, action: Callable[[], object], blow: Callable[[], object]
) -> None:
    """Lock one owner's ledger, and strike at the transaction that waits for it."""
    one = order.populations()[scene.number_below(OWNERS)]
    locked = "SELECT 1 FROM budgets WHERE population_id = %s FOR UPDATE"
    held(scene, locked, [one], waiting="budgets", action=action, blow=blow)


def _concluded(scene: Scene, order: OwnersOrder, ends: frozenset[str]) -> list[str]:
    order.join(PATIENCE_SECONDS)
    found = [] if order.problem is None else [f"the order failed at {order.problem}"]
    return found + order_violations(scene.board, order.datasets, ends)


def no_room(scene: Scene) -> list[str]:
    """One of three ledgers has too little left: nothing is reserved in any."""
    with _owners(scene) as order:
        poor = order.datasets[scene.number_below(OWNERS)]
        with scene.board.connection.client("admin") as admin:
            admin.set_budget(poor, epsilon=0.5, delta=CAP[1])
        order.hold.set()
        found = _concluded(scene, order, frozenset())
        return found + ([] if order.refused == "budget-refused" else [f"it was answered {order.refused}"])


def lie_in_one_service(scene: Scene) -> list[str]:
    """One of three owners declares five eighths of its rows, or four times as many: all ledgers are charged alike, and never less than the plan."""
    sizes = OWNERS * [ROWS]
    sizes[scene.number_below(OWNERS)] = TOO_FEW if scene.draw.random() < 0.5 else 4 * ROWS
    with _owners(scene, sizes=sizes) as order:
        order.hold.set()
        # A batch over the public cap ends the job, charged in full.
        return _concluded(scene, order, SUCCEEDED | CHARGED)


def kill_while_it_reserves(scene: Scene) -> list[str]:
    """kill -9 of the API or of the database in a reservation; the order is given again, and reserves once in each."""
    with _owners(scene) as order:
        victim = scene.one_of(["api", "postgres"])
        _held_ledger(scene, order, order.hold.set, lambda: hit(scene.board, victim))
        return _concluded(scene, order, SUCCEEDED)


def kill_while_it_spends(scene: Scene) -> list[str]:
    """kill -9 of the worker between reservation and spend, or in the transaction that spends."""
    with _owners(scene) as order:
        worker = _frozen_worker(scene)
        order.hold.set()
        assert wait_until(order.is_ordered, seconds=PATIENCE_SECONDS)
        if scene.draw.random() < 0.5:
            kill_all(worker)
        else:
            _held_ledger(scene, order, lambda: _thaw(worker), lambda: hit(scene.board, "pool process"))
        return _concluded(scene, order, SUCCEEDED)


def _frozen_worker(scene: Scene) -> list[Process]:
    """Stop the worker before it claims anything."""
    worker = [one for one in (scene.board.process("worker"), scene.board.pool()) if one is not None]
    assert len(worker) == 2, "a worker has a pool process"
    for process in worker:
        send(process, signal.SIGSTOP)
    return worker


def _thaw(worker: Sequence[Process]) -> None:
    for process in worker:
        send(process, signal.SIGCONT)


def withdraw_before_the_claim(scene: Scene) -> list[str]:
    """One of three owners freezes its ledger, revokes its grant or deletes its dataset before the claim: all ledgers are voided."""
    with _owners(scene) as order:
        worker = _frozen_worker(scene)
        try:
            order.hold.set()
            assert wait_until(order.is_ordered, seconds=PATIENCE_SECONDS)
            end = _withdraw_one(scene, order)
        finally:
            _thaw(worker)
        return _concluded(scene, order, frozenset({end}))


def _withdraw_one(scene: Scene, order: OwnersOrder) -> str:
    """Withdraw one owner. Returns how the job has to end."""
    place, connection = scene.number_below(OWNERS), scene.board.connection
    action = scene.one_of(["freeze", "revoke", "delete"])
    with connection.client("owner") as owner, connection.client("admin") as admin:
        if action == "freeze":
            owner.governance.freeze(order.datasets[place], reason="withdrawn")
        elif action == "revoke":
            admin.governance.revoke_grant(order.grants[place])
        else:
            owner.auditing.delete_dataset(order.datasets[place])
    return "cancelled" if action == "delete" else "owner-withdrew"


def kill_while_it_settles(scene: Scene) -> list[str]:
    """kill -9 of the worker, or of the database, in the settlement of a cancelled training."""
    with _owners(scene, steps=6000) as order:
        order.hold.set()
        begun = "SELECT 1 FROM jobs WHERE dataset_id::text = ANY(%s) AND steps_begun > 0"
        assert wait_until(lambda: scene.board.ask(begun, order.datasets), seconds=PATIENCE_SECONDS)
        order.is_ordered()
        cancelling = threading.Thread(target=order.cancel, daemon=True)
        victim = scene.one_of(["pool process", "postgres", "worker"])
        _held_ledger(scene, order, cancelling.start, lambda: hit(scene.board, victim))
        cancelling.join(PATIENCE_SECONDS)
        return _concluded(scene, order, CANCELLED)
