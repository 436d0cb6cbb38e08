"""Adult: train on synthetic rows, test on real ones; distances of one- and two-way counts on the public bins.

    python -m benchmarks.adult [--seeds 3] [--first-seed 0] [--epsilon 1] [--variant both|anchor|critic] [--json]
    python -m benchmarks.adult --baselines

Distances are to the training table, whose publication is measured; those to the test table stand beside them
(`test_one_way`, `test_two_way`), with those of the real training table as the floor that two samples of the same
distribution leave. Keys derive from seeds, so the output of a benchmark is NOT PRIVATE.
"""

from typing import Any

from benchmarks.datasets import Codes, Table
from benchmarks.publishing import Published, rows_of
from benchmarks.results_file import rounded
from benchmarks.runs import arguments, make_runs
from benchmarks.scoring import distances, independent, majority, train_and_test
from core.plan.domain.codec import encode

NAME = "adult"


def both_distances(table: Table, codes: Codes) -> dict[str, float]:
    """Distances to the training table, and to the test table under `test_` names."""
    cells = table.domain.cardinalities
    test = distances(codes, encode(table.domain, table.test), cells)
    return distances(codes, table.train_codes, cells) | {
        f"test_{name}": value for name, value in test.items()
    }


def score(table: Table, made: Published) -> dict[str, Any]:
    """Classifiers trained on synthetic rows and tested on real ones, and distances of counts."""
    return train_and_test(table.domain, made.rows, table.test) | both_distances(table, made.codes)


def baselines(table: Table) -> dict[str, dict[str, Any]]:
    """Real data, independent columns and the majority class."""
    codes = table.train_codes
    alone = independent(codes, seed=0)
    return {
        "real": rounded(train_and_test(table.domain, table.train, table.test) | both_distances(table, codes)),
        "real-binned": rounded(
            train_and_test(table.domain, rows_of(table.domain, codes, 0), table.test)
            | both_distances(table, codes)
        ),
        "independent": rounded(
            train_and_test(table.domain, rows_of(table.domain, alone, 0), table.test)
            | both_distances(table, alone)
        ),
        "majority": rounded(majority(table.domain, table.train, table.test)),
    }


def main() -> None:
    """Run what the command line asks for."""
    chosen = arguments(__doc__ or "", epsilons=[1.0], seeds=3).parse_args()
    make_runs(NAME, chosen, score=score, baselines=baselines)


if __name__ == "__main__":
    main()
