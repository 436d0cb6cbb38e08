"""Simulated hospital admissions: NO REAL PEOPLE, every value is drawn from the formulas in this file.

The table is for demonstrations and tests, so its truth is known by construction:

* age, sex, department and season drive the diagnosis group; the group and age drive severity;
* severity and emergency drive length of stay, the creatinine value and the cost;
* ``readmitted`` is a coin with the log-odds of `readmission_log_odds`, so the best possible AUROC is known too
  (`best_auroc`);
* creatinine is missing where it was not measured, more often for mild elective cases; a fifth of the short elective
  stays cost exactly zero (a spike, declared as a special value).

``python -m understudy.simulation FOLDER --rows N`` writes ``rows.csv`` and ``domain.json``.
"""

# ruff: noqa: PLR2004 - the numbers are the distribution of the simulation; naming each would hide the formulas

import argparse
import csv
import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOTE = "Simulated hospital admissions: no real people, every value is drawn from formulas in understudy/simulation.py."
DEFAULT_ROWS = 50_000
DEFAULT_SEED = 20_200_101
SEXES = ("female", "male")
DEPARTMENTS = ("internal medicine", "surgery", "cardiology", "neurology", "geriatrics", "obstetrics")
DIAGNOSES = ("circulatory", "respiratory", "digestive", "injury", "cancer", "nervous system", "childbirth", "other")  # fmt: skip
SEVERITIES = ("minor", "moderate", "major", "extreme")
INSURANCES = ("public", "private", "none")
CREATININE_EDGES = (0.2, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 3.0, 5.0, 12.0)
COST_EDGES = (0, 250, 500, 750, 1000, 1500, 2000, 3000, 4000, 6000, 8000, 12000, 20000, 40000, 100_000.0)
FIRST_DAY = dt.date(2020, 1, 1)
DAYS = 366
LONGEST_STAY = 60
HIGHEST_COST, HIGHEST_CREATININE = COST_EDGES[-1], CREATININE_EDGES[-1]

# Positions in the tuples above, where the distribution singles one out.
SURGERY, GERIATRICS, OBSTETRICS = 1, 4, 5
CIRCULATORY, CANCER = 0, 4

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

# Log-weights of a diagnosis (column) in a department (row): what a department is for.
_BY_DEPARTMENT = np.array(
    [
        [1.0, 1.2, 1.4, -1.0, 0.3, 0.0, -6.0, 0.8],
        [-0.5, -1.0, 1.3, 1.6, 0.9, -1.0, -6.0, 0.3],
        [2.6, 0.2, -2.0, -3.0, -3.0, -1.5, -6.0, -1.0],
        [0.6, -2.0, -2.0, 0.2, 0.0, 2.6, -6.0, -1.0],
        [1.3, 1.2, 0.3, 0.8, 0.4, 0.9, -6.0, 0.7],
        [-3.0, -3.0, -2.0, -3.0, -2.0, -3.0, 3.5, -0.5],
    ]
)


@dataclass(frozen=True, slots=True)
class Admissions:
    """Simulated rows, column by column, as codes and numbers.

    Attributes:
        age: years.
        sex: position in SEXES.
        insurance: position in INSURANCES.
        department: position in DEPARTMENTS.
        admitted: days after FIRST_DAY.
        emergency: whether it was one.
        diagnosis: position in DIAGNOSES.
        severity: position in SEVERITIES.
        stay: nights.
        prior: admissions in the year before.
        creatinine: mg/dl, NaN where not measured.
        cost: euros, exactly 0 in the spike.
        readmitted: within 30 days.
        log_odds: of readmission, known by construction; not a column of the table.
    """

    age: Codes
    sex: Codes
    insurance: Codes
    department: Codes
    admitted: Codes
    emergency: NDArray[np.bool_]
    diagnosis: Codes
    severity: Codes
    stay: Codes
    prior: Codes
    creatinine: Floats
    cost: Floats
    readmitted: NDArray[np.bool_]
    log_odds: Floats


def simulate(rows: int = DEFAULT_ROWS, *, seed: int = DEFAULT_SEED) -> Admissions:
    """Draw the table. The same seed gives the same table; its people are fictitious, so nothing needs protection."""
    rng = np.random.default_rng(seed)
    sex = (rng.random(rows) < 0.48).astype(np.int64)
    department = rng.choice(len(DEPARTMENTS), size=rows, p=[0.27, 0.25, 0.15, 0.11, 0.12, 0.10])
    sex[department == OBSTETRICS] = 0
    age = _ages(rng, department)
    insurance = _choose(rng, np.stack([np.full(rows, 1.5), 0.015 * age - 0.8, -0.02 * age - 0.3], axis=1))
    admitted = rng.integers(0, DAYS, size=rows)
    winter = np.cos(2 * np.pi * admitted / DAYS)
    emergency = rng.random(rows) < _sigmoid(
        -0.9 + 0.018 * (age - 40) + 0.4 * winter - 1.2 * (department == OBSTETRICS)
    )
    weights = _BY_DEPARTMENT[department].copy()
    weights[:, 0] += 0.03 * (age - 60)
    weights[:, 1] += 0.8 * winter
    weights[:, 3] += 0.5 * emergency - 0.015 * (age - 40)
    weights[:, 4] += 0.02 * (age - 60)
    diagnosis = _choose(rng, weights)
    burden = (
        0.035 * (age - 55) + 0.7 * emergency + 0.8 * (diagnosis == CANCER) + 0.5 * (diagnosis == CIRCULATORY)
    )
    severity = np.digitize(burden + rng.logistic(size=rows), [0.4, 1.9, 3.3])
    stay = 1 + rng.negative_binomial(1.6, 1 / (1 + (1.0 + 1.7 * severity + 0.02 * age) / 1.6))
    stay = np.minimum(stay, LONGEST_STAY)
    prior = np.minimum(rng.poisson(np.exp(-1.6 + 0.45 * severity + 0.008 * age)), 12)
    creatinine = np.exp(
        -0.15 + 0.006 * (age - 50) + 0.12 * sex + 0.16 * severity + 0.22 * rng.standard_normal(rows)
    )
    creatinine = np.clip(np.round(creatinine, 2), 0.2, HIGHEST_CREATININE)
    creatinine[rng.random(rows) > _sigmoid(0.6 + 0.9 * severity + 1.1 * emergency)] = np.nan
    cost = np.exp(
        6.2 + 0.85 * np.log(stay) + 0.25 * severity + 0.35 * (department == SURGERY)
    ) * rng.lognormal(0.0, 0.3, rows)
    cost = np.minimum(np.round(cost, 2), HIGHEST_COST)
    cost[(stay <= 2) & ~emergency & (rng.random(rows) < 0.2)] = 0.0
    log_odds = readmission_log_odds(age, severity, prior, emergency, stay, np.isnan(creatinine))
    return Admissions(
        age=age,
        sex=sex,
        insurance=insurance,
        department=department,
        admitted=admitted,
        emergency=emergency,
        diagnosis=diagnosis,
        severity=severity,
        stay=stay,
        prior=prior,
        creatinine=creatinine,
        cost=cost,
        readmitted=rng.random(rows) < _sigmoid(log_odds),
        log_odds=log_odds,
    )


def readmission_log_odds(
    age: Codes,
    severity: Codes,
    prior: Codes,
    emergency: NDArray[np.bool_],
    stay: Codes,
    unmeasured: NDArray[np.bool_],
) -> Floats:
    """The distribution of the target: log-odds of readmission, all arrays of one length."""
    base = -3.4 + 0.018 * (age - 50) + 0.55 * severity + 0.75 * np.minimum(prior, 4)
    return np.asarray(base + 0.5 * emergency + 0.03 * np.minimum(stay, 20) - 0.4 * unmeasured)


def best_auroc(table: Admissions) -> float:
    """The AUROC of the true log-odds: no classifier does better on average (rank formula of Mann and Whitney)."""
    ranks = np.empty(len(table.log_odds))
    ranks[np.argsort(table.log_odds, kind="stable")] = np.arange(1, len(ranks) + 1)
    positives = int(table.readmitted.sum())
    negatives = len(ranks) - positives
    return float((ranks[table.readmitted].sum() - positives * (positives + 1) / 2) / (positives * negatives))


def _ages(rng: np.random.Generator, department: Codes) -> Codes:
    centre = np.array([62.0, 52.0, 66.0, 58.0, 81.0, 31.0])[department]
    spread = np.array([17.0, 20.0, 13.0, 18.0, 7.0, 5.5])[department]
    age = np.round(centre + spread * rng.standard_normal(len(department))).astype(np.int64)
    lowest = np.where(department == OBSTETRICS, 16, np.where(department == GERIATRICS, 65, 18))
    return np.asarray(np.clip(age, lowest, np.where(department == OBSTETRICS, 50, 100)))


def _choose(rng: np.random.Generator, log_weights: Floats) -> Codes:
    """Draw one column per row with the given log-weights (rows, choices): the Gumbel trick."""
    return np.asarray(np.argmax(log_weights + rng.gumbel(size=log_weights.shape), axis=1))


def _sigmoid(log_odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def domain_document(declared_size: int) -> dict[str, Any]:
    """Return the declared domain of the table; ``declared_size`` is public and read by ``understudy publish``."""
    last_day = FIRST_DAY + dt.timedelta(days=DAYS - 1)
    return {
        "schema": "understudy.domain/1",
        "declared_size": declared_size,
        "target": "readmitted",
        "privacy_unit": None,
        "columns": [
            _integer("age", 16, 100),
            _labels("sex", SEXES),
            _labels("insurance", INSURANCES),
            _labels("department", DEPARTMENTS),
            {
                "name": "admitted",
                "kind": "date",
                "lower": FIRST_DAY.isoformat(),
                "upper": last_day.isoformat(),
                "resolution": "day",
            },
            {"name": "emergency", "kind": "boolean", "true": "yes", "false": "no"},
            _labels("diagnosis", DIAGNOSES),
            {"name": "severity", "kind": "ordinal", "levels": list(SEVERITIES)},
            _integer(
                "stay",
                1,
                LONGEST_STAY,
                edges=[1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 21, 28, 40, LONGEST_STAY],
            ),
            _integer("prior", 0, 12),
            {
                "name": "creatinine",
                "kind": "numeric",
                "type": "real",
                "lower": 0.2,
                "upper": HIGHEST_CREATININE,
                "edges": list(CREATININE_EDGES),
                "decimals": 2,
                "null": "category",
            },
            {
                "name": "cost",
                "kind": "numeric",
                "type": "real",
                "lower": 0,
                "upper": HIGHEST_COST,
                "specials": [0],
                "edges": list(COST_EDGES),
                "decimals": 2,
            },
            {"name": "readmitted", "kind": "boolean", "true": "yes", "false": "no"},
        ],
    }


def _integer(name: str, lower: int, upper: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {"name": name, "kind": "numeric", "type": "integer", "lower": lower, "upper": upper} | more


def _labels(name: str, categories: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "kind": "categorical", "categories": list(categories)}


def write_table(folder: Path, *, rows: int = DEFAULT_ROWS, seed: int = DEFAULT_SEED) -> tuple[Path, Path]:
    """Write ``rows.csv`` and ``domain.json`` into a folder, which is made if missing, and return the two files."""
    folder.mkdir(parents=True, exist_ok=True)
    table = simulate(rows, seed=seed)
    days = [(FIRST_DAY + dt.timedelta(days=day)).isoformat() for day in range(DAYS)]
    columns: dict[str, list[Any]] = {
        "age": table.age.tolist(),
        "sex": [SEXES[code] for code in table.sex],
        "insurance": [INSURANCES[code] for code in table.insurance],
        "department": [DEPARTMENTS[code] for code in table.department],
        "admitted": [days[day] for day in table.admitted],
        "emergency": _yes_no(table.emergency),
        "diagnosis": [DIAGNOSES[code] for code in table.diagnosis],
        "severity": [SEVERITIES[code] for code in table.severity],
        "stay": table.stay.tolist(),
        "prior": table.prior.tolist(),
        "creatinine": ["" if np.isnan(value) else f"{value:.2f}" for value in table.creatinine],
        "cost": [f"{value:.2f}" for value in table.cost],
        "readmitted": _yes_no(table.readmitted),
    }
    rows_file, domain_file = folder / "rows.csv", folder / "domain.json"
    with rows_file.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    domain_file.write_text(json.dumps(domain_document(rows), indent=2) + "\n")
    return rows_file, domain_file


def _yes_no(flags: NDArray[np.bool_]) -> list[str]:
    return ["yes" if flag else "no" for flag in flags]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the table to a folder."""
    parser = argparse.ArgumentParser(description=NOTE)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=DEFAULT_ROWS)
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED)
    options = parser.parse_args(arguments)
    rows_file, domain_file = write_table(options.folder, rows=options.rows, seed=options.seed)
    print(NOTE)
    print(f"{rows_file}\n{domain_file}")


if __name__ == "__main__":
    main()
