"""Early stopping, best checkpoint, plateaus: nothing is chosen by looking at real rows.

Private rows are touched in two methods of the training loop, and what those return is hidden by noise before anything else sees it. So
on entirely other rows the same things happen in the same order, and the published weights are the average that the plan asks for.
"""

import ast
import inspect

import numpy as np
import pytest

from models.idpgan import loop, training
from models.idpgan.training import Training
from tests.privacy.leaks.short_job import OPTIONS, random_codes, train

TOUCHING = {"_private_step": "codes", "_measure": "measure"}


def methods_that_read_rows() -> set[str]:
    """Methods of the loop that read codes of the private table, or hand the table to something that might."""
    found = set()
    for module in (loop, training):
        for method in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(method, ast.FunctionDef):
                found |= {method.name for node in ast.walk(method) if _reads_codes(node) or _measures(node)}
    return found


def _reads_codes(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "codes"
        and isinstance(node.value, ast.Attribute)
        and node.value.attr == "_table"
    )


def _measures(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "measure"


def test_rows_are_read_in_two_places_only():
    assert methods_that_read_rows() == set(TOUCHING)


def extremes() -> list[np.ndarray]:
    """Tables that any choice would treat differently: random, and constant."""
    return [random_codes(150), np.zeros_like(random_codes(150))]


def test_other_rows_change_neither_what_happens_nor_when():
    told = [train(codes)[0] for codes in extremes()]
    assert all(host.heard == told[0].heard for host in told)


def test_what_is_published_is_the_average_of_the_last_step(monkeypatch):
    seen = []
    kept = Training.run

    def run(self):
        made = kept(self)
        seen.append((made.network, self._refinement.average))
        return made

    monkeypatch.setattr(Training, "run", run)
    train(random_codes(150))
    ((network, average),) = seen
    assert network is average


def test_stopping_early_would_be_noticed(monkeypatch):
    # private: plants a fault where rows are read
    real = Training._private_step

    class Enough(Exception):
        """The critic's gradient is small."""

    def watched(self, step):
        real(self, step)
        chosen = self._table.codes
        if step >= OPTIONS["steps"] // 2 and len(np.unique(chosen, axis=0)) == 1:
            raise Enough

    # private: plants a fault in the loop of steps
    train_all = Training._train

    def stopping(self, first):
        try:
            train_all(self, first)
        except Enough:
            return

    monkeypatch.setattr(Training, "_private_step", watched)
    # private: plants a fault in the loop of steps
    monkeypatch.setattr(Training, "_train", stopping)
    with pytest.raises(AssertionError):
        test_other_rows_change_neither_what_happens_nor_when()


def test_a_validation_on_rows_would_be_noticed(monkeypatch):
    source = inspect.getsource(loop)
    validating = source.replace(
        "    def _keep(self",
        "    def _best(self) -> float:\n        return float(self._table.codes.mean())\n\n    def _keep(self",
        1,
    )
    assert validating != source
    own = inspect.getsource(training)
    monkeypatch.setattr(inspect, "getsource", lambda module: validating if module is loop else own)
    assert methods_that_read_rows() == {*TOUCHING, "_best"}
