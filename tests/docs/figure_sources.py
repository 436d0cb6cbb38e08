"""Where the figures of pages that are written by hand come from."""

import json
import re
from typing import Any

from benchmarks.images.published import ACCURACY
from benchmarks.results_file import RESULTS
from docs.half_hour import half_hour
from docs.peer_figures import summary

SOURCES = {
    "asking.md": ("linear_predictor",),
    "idpgan.md": ("images", "ablation", "adult", "degenerate", "parity", "poker", "repeated_values"),
    "rules-study.md": (
        "learnt_bounds",
        "rules_study",
        "critic_seeds",
        "adult",
        "cost",
        "expected_error",
        "by_class",
        "repeated_values",
        "poker",
        "ordered_columns",
        "summed_columns",
    ),
    "reports.md": ("charged",),
    "gpu.md": ("images", "gpu_step"),
    "comparison.md": ("images",),
    "domain.md": ("column_differences", "date_patterns", "ordered_columns", "summed_columns", "wide_bounds"),
    "mechanisms/baselines.md": ("images",),
    "choosing-epsilon.md": ("images", "adult", "audits/attacks"),
    "mechanisms/accounting.md": ("accounting",),
    "mechanisms/filters.md": ("accounting",),
}
"""Files of `benchmarks/results` whose numbers a page repeats; any number of theirs will do."""

LIMITS = {
    "asking.md": {"95 %": "core.artifacts.asking.estimates:CONFIDENCE", "64 MiB": "core.artifacts.counts:MOST_BYTES"},
    "certificate.md": {"2 %": "understudy.verifying.accounting:PESSIMISM"},
    "client.md": {"95 %": "core.artifacts.asking.estimates:CONFIDENCE"},
    "dashboard.md": {"16 MiB": "Settings:upload_part_bytes", "100 KB": "tests.dashboard.test_browser:MOST_BYTES"},
    "decisions/authentication.md": {"30 minutes": "Settings:session_idle_seconds", "12 hours": "Settings:session_seconds"},
    "decisions/completion-times.md": {"10 s": "Settings:completion_seconds"},
    "decisions/embedded-servers.md": {
        "0.5 s": "understudy.embedded.supervisor:FIRST_DELAY_SECONDS",
        "30 s": "understudy.embedded.supervisor:LONGEST_DELAY_SECONDS",
    },
    "decisions/event-streams.md": {
        "15 seconds": "service.edge.watching:RECHECK_SECONDS",
        "2 seconds": "core.platform.access.recent:RECENT_SECONDS",
        "30 seconds": "service.edge.watching:UNCHECKED_SECONDS",
        "60 seconds": "service.jobs.event_stream:STUCK_SECONDS",
    },
    "decisions/owner-reports.md": {"256 KiB": "core.artifacts.reports.owner_files:STEP_BYTES"},
    "decisions/checked-bounds.md": {
        "1 %": "core.plan.crowding:LARGEST_SHARE",
        "3 %": "core.plan.crowding:LARGEST_SHARE_OF_ALL",
    },
    "decisions/learnt-domains.md": {
        "2 %": "core.plan.learning:FIRST_SHARE",
        "5 %": "core.plan.learning:LARGEST_SHARE",
    },
    "domain.md": {
        "1 %": "core.plan.crowding:LARGEST_SHARE",
        "3 %": "understudy.drafts.bin_costs:TOLERATED_SIGN",
        "15 %": "understudy.drafts.bin_costs:TOLERATED_SHIFT",
        "99.5 %": "understudy.drafts.numbers:_SHARE_OF_MULTIPLES",
        "99 %": "understudy.drafts.differences:IN_ORDER",
        "80 %": "understudy.drafts.durations:WORTH_A_NOTE",
        "16 times": "core.plan.domain.rules.keeping:PASSES",
        "95 %": "core.artifacts.asking.estimates:CONFIDENCE",
        "2 %": "core.plan.learning:FIRST_SHARE",
        "5 %": "core.plan.learning:LARGEST_SHARE",
    },
    "mechanisms/learning.md": {
        "1 %": "core.plan.crowding:LARGEST_SHARE",
        "3 %": "core.plan.crowding:LARGEST_SHARE_OF_ALL",
        "2 %": "core.plan.learning:FIRST_SHARE",
        "5 %": "core.plan.learning:LARGEST_SHARE",
    },
    "drill.md": {"20 s": "core.jobs.queue:SILENCE_SECONDS"},
    "idpgan.md": {"2 %": "models.generator_check:LEAST_SPREAD", "0.2 %": "models.generator_check:CONSTANT"},
    "images.md": {
        "5 s": "core.data.intake.image_child:IMAGE_CPU_SECONDS",
        "2 MiB": "core.data.intake.unpacking:IntakeLimits.max_image_bytes",
        "200 times": "core.data.intake.unpacking:IntakeLimits.max_ratio",
        "512 MiB": "core.data.intake.image_child:_MEMORY_BYTES",
    },
    "mechanisms/labels.md": {"2 %": "core.plan.defaults:LABEL_SHARE"},
    "operations.md": {
        "1.2 s": "service.health:ANSWER_SECONDS",
        "2 s": "core.db.hanging:PATIENCE_SECONDS",
        "4 s": "core.db.hanging:CONNECT_SECONDS",
        "45 s": "core.db.session:STATEMENT_SECONDS",
        "1 h": "core.db.session:UPKEEP_STATEMENT_SECONDS",
        "1 GB": "service.diagnosis.examination:FULL_BYTES",
        "10 GB": "service.diagnosis.examination:LOW_BYTES",
        "90 s": "core.platform.health.signs:SILENT_SECONDS",
        "15 minutes": "service.diagnosis.examination:STUCK",
        "5 s": "service.diagnosis.examination:SKEW",
    },
    "sign-in.md": {"30 minutes": "Settings:session_idle_seconds", "12 hours": "Settings:session_seconds"},
    "reports.md": {"256 KiB": "core.artifacts.reports.owner_files:STEP_BYTES"},
    "rules-study.md": {"4 times": "core.plan.defaults:CAP_FACTOR", "0.12 times": "core.plan.images.anchor:CELL_NORM"},
    "threat-model.md": {"72 hours": "Settings:recovery_hold_hours"},
    "tutorials/admin.md": {"72 hours": "Settings:recovery_hold_hours"},
}  # fmt: skip
"""Constants of the code as `module:NAME`, and defaults of settings."""

_OF_EXPECTED = "expected over measured errors of the result file; test_rules_study.py computes it"
_BY_FORMULA = "follows from the formula on the page; test_choosing_epsilon.py computes it"
_PLANNED = "a price of the planner; test_planned_tables.py computes it"
_PRINTED = "printed in the paper that the page cites"
_CONFIDENCE = "the confidence of an interval"
DERIVED = {
    "certificate.md": {"0.035 score": "said beside LARGEST_LOSS in understudy/verifying/loss.py"},
    "choosing-epsilon.md": dict.fromkeys(
        ("50 %", "1 %", "2.7 %", "52.5 %", "7.0 %", "88.1 %", "98.3 %", "35.6 %", "99.996 %", "99.6 %"), _BY_FORMULA
    ),
    "decisions/authentication.md": {"15 minutes": "the longest wait, written in core/platform/access/throttle.py"},
    "decisions/embedded-servers.md": {"1 s": "twice the first delay", "2 s": "four times the first delay"},
    "decisions/event-streams.md": {"20 seconds": "the sum that the page writes out"},
    "decisions/rate-limits.md": {"400 a second": "the requirement on polling; what is reached is in benchmarks.md"},
    "decisions/scalar-granularity.md": dict.fromkeys(
        ("0.3 %", "0.6 %", "1.4 %", "2.2 %", "3.4 %", "3.8 %", "7.5 %", "9.3 %", "13.2 %", "21.9 %", "48.9 %", "85.7 %"),
        "prices of the planner; test_scalar_granularity.py computes them",
    ),
    "decisions/weight.md": dict.fromkeys(
        ("1.9 times", "12 KB", "131 MB", "14 KB", "3 %", "22 times", "27 times", "28 KB", "4.2 MB", "4.5 times"), "measured once, beside the library that was tried; it is not installed here",
    ) | dict.fromkeys(("0.2 s", "0.4 s", "1.0 s", "19 MB", "76 MB", "7.7 KB", "240 MB"), "measured once, of a child that was not kept")
    | {"64 MiB": "core.data.intake.unpacking.IntakeLimits.max_page_bytes"},
    "drill.md": {
        "0 KiB": "tests/faults/faults.py", "4 KiB": "tests/faults/faults.py", "64 KiB": "tests/faults/faults.py",
        "3 s": "the drill's setting",
    },
    "idpgan.md": {
        "97 %": "ANCHOR_SHARE_BY_EPSILON", "90 %": "ANCHOR_SHARE_BY_EPSILON", "95 %": _CONFIDENCE,
        "85 %": "the bar that was set for faces",
    },
    "images.md": {"4 GiB": "the limit of ZIP without ZIP64"},
    "mechanisms/accounting.md": {"16 times": "the finer grid of tests/core/dp/test_grid.py"},
    "mechanisms/baselines.md": {"95 %": _CONFIDENCE} | dict.fromkeys(("94.7 %", "95.4 %", "94.2 %", "97.9 %"), _PRINTED),
    "mechanisms/utility-report.md": {"95 %": _CONFIDENCE},
    "mechanisms/selection.md": {"1 %": "e^-4 of the formula before it", "0.1 %": "the same formula"}
    | dict.fromkeys(
        (
            f"{epsilon} score"
            for epsilon in (
                "1.181", "1.247", "1.248", "1.428", "1.454", "1.505", "1.565", "1.578", "1.648", "2.023", "3.436", "3.747", "4.109",
                "4.411", "4.484",
            )
        ),
        _PLANNED,
    ),
    "operations.md": {
        "6 s": "2 s and 4 s", "30 s": "the limit on locks, written in core/db/session.py", "11 s": "5 s idle and three probes 2 s apart",
        "10 s": "tcp_user_timeout of core/db/session.py", "2 %": "docker/prometheus/alerts.yml", "2.5 s": "docker/prometheus/alerts.yml",
    },
    "reports.md": {
        "0 %": "the end of the scale", "100 %": "the end of the scale", "95 %": _CONFIDENCE,
    },
    "rules-study.md": {
        "4 %": "hypot(1, 0.3) - 1", "25 %": "1.25 - 1",
        "0.015 score": "mean over pairs of Diabetes, computed in development",
        "2.36 times": _OF_EXPECTED, "3.23 times": _OF_EXPECTED,
    },
}  # fmt: skip
"""What follows from a formula, is a limit written elsewhere than in a constant, or is what a cited paper prints; each with the reason."""


def _result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text())


def _gpu() -> set[str]:
    """What bfloat16 saves a step of images beside TF32, and the dearest step of a table beside an ordinary one that is recorded."""
    shapes = {
        (shape["critic"], shape["batch"], shape["precision"]): shape
        for shape in _result("gpu_step")["shapes"]
    }
    saved = [
        100 * (1 - shapes[critic, batch, "bf16"]["private_milliseconds"] / shape["private_milliseconds"])
        for (critic, batch, precision), shape in shapes.items()
        if precision == "tf32" and critic.startswith("of images")
    ]
    dearest = max(
        shape["private_over_played"] for shape in shapes.values() if shape["critic"].startswith("linear")
    )
    return {f"{min(saved):.0f} %", f"{max(saved):.0f} %", f"{dearest:.0f} times"}


def _idpgan() -> set[str]:
    """By how much faces miss their bar of 85 %, and the best published private GANs."""
    runs = _result("images")["runs"]
    faces = [runs[f"faces anchor and critic epsilon 10 seed {seed}"]["accuracy_cnn"] for seed in range(3)]
    gans = {f"{100 * bars.gan:.1f} %" for bars in ACCURACY.values() if bars.gan is not None}
    return gans | {f"{85 - 100 * sum(faces) / len(faces):.2f} points"}


def _reports() -> set[str]:
    data = _result("charged")["data"]
    details = {
        f"{100 * data[name]['reports']['0.1']['numbers']['column detail']['true']:.0f} %"
        for name in ("mnist", "fashion_mnist")
    }
    return details | {f"{data['adult']['redraws']} times"}


def _rules_study() -> set[str]:
    """How near a batch of 2,048 and 150 steps comes to the best cell, what each training took, and the standard error of its score."""
    study = _result("rules_study")
    found = {f"{entry['processor_seconds']:.0f} seconds" for entry in study["trained"].values()}
    right = min(entry["critic"] for entry in study["trained"].values())
    found.add(f"{100 * (right * (1 - right) / 10_000) ** 0.5:.1f} points")
    for epsilon in (1, 4, 10):
        cells = {
            name: cell["stands_above"]
            for name, cell in study["noise"].items()
            if name.startswith(f"epsilon {epsilon} ")
        }
        found.add(f"{100 * cells[f'epsilon {epsilon} batch 2048 steps 150'] / max(cells.values()):.0f} %")
    return found | _repeated_values()


def _repeated_values() -> set[str]:
    """Means over the seeds of the trial with codes of repeats."""
    groups: dict[tuple[float, str], list[dict[str, Any]]] = {}
    for run in _result("repeated_values")["runs"].values():
        if run["table"] == "poker":
            groups.setdefault((run["epsilon"], run["arm"]), []).append(run)
    return {
        f"{sum(run[name] for run in runs) / len(runs):.4f} score"
        for runs in groups.values()
        for name in ("accuracy_trees", "two_way")
    }


def _comparison() -> set[str]:
    """How our errors stand beside those of AIM, MST and independent columns, and what the first half hour gave."""
    standing = " ".join(summary(list(_result("tables")["cells"].values())))
    standing += " ".join(half_hour(_result("beside_peers")))
    return {f"{ratio} score" for ratio in re.findall(r"[01]\.[0-9]{3}\b", standing)}


COMPUTED = {
    "comparison.md": _comparison,
    "gpu.md": _gpu,
    "decisions/gpu-path.md": _gpu,
    "idpgan.md": _idpgan,
    "reports.md": _reports,
    "rules-study.md": _rules_study,
}
"""Whole numbers that are computed from result files."""
