from pathlib import Path

import pytest

from tests.core.releases.certified import REFRESHING, certified
from tests.understudy.verifying.tampering import Bench


@pytest.fixture(params=["default", "refreshing"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A signed bundle of a plan with an anchor, or of one with label histogram, schedule and refreshes."""
    return Bench(certified({} if request.param == "default" else REFRESHING), tmp_path)
