from pathlib import Path

import pytest

from tests.core.artifacts.certified import REFRESHING, certified
from tests.understudy.verifying.tampering import Bench


@pytest.fixture(params=["default", pytest.param("refreshing", marks=pytest.mark.long)])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A signed bundle of a plan with an anchor, or of one with label histogram, schedule and refreshes."""
    quick = request.param == "refreshing"
    return Bench(certified(REFRESHING if quick else {}), tmp_path, quick=quick)
