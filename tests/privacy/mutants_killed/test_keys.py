"""Every attempt of a job draws from the key of the job: a resumed training repeats its noise instead of averaging it away."""

from types import SimpleNamespace
from typing import Any, cast

from core.plan.domain.table import TableDomain
from models.devices.placement import HOST
from models.randomness import Purpose
from tests.core.artifacts.stand_in import DOMAIN
from tests.models.coded_tables import KEY, small_table, streams
from workers import training_child


def test_every_attempt_trains_with_the_key_of_its_job(monkeypatch):
    met: list[bytes] = []

    class Listening:
        def fit(self, _table: object, _plan: object, keyed: Any, _host: object) -> None:
            met.append(keyed.bytes(Purpose.GRADIENT_NOISE, 3, 64))

    monkeypatch.setattr(training_child, "open_private_rows", lambda *_: ())
    monkeypatch.setattr(training_child, "coded_table", lambda *_: small_table())
    monkeypatch.setattr(training_child, "make_synthesizer", lambda *_, **_given: Listening())
    plan = SimpleNamespace(synthesizer="idpgan")
    work = SimpleNamespace(
        claim=SimpleNamespace(plan=plan),
        only_rows=("", KEY),
        domain=TableDomain.from_json(DOMAIN),
        randomness_key=KEY,
    )
    for _ in range(2):
        # private: the child opens streams here, between reading the assignment and the rows
        training_child._trained(
            cast("Any", None), cast("Any", work), cast("Any", None), cast("Any", None), cast("Any", None), HOST, (), None
        )  # fmt: skip
    assert met == [streams().bytes(Purpose.GRADIENT_NOISE, 3, 64)] * 2
