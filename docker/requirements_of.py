# noqa: INP001 - a script that runs alone inside the build of an image
"""Print what one role needs, one requirement a line: `python requirements_of.py pyproject.toml service`.

The Dockerfiles install exactly an extra of pyproject.toml, so an image and its extra cannot drift apart.
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text())["project"]
sys.stdout.write("\n".join(project["optional-dependencies"][sys.argv[2]]) + "\n")
