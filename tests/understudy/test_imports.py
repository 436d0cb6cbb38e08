"""What the package and the command import before they are asked to do anything, in processes of their own."""

import subprocess
import sys

import pytest

import understudy

HELP = """
import sys
from understudy.cli import main
sys.argv = ["understudy", *{words!r}]
try:
    main()
finally:
    print(*({heavy!r} & set(sys.modules)), file=sys.stderr)
"""
HEAVY = {"httpx", "asyncio", "understudy.async_client", "numpy", "torch", "pyarrow", "cryptography"}


@pytest.mark.parametrize(
    "words", [["--help"], ["publish", "--help"], ["dummy", "--help"], ["people", "--help"]]
)
def test_help_imports_no_http(words: list[str]) -> None:
    program = HELP.format(words=words, heavy=HEAVY)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    assert not done.stderr.split()


def test_the_package_alone_imports_nothing_of_its_own() -> None:
    program = (
        "import sys, understudy; print(*(name for name in sys.modules if name.startswith('understudy.')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_every_name_is_there_when_it_is_asked_for_and_scikit_learn_is_not_imported_for_its_tags() -> None:
    program = (
        "import sys; from understudy import Synthesizer; Synthesizer(); print('sklearn' in sys.modules)\n"
        "from understudy import *; import understudy;"
        "print(*(name for name in understudy.__all__ if globals()[name] is not getattr(understudy, name)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    assert set(understudy.__all__) <= set(dir(understudy))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = understudy.nothing  # type: ignore[attr-defined]
