"""Sampling cannot open private rows: it has the bundle and nothing else."""

import subprocess
import sys
from pathlib import Path

from tests.privacy.leaks.stage import Stage

OPENERS = ("core.data.private_rows", "workers", "models", "torch")


def draw(stage: Stage) -> bytes:
    answer = stage.world.admin.get(f"/v1/releases/{stage.ids['release_id']}/samples", params={"rows": 40})
    assert answer.status_code == 200, answer.text
    return answer.content


def test_samples_are_drawn_when_the_rows_are_gone(played):
    """The stage ends with the deletion of the dataset: keys and sealed rows are destroyed, releases stay."""
    stage = played["neighbour"].stage
    view = stage.world.admin.get(f"/v1/datasets/{stage.ids['dataset_id']}").json()
    assert view["state"] == "deleted"
    assert not [found.key for found in stage.world.store.list(f"datasets/{stage.ids['dataset_id']}")]
    assert draw(stage).count(b"\n") == 41


def loaded_by(what: str) -> str:
    """Which of the openers a fresh process has loaded."""
    script = f"import sys; import {what}; print([name for name in {OPENERS} if name in sys.modules])"
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return told.stdout.strip()


def test_what_serves_samples_loads_nothing_that_opens_rows():
    assert loaded_by("service.app, core.artifacts.sampling.samples") == "[]"


def test_loading_it_would_be_noticed():
    assert loaded_by("core.data.private_rows") == "['core.data.private_rows']"
