"""The suite under the kernels of other processors: `python -m tests.kernels [--jobs N] [PYTEST ARGUMENTS]`.

Nothing that the project promises may depend on which kernel a processor gets. Exit status 1 if any run failed.
"""

import argparse
import os
import subprocess
import sys

from tests.kernels.settings import SETTINGS, can_run, environment


def main() -> int:
    """Run the suite once for each setting that this processor can run."""
    parser = argparse.ArgumentParser(prog="python -m tests.kernels", description=__doc__)
    parser.add_argument("--jobs", default="3", help="processes of a run")
    options, chosen = parser.parse_known_args()
    failed = []
    for name in SETTINGS:
        if not can_run(name):
            print(f"{name}: left out, this processor has no AVX-512", flush=True)
            continue
        variables = environment(name)
        print(f"{name}: {' '.join(f'{key}={value}' for key, value in variables.items())}", flush=True)
        run = [sys.executable, "-m", "pytest", "-q", "-n", options.jobs, *chosen]
        if subprocess.run(run, check=False, env=os.environ | variables).returncode:
            failed.append(name)
    print(f"failed under: {', '.join(failed)}" if failed else "passed under every setting", flush=True)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
