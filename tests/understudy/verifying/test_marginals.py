"""Bundles of aim and mst: honest ones hold, and whatever does not follow from options and columns is refused."""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from core.artifacts.bundle import artefacts_of
from core.artifacts.certificate import sign_certificate
from core.plan.errors import InvalidPlan
from core.plan.plan import Plan
from tests.core.artifacts.certified import SIGNER, certified
from tests.core.artifacts.certified_graphical import certified_graphical, graphical_plan
from tests.core.artifacts.stand_in import cardinalities
from tests.core.plan.learnt import AGE, SICK, domain_of
from tests.core.plan.learnt import plan_of as learnt_plan
from tests.core.plan.shapes import Shape
from tests.core.plan.test_graphical import plan_of
from tests.understudy.verifying.tampering import SEAL, files_in, written, zipped
from tests.understudy.verifying.test_every_plan import described, of_training, require_moved_figures_refused
from understudy.verifying import planned
from understudy.verifying.verification import Outcome, Report, verify_bundle

ENGINES = pytest.mark.parametrize("engine", ["aim", "mst"])
DESCRIBED = planned.Described(
    cardinalities=cardinalities(), labelled=True, image_outputs=None, target_index=2
)


@ENGINES
def test_an_honest_bundle_is_verified_and_an_altered_network_refused(engine: str, tmp_path: Path) -> None:
    made = certified_graphical(engine)
    path = tmp_path / "bundle.zip"
    path.write_bytes(made.packed)
    report = verify_bundle(path, public_keys=[SIGNER.public_key])
    assert report.outcome is Outcome.VERIFIED, report.refusals
    assert "counts" in {check.name for check in report.checks}
    files = files_in(made.packed)
    path.write_bytes(zipped(files | {"generator.onnx": files["generator.onnx"][:-1] + b"\0"}))
    assert verify_bundle(path, public_keys=[SIGNER.public_key]).outcome is Outcome.REFUSED


SHAPES = {
    "with a target": Shape(cardinalities=(3, 4, 2, 5, 9), target_index=2),
    "without": Shape(cardinalities=(3, 4, 2, 5, 9), target_index=None),
    "a constant target": Shape(cardinalities=(3, 4, 1, 5), target_index=2),
    "wide columns": Shape(cardinalities=(300, 101, 100, 7, 1), target_index=3),
    "many columns": Shape(cardinalities=(2,) * 95, target_index=0),
    "too many triples": Shape(cardinalities=(2,) * 40, target_index=None),
    "one column": Shape(cardinalities=(5,), target_index=None),
    "two large columns": Shape(cardinalities=(200, 200), target_index=0),
}


@ENGINES
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_every_plan_is_accepted(engine: str, shape: Shape) -> None:
    plan = plan_of(engine, shape)
    records = planned.Described(
        cardinalities=shape.cardinalities,
        labelled=shape.target_index is not None,
        image_outputs=None,
        target_index=shape.target_index,
    )
    assert not list(planned.plan_problems(json.loads(json.dumps(plan.to_json())), records))


@ENGINES
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_each_moved_figure_is_refused(engine: str, epsilon: float) -> None:
    stated = of_training(plan_of(engine, epsilon=epsilon))
    assert not stated.problems()
    require_moved_figures_refused(stated)


def changed(member: str, name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(plan: dict[str, Any]) -> None:
        plan[member][name] = value(plan[member][name]) if callable(value) else value

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (changed("anchor", "columns", 1), "plan/anchor/columns"),
        (changed("anchor", "candidates", lambda found: found - 1), "plan/anchor/candidates"),
        (changed("anchor", "rounds", 3), "plan/anchor/rounds"),
        (changed("anchor", "marginals_per_round", 1), "plan/anchor/marginals_per_round"),
        (changed("anchor", "one_way_noise_multiplier", lambda noise: noise * 0.99), "plan/anchor/one_way_noise_multiplier"),
        (changed("anchor", "scores_noise_multiplier", lambda noise: noise * 1.01), "plan/anchor/scores_noise_multiplier"),
        (changed("anchor", "marginals_noise_multiplier", lambda noise: noise * 0.9), "plan/anchor/marginals_noise_multiplier"),
        (changed("options", "one_way_share", 0.9), "plan/options/shares"),
        (changed("options", "rounds", 0), "plan/options/rounds"),
    ],
)  # fmt: skip
def test_a_plan_that_does_not_follow_is_refused(
    change: Callable[[dict[str, Any]], None], problem: str
) -> None:
    plan = json.loads(json.dumps(graphical_plan("aim").to_json()))
    assert not list(planned.plan_problems(plan, DESCRIBED))
    change(plan)
    assert problem in list(planned.plan_problems(plan, DESCRIBED))


def test_parts_of_another_synthesizer_are_refused() -> None:
    graphical = graphical_plan("mst").to_json()
    other = certified({"critic": False}).plan.to_json()
    mixed = [
        graphical | {"synthesizer": "idpgan"},
        graphical | {"options": other["options"]},
        graphical | {"anchor": other["anchor"]},
        graphical | {"anchor": None},
        other | {"synthesizer": "aim"},
        other | {"anchor": graphical["anchor"]},
        other | {"options": graphical["options"]},
    ]
    for plan in mixed:
        assert list(planned.plan_problems(copy.deepcopy(plan), DESCRIBED)) == [
            "plan/options: not those of the synthesizer"
        ]
    more = graphical | {
        "steps": 1,
        "sampling_rate": 0.5,
        "max_sampled_batch": 7,
        "label_histogram": {"noise_multiplier": 2.0},
    }
    found = set(planned.plan_problems(more, DESCRIBED))
    assert {"plan/steps", "plan/sampling_rate", "plan/expected_batch_size", "plan/label_histogram"} <= found


@ENGINES
def test_a_graphical_model_of_a_domain_that_is_learnt_is_refused(engine: str) -> None:
    learnt = learnt_plan(domain_of(AGE, SICK)).to_json()["learning"]
    plan = json.loads(json.dumps(plan_of(engine).to_json())) | {"learning": learnt}
    records = planned.Described(
        cardinalities=(3, 4, 2, 5, 9), labelled=True, image_outputs=None, target_index=2
    )
    assert any(problem.startswith("plan/learning") for problem in planned.plan_problems(plan, records))
    with pytest.raises(InvalidPlan, match="learns nothing"):
        Plan.from_json(plan)


def test_images_have_no_graphical_model() -> None:
    from tests.understudy.verifying.test_every_plan import DIGITS

    assert list(planned.plan_problems(graphical_plan("mst").to_json(), described(DIGITS))) == [
        "plan/synthesizer: makes tables only"
    ]


FILES = files_in(certified_graphical().packed)
LINE, _newline, BODY = FILES["counts.bin"].partition(b"\n")
HEAD: dict[str, Any] = json.loads(LINE)


def with_counts(folder: Path, head: dict[str, Any], body: bytes = BODY) -> Report:
    """What verifying says of the bundle with other counts, signed by somebody who holds the service's key."""
    made = certified_graphical()
    line = json.dumps(head, sort_keys=True, separators=(",", ":")).encode()
    files = FILES | {"counts.bin": line + b"\n" + body}
    stated = {name: value for name, value in made.certificate.items() if name not in SEAL}
    files = {name: content for name, content in files.items() if name != "certificate.json"}
    signed = sign_certificate(stated | {"artefacts": artefacts_of(files)}, SIGNER).to_json()
    path = folder / "bundle.zip"
    path.write_bytes(zipped(files | {"certificate.json": written(signed)}))
    return verify_bundle(path, public_keys=[SIGNER.public_key])


def refusal(report: Report) -> str:
    assert report.outcome is Outcome.REFUSED
    (check,) = report.refusals
    assert check.name == "counts"
    return check.detail


def groups(*made: tuple[float, list[list[int]]]) -> dict[str, Any]:
    return HEAD | {"groups": [{"noise_std": std, "tables": tables} for std, tables in made]}


def stds() -> dict[tuple[int, ...], float]:
    return {tuple(table): group["noise_std"] for group in HEAD["groups"] for table in group["tables"]}


def test_counts_that_do_not_follow_are_refused(tmp_path: Path) -> None:
    held = stds()
    assert held[1, 2] < held[0, 1], "measured twice, so with less noise"
    assert with_counts(tmp_path, HEAD).outcome is Outcome.VERIFIED
    scaled = [group | {"noise_std": group["noise_std"] * 0.99} for group in HEAD["groups"]]
    assert "standard deviation" in refusal(with_counts(tmp_path, HEAD | {"groups": scaled}))
    listed = [(std, [list(columns)]) for columns, std in held.items()]
    without = [one for one in listed if one[1] != [[0]]]
    assert "every column" in refusal(with_counts(tmp_path, groups(*without)))
    turned = [(std, [[1, 0]] if tables == [[0, 1]] else tables) for std, tables in listed]
    assert "every column" in refusal(with_counts(tmp_path, groups(*turned)))
    twice = [*listed, (held[0, 1], [[0, 1]])]
    assert "every column" in refusal(with_counts(tmp_path, groups(*twice)))
    finer = refusal(with_counts(tmp_path, HEAD | {"step": HEAD["step"] / 2}))
    assert "step" in finer
    assert "as many cells" in refusal(with_counts(tmp_path, HEAD, BODY[:-4]))
    more = [
        (held[0, 1], [[one, other]])
        for one in range(len(cardinalities()))
        for other in range(one + 1, len(cardinalities()))
        if (one, other) not in held
    ]
    many = [*listed, *more, (held[0, 1], [[0, 1, 3]]), (held[0, 1], [[0, 2, 3]]), (held[0, 1], [[1, 2, 3]])]
    assert "more marginals" in refusal(with_counts(tmp_path, groups(*many)))
