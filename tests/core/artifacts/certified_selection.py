"""A whole signed bundle of a selection without a training: the stand-in's network, a real plan, a key of its own."""

from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from typing import Any
from uuid import UUID

from core.artifacts.bundle import Bundle, artefacts_of
from core.artifacts.certificate import make_certificate
from core.artifacts.packing import files_of, pack
from core.artifacts.readme import render_readme
from core.artifacts.selection_certificate import of_selection
from core.artifacts.selection_execution import SelectionExecuted
from core.artifacts.signing.contexts import CERTIFICATE
from core.ledger.hash_chain import Head
from core.plan.domain.table import TableDomain
from core.plan.plan import Plan
from core.plan.selections.plan import SelectionPlan
from tests.core.artifacts.certified import SIGNER, SOFTWARE, counts_for
from tests.core.artifacts.stand_in import DOMAIN, bundle, cardinalities
from tests.core.plan.shapes import Shape
from tests.core.plan.test_selection import selection_of

WINNER = 1


@cache
def selection_plan() -> SelectionPlan:
    """A plan over the stand-in's columns."""
    return selection_of(
        {"steps": 40}, {"steps": 60, "anchor": False, "acts": True, "acts_interval": 7},
        shape=Shape(cardinalities=cardinalities(), target_index=2),
    )  # fmt: skip


def grid(plan: Plan) -> dict[str, Any]:
    """The grids of a training."""
    return {
        "anchor": None if plan.anchor is None else 2.0**-20,
        "label_counts": None if plan.label_histogram is None else 1,
        "critic": [{"first_step": block.first_step, "bits_below_noise": 36} for block in plan.blocks],
        "histograms": None if plan.acts is None else 36,
    }


def selection_statement(winner: int = WINNER) -> dict[str, Any]:
    """What a publisher states of a selection that ran, but for the files."""
    plan = selection_plan()
    executed = SelectionExecuted.planned(plan, winner=winner)
    grids = {"candidates": [grid(one) for one in plan.candidates], "final": grid(plan.finals[winner])}
    final = make_certificate(
        plan=plan.finals[winner],
        executed=executed.final,
        release_id=UUID(int=4),
        job_id=UUID(int=3),
        dataset_id=UUID(int=1),
        population_id=UUID(int=2),
        issued_at=datetime(2026, 11, 20, tzinfo=UTC),
        reserved=Head(sequence=3, hash=bytes(range(32))),
        spent=Head(sequence=5, hash=bytes(reversed(range(32)))),
        domain_digest=TableDomain.from_json(DOMAIN).digest(),
        cardinalities=cardinalities(),
        noise_grid=grids["final"],
        software=SOFTWARE,
    )
    return of_selection(final, plan=plan, executed=executed, noise_grid=grids)


def sealed(stated: dict[str, Any]) -> tuple[Bundle, str]:
    """A bundle with this statement, signed, and its page."""
    final = selection_plan().finals[stated["executed"]["winner"] % 2]
    unsigned = bundle(domain=TableDomain.from_json(DOMAIN).to_json(), counts=counts_for(final))
    readme = render_readme(unsigned.manifest, certificate=stated, counts=unsigned.counts)
    whole = stated | {"artefacts": artefacts_of(files_of(unsigned, readme=readme))}
    # By the key alone: `sign_selection_certificate` refuses what is altered.
    signed = SIGNER.sign(whole, context=CERTIFICATE).to_json()
    return replace(unsigned, certificate=signed), readme


def packed(stated: dict[str, Any]) -> bytes:
    """The file of such a bundle."""
    made, readme = sealed(stated)
    return pack(made, readme=readme)


@cache
def certified_selection() -> dict[str, Any]:
    """A signed certificate."""
    return sealed(selection_statement())[0].certificate
