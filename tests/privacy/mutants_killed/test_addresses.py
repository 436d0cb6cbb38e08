"""An address of the keyed stream serves one draw: noise that is used twice hides nothing."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from models.graphical.synthesizer import GraphicalSynthesizer
from models.idpgan.synthesizer import IdpganSynthesizer
from models.images.anchor import noisy_image_moments
from models.randomness import KeystreamReader, Purpose
from models.releases import NullRecorder
from models.reports import public_side
from models.reports.utility import noisy_terms
from models.selection import scoring
from models.selection.selecting import Selection
from models.synthesizer import NullHost
from tests.models.boards import MemoryBoard
from tests.models.classifier import test_averaging, test_federation, test_private_training
from tests.models.coded_tables import small_table, streams
from tests.models.graphical.jobs import plan_for as graphical_plan
from tests.models.idpgan.image_jobs import domain as image_domain
from tests.models.idpgan.image_jobs import image_plan, small_images
from tests.models.idpgan.jobs import small_plan
from tests.models.images.pictures import small_plan as cells_plan
from tests.models.reports.sides import public_side_of, report_plan
from tests.models.selection.jobs import small_selection
from tests.models.tables import test_count_rounds, test_reuse
from tests.privacy.test_replay import OPTIONS, plan_for
from tests.privacy.whole_job import csv_of, declared, run, table_of

STEPS = {"POISSON", "RECORD_CHOICE", "GRADIENT_NOISE"}
OF_IMAGES = {"IMAGE_BRIGHTNESS_NOISE", "IMAGE_MEANS_NOISE", "IMAGE_BASIS_NOISE", "IMAGE_MOMENTS_NOISE"}
OF_MARGINALS = {"ONE_WAY_NOISE", "SCORE_NOISE", "MARGINAL_NOISE"}


def of_tables(**options: Any) -> None:
    rows = small_table()
    IdpganSynthesizer().fit(rows, small_plan(rows, **options), streams(), NullHost())


def of_images(*, labelled: bool = True, **options: Any) -> None:
    plan = image_plan(image_domain(labelled=labelled), **options)
    IdpganSynthesizer().fit(small_images(labelled=labelled), plan, streams(), NullHost())


def of_cells() -> None:
    noisy_image_moments(small_images(), cells_plan(rounds=3), streams())


def of_marginals(engine: str) -> None:
    rows = small_table()
    GraphicalSynthesizer().fit(rows, graphical_plan(rows, engine), streams(), NullHost())


def of_classifiers(name: str) -> None:
    test_private_training.trained(name, test_private_training.records_of(name))


def of_owners() -> None:
    test_averaging.trained("table", test_averaging.parts_of("table"))


def of_members() -> None:
    test_federation.both(MemoryBoard(2))


def of_members_counts() -> None:
    test_count_rounds.together(MemoryBoard(len(test_count_rounds.SIZES)))


def of_a_selection() -> None:
    rows = small_table()
    Selection(rows, small_selection(rows), streams(), NullHost()).run()


def of_checked_bounds(folder: Path) -> None:
    domain = declared(target=True, by_person=False, wide=True)
    plan = plan_for(domain, OPTIONS["anchor only"], epsilon=30.0, checks=True)
    rows = csv_of(table_of(150, by_person=False))
    run(rows, domain, plan, NullRecorder(), folder=folder / "job", export=False)


def of_a_learnt_domain(folder: Path, *, bound: str | None = None, **options: Any) -> None:
    by_person = bound is not None
    domain = declared(target=True, by_person=by_person, bound=bound, learnt=True)
    plan = plan_for(domain, OPTIONS["anchor only"] | options, epsilon=30.0)
    rows = csv_of(table_of(150, by_person=by_person))
    run(rows, domain, plan, NullRecorder(), folder=folder / "job", export=False)


def of_a_report() -> None:
    table = small_table()
    noisy_terms(table, public_side_of(table), report_plan(), streams())


def of_reused_counts() -> None:
    """The earlier release was measured with a key of its own."""
    table, first = test_reuse.TABLE, test_reuse.plan_of()
    earlier = test_reuse.counts_of(table, first, 1)
    plan = test_reuse.reusing(table, test_reuse.plan_of(), (first, earlier))
    assert plan.reused
    IdpganSynthesizer(earlier=[earlier]).fit(table, plan, streams(2), NullHost())


JOBS: dict[str, tuple[Any, set[str]]] = {
    "anchor": (lambda _: of_tables(critic=False), {"ANCHOR_NOISE"}),
    "anchor, screening and clusters": (
        lambda _: of_tables(anchor_screening_share=0.2, acts=True, grouping="rows", weight_clusters=True),
        {"ANCHOR_NOISE", "ACTS_NOISE", *STEPS},
    ),
    "label histogram, critic and adaptive thresholds": (
        lambda _: of_tables(anchor=False, acts=True, acts_interval=3, grouping="layers"),
        {"LABEL_NOISE", "ACTS_NOISE", *STEPS},
    ),
    "checks of declared bounds": (of_checked_bounds, {"LEARNING_NOISE", "ANCHOR_NOISE"}),
    "learnt domain": (of_a_learnt_domain, {"LEARNING_NOISE", "ANCHOR_NOISE"}),
    "learnt domain and a learnt bound on records": (
        lambda folder: of_a_learnt_domain(folder, bound="learn"),
        {"LEARNING_NOISE", "ANCHOR_NOISE"},
    ),
    "utility report": (lambda _: of_a_report(), {"REPORT_NOISE"}),
    "counts of an earlier release": (lambda _: of_reused_counts(), {"ANCHOR_NOISE"}),
    "images": (lambda _: of_images(), OF_IMAGES | STEPS),
    "images of several cells": (
        lambda _: of_cells(),
        {"IMAGE_CELLS_NOISE", *OF_IMAGES},
    ),
    "images without labels": (lambda _: of_images(labelled=False), OF_IMAGES | STEPS),
    "images, critic alone": (lambda _: of_images(anchor=False), {"LABEL_NOISE", *STEPS}),
    "aim": (lambda _: of_marginals("aim"), OF_MARGINALS),
    "mst": (lambda _: of_marginals("mst"), OF_MARGINALS),
    "classifier of components": (lambda _: of_classifiers("components"), {"MODEL_COMPONENTS_NOISE", *STEPS}),
    "classifier with held-out units": (
        lambda _: of_classifiers("accuracy"),
        {"MODEL_ACCURACY_NOISE", *STEPS},
    ),
    "classifier of convolutions": (lambda _: of_classifiers("cnn"), STEPS),
    "owners in one service": (lambda _: of_owners(), STEPS),
    "members that train": (lambda _: of_members(), STEPS),
    "members that count": (lambda _: of_members_counts(), {"ANCHOR_NOISE"}),
    "selection": (lambda _: of_a_selection(), {"ANCHOR_NOISE", "LABEL_NOISE", "SELECTION_CHOICE", *STEPS}),
}
PUBLIC = {"CRITIC_INIT", "GENERATOR_INIT", "PRETRAINING"}
"""What members of a federation draw from a key that everybody can compute."""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoring, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(scoring, "TREES", 5)
    monkeypatch.setattr(public_side, "TREES", 2)


@pytest.mark.parametrize("job", JOBS)
def test_no_two_draws_of_a_job_share_an_address(
    job: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    opened: Counter[tuple[bytes, bytes]] = Counter()
    begin = KeystreamReader.__init__

    def noting(reader: KeystreamReader, key: bytes, nonce: bytes) -> None:
        opened[key, nonce] += 1
        begin(reader, key, nonce)

    # Every stream is opened here: of a job, of each training of a selection, and of each round of a federation.
    monkeypatch.setattr(KeystreamReader, "__init__", noting)
    make, expected = JOBS[job]
    make(tmp_path)
    used = Counter({(key, *_address(nonce)): times for (key, nonce), times in opened.items()})
    # Ties of coins and redraws continue their stream by opening it again; they come once in 2^40 words.
    shared = {(purpose, step) for (_, purpose, step), times in used.items() if times > 1}
    if job.startswith("members"):
        shared = {address for address in shared if address[0] not in PUBLIC}
    assert shared == set()
    assert {purpose for _, purpose, _ in used} >= expected


def _address(nonce: bytes) -> tuple[str, int]:
    return Purpose(int.from_bytes(nonce[:4], "little")).name, int.from_bytes(nonce[4:], "little")
