"""Run one peer: `python -m benchmarks.tables.peers aim|mst|swift IN.npz OUT.npz`, in the peers' own virtual environment.

IN holds `codes` (rows, columns), `cardinalities`, `rho`, `seed` and `most_megabytes`; OUT gets `codes` and `facts` (JSON).
"""

import json
import sys

import numpy as np

from benchmarks.tables.peers import aim, mst, swift

METHODS = {"aim": aim.synthesize, "mst": mst.synthesize, "swift": swift.synthesize}


def main() -> None:
    """Read, synthesize, write."""
    method, given, made = sys.argv[1:]
    asked = np.load(given)
    codes, facts = METHODS[method](
        asked["codes"].astype(np.int64),
        [int(cells) for cells in asked["cardinalities"]],
        rho=float(asked["rho"]),
        seed=int(asked["seed"]),
        most_megabytes=float(asked["most_megabytes"]),
    )
    np.savez(made, codes=codes, facts=json.dumps(facts))


if __name__ == "__main__":
    main()
