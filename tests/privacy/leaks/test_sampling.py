"""Sampling cannot open private rows: it has the bundle and nothing else."""

import subprocess
import sys
from pathlib import Path

from tests.privacy.leaks.stage import Stage
from tests.workers.support import environment_of

OPENERS = ("core.storage.private_rows", "workers", "models", "torch")


def draw(stage: Stage) -> bytes:
    answer = stage.world.analyst.get(f"/v1/releases/{stage.ids['release_id']}/samples", params={"rows": 40})
    assert answer.status_code == 200, answer.text
    return answer.content


def test_samples_are_drawn_when_the_rows_are_gone(played):
    """The stage ends with the deletion of the dataset: keys and sealed rows are destroyed, releases stay."""
    stage = played["neighbour"].stage
    view = stage.world.admin.get(f"/v1/datasets/{stage.ids['dataset_id']}").json()
    assert view["state"] == "deleted"
    assert not [found.key for found in stage.world.store.list("datasets")]
    assert draw(stage).count(b"\n") == 41


def test_what_serves_samples_loads_nothing_that_opens_rows():
    loaded = f"[name for name in {OPENERS} if name in sys.modules]"
    script = f"import sys; import service.app, core.releases.sampler; print({loaded})"
    told = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert told.stdout.strip() == "[]"


def test_loading_it_would_be_noticed(settings):
    script = "import sys; import workers.runner; print('core.storage.private_rows' in sys.modules)"
    told = subprocess.run(
        [sys.executable, "-c", script],
        env=environment_of(settings),
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert told.stdout.strip() == "True"
