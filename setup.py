"""What building the package adds to `pyproject.toml`: files that are made from others and are not in git."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# A front end builds in a process of its own, which does not look here for modules.
sys.path.insert(0, str(Path(__file__).parent))


class BuildPackage(build_py):
    """Writes the synchronous client and the schemas before the package's files are collected."""

    def run(self) -> None:
        """Write them, then do what setuptools does."""
        # Not above: questions about the package are answered before what it needs to be built is there.
        from docs.package_files import package_files, write_files

        write_files(package_files())
        super().run()


setup(cmdclass={"build_py": BuildPackage})
