"""Products in the caller's own process round every record alike, as those in a training child do."""

import os
import subprocess
import sys

import pytest

from workers.child import child_environment

PRODUCT = """
import os, torch
{first}
from understudy.local.training import arithmetic
record = torch.arange(1.0, 10.0, dtype=torch.float64).sin().expand(128, -1).contiguous()
products = [record @ torch.linspace(-1, 1, 9 * width, dtype=torch.float64).reshape(9, width) for width in (3, 5, 7, 9, 17)]
print(os.environ.get("MKL_CBWR"), all(bool((made == made[:1]).all()) for made in products))
"""


def printed(first: str = "") -> str:
    found = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    command = [sys.executable, "-c", PRODUCT.format(first=first)]
    return subprocess.run(command, env=found, capture_output=True, text=True, check=True).stdout.strip()


def test_a_record_is_rounded_alike_at_every_place() -> None:
    assert printed() == f"{child_environment({}, threads=1)['MKL_CBWR']} True"


@pytest.mark.long
def test_a_setting_of_the_callers_stays() -> None:
    assert printed('os.environ["MKL_CBWR"] = "COMPATIBLE"') == "COMPATIBLE True"
