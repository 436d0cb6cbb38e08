"""The code blocks of the documentation that install, each in a new environment in a clone of the last commit."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.code_blocks import ROOT, Block, weekly_blocks
from tests.docs.stage import run_shell

pytestmark = [pytest.mark.system, pytest.mark.long, pytest.mark.timeout(2 * 3600)]

MOST_SECONDS = 5400.0
"""Limit of one block: that of README.md installs everything and runs all daily tests."""
KEPT = ("HOME", "PATH", "LANG", "UNDERSTUDY_DATA")
WRITE = "from pathlib import Path; from understudy.simulation import write_table; write_table(Path('.'), rows=600)"
(README,) = weekly_blocks("README.md", __name__)
EVERYTHING, DEMO, UVX, CLIENT = weekly_blocks("docs/start.md", __name__)
(GRAPHICAL,) = weekly_blocks("docs/mechanisms/graphical.md", __name__)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    if not (ROOT / ".git").exists():
        pytest.skip("only a clone can be cloned")
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", ROOT, tmp_path / "clone"], check=True)
    return tmp_path / "clone"


def newcomer() -> dict[str, str]:
    """Return the environment variables of a new shell: nothing of this installation but where pip finds packages."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("PIP_")}
    here = str(Path(sys.executable).parent)
    kept["PATH"] = os.pathsep.join(one for one in kept["PATH"].split(os.pathsep) if one != here)
    return kept


def run(block: Block, clone: Path, before: str = "", after: str = "") -> str:
    """Run a block, with commands before and after it in the same shell. Return their standard output."""
    text = f"{before}\n{block.text}\n{after}"
    return run_shell(text, block.place, clone, newcomer(), seconds=MOST_SECONDS)


def test_the_two_commands_of_the_readme(clone: Path) -> None:
    said = run(README, clone)
    assert " passed" in said
    for name in ("synthetic.csv", "bundle.zip", "certificate.json"):
        assert (clone / "understudy-demo" / name).stat().st_size > 0


def test_the_demonstration_leaves_what_its_page_lists(clone: Path) -> None:
    run(DEMO, clone)
    table = DEMO.page.read_text().partition("| file | what it is |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)
    assert "certificate.json" in listed
    assert not [name for name in listed if not (clone / "understudy-demo" / name).exists()]


def test_the_demonstration_runs_by_uvx_from_a_clone(clone: Path) -> None:
    # uv reads none of pip's settings: the folder of wheels, where a machine may have the CPU build of torch, and the certificates.
    settings = (
        "export UV_FIND_LINKS=${PIP_FIND_LINKS-}; [ -z ${PIP_CERT-} ] || export SSL_CERT_FILE=$PIP_CERT"
    )
    run(
        UVX,
        clone,
        before=f"python3 -m venv uv; uv/bin/pip install --quiet uv; PATH=$PWD/uv/bin:$PATH; {settings}",
    )
    assert (clone / "understudy-demo" / "bundle.zip").stat().st_size > 0


def test_an_installation_of_everything_publishes(clone: Path) -> None:
    publish = (
        "understudy publish rows.csv --domain domain.json --epsilon 1 --delta 1e-6 --rows 50 --out folder"
    )
    run(EVERYTHING, clone, after=f"python -c {shlex.quote(WRITE)}\n{publish} --data-folder own")
    assert len((clone / "folder" / "synthetic.csv").read_text().splitlines()) == 51


def test_an_installation_of_the_client_has_no_torch(clone: Path) -> None:
    said = run(CLIENT, clone, after="venv/bin/pip list --format=freeze")
    assert "Usage: understudy" in said
    assert "typer==" in said
    assert "torch==" not in said


def test_an_installation_for_graphical_models_has_them(clone: Path) -> None:
    imported = "import mbi, torch, models.graphical; print('imported', mbi.__name__)"
    said = run(
        GRAPHICAL,
        clone,
        before="python3 -m venv venv; . venv/bin/activate",
        after=f'python -c "{imported}"',
    )
    assert "imported mbi" in said
