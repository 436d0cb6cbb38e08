"""Record a job of aim or mst, replay its releases on a neighbour: everything after them is the same to the byte.

The marginals that are chosen depend on rows, but through released scores alone: with these frozen, both runs choose the same.
"""

import pytest

from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.randomness import Purpose
from tests.privacy.replay.neighbours import UNITS, is_person
from tests.privacy.test_replay import replayed
from tests.privacy.whole_job import DECLARED_SIZE, csv_of, declared, table_of


def planned(domain, engine: str) -> Plan:
    return make_plan(
        spec=SynthesisSpec(synthesizer=engine, options={"rounds": 2} if engine == "aim" else {}),
        guarantee=PrivacyGuarantee(epsilon=3.0, delta=1e-6),
        declared_size=DECLARED_SIZE,
        domain=domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=domain.privacy_unit),
    )


def in_turn() -> list[tuple[str, str]]:
    """Every unit, with the engines in turn."""
    return [(unit, ("mst", "aim")[number % 2]) for number, unit in enumerate(UNITS)]


@pytest.mark.parametrize(("unit", "engine"), in_turn())
def test_nothing_but_the_releases_knows_the_unit(unit, engine, tmp_path):
    by_person = is_person(unit)
    domain, rows = declared(target=True, by_person=by_person), table_of(150, by_person=by_person)
    files = (csv_of(rows), csv_of([*rows, *UNITS[unit]]))
    replayer = replayed(files, domain, planned(domain, engine), folder=tmp_path, kill=2)
    moved = {Purpose(purpose): distance for (purpose, _), distance in replayer.distances.items()}
    took_part = moved[Purpose.ONE_WAY_NOISE] > 0
    assert took_part == (unit != "refused"), "the unit took part, so the test could have failed"


@pytest.mark.parametrize("engine", ["aim", "mst"])
def test_a_published_bundle_and_its_samples_are_the_same_too(engine, tmp_path):
    domain, rows = declared(target=True, by_person=False), table_of(150, by_person=False)
    files = (csv_of([*rows, *UNITS["extreme"]]), csv_of(rows))
    replayer = replayed(
        files, domain, planned(domain, engine), folder=tmp_path, kill=3, unsaved=True, export=True
    )
    assert replayer.distances[Purpose.SCORE_NOISE, 0] > 0
