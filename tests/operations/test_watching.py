"""The dashboard and the alerts: every expression is well formed and asks for metrics that the code exposes."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from prometheus_client.metrics_core import Metric

from core.clock import SystemClock
from core.db.session import Database
from core.dp.filters import AdmissionRule
from core.errors import BudgetRefused
from core.ledger import governance
from core.platform.gpus import Gpu
from core.platform.health.signs import give_sign, note_chore
from service.edge.request_counters import Recorder
from service.metrics.deployment import Deployment, Labels
from tests.operations.promql import NotPromql, Parser

ROOT = Path(__file__).parents[2]
ALERTS = [
    rule
    for group in yaml.safe_load((ROOT / "docker/prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD = json.loads((ROOT / "docker/grafana/understudy.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
EXPRESSIONS = [rule["expr"] for rule in ALERTS] + [
    target["expr"] for panel in PANELS for target in panel["targets"]
]
SUFFIXES = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}
# Prometheus makes these itself.
OWN = {"up": {"job", "instance"}}


@pytest.fixture
def exposed(database_url: str) -> dict[str, set[str]]:
    """Every series that a deployment with one of everything exposes, with its labels."""
    database, clock = Database(database_url), SystemClock()
    with database.transaction() as session:
        now = datetime.now(UTC)
        gpu = Gpu(index=0, used_bytes=1, total_bytes=2)
        give_sign(session, name="worker@a", role="worker", at=now, gpus=[gpu])
        note_chore(session, name="audit", at=now, seconds=1, handled=1)
        population = governance.open_population(session, rule=AdmissionRule.FILTERS, clock=clock)
        governance.set_cap(session, population, epsilon=1.0, delta=1e-5, by="test", reason=None, clock=clock)
    recorder = Recorder()
    recorder.answered(method="GET", route="/v1/jobs", status=200, seconds=0.1)
    recorder.refused(BudgetRefused("refused", filter="basic"))
    families = [
        *recorder.registry().collect(),
        *Deployment(database, labels=Labels(bytes(32)), clock=clock).collect(),
    ]
    database.close()
    return dict(OWN) | dict(series for family in families for series in _series(family))


def _series(family: Metric) -> Iterator[tuple[str, set[str]]]:
    labels = {label for sample in family.samples for label in sample.labels}
    for suffix in SUFFIXES[family.type]:
        yield family.name + suffix, labels | {"job", "instance"}


def test_every_expression_is_well_formed_and_asks_for_what_is_exposed(exposed):
    for text in EXPRESSIONS:
        parsed = Parser(text).parse()
        for selected in parsed.found:
            assert selected.name in exposed, (selected.name, text)
            assert selected.labels | parsed.grouped <= exposed[selected.name], text


def test_counters_are_read_as_rates_and_gauges_are_not():
    for text in EXPRESSIONS:
        for selected in Parser(text).parse().found:
            counts = selected.name.endswith(("_total", "_bucket"))
            assert (selected.function in {"rate", "increase"}) == counts, text


def test_everything_exposed_is_on_the_dashboard(exposed):
    shown = {selected.name for text in EXPRESSIONS for selected in Parser(text).parse().found}
    families = {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in exposed}
    assert families - {re.sub(r"_(total|bucket|count|sum)$", "", name) for name in shown} == set()


def test_every_label_of_a_legend_is_there(exposed):
    for panel in PANELS:
        for target in panel["targets"]:
            parsed = Parser(target["expr"]).parse()
            known = parsed.grouped or set.intersection(*(exposed[one.name] for one in parsed.found))
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= known, target


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_an_alert_is_complete_and_explained(rule):
    assert re.fullmatch(r"Understudy[A-Za-z]+", rule["alert"])
    assert re.fullmatch(r"\d+m", rule["for"])
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert rule["annotations"]["summary"].endswith(".")
    assert re.search(r"(==|>|<) ?[\d.]+$", rule["expr"]), "an alert compares"
    page = (ROOT / "docs" / "operations.md").read_text()
    assert f"| `{rule['alert']}` | {rule['labels']['severity']} |" in page


def test_the_dashboard_places_each_panel_once():
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(identities)) == len(identities)
    taken = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (place["x"] + across, place["y"] + down)
            for across in range(place["w"])
            for down in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        taken |= cells


def test_prometheus_scrapes_the_api_with_a_token_and_loads_the_alerts():
    told = yaml.safe_load((ROOT / "docker/prometheus/prometheus.yml").read_text())
    assert told["rule_files"] == ["alerts.yml"]
    (job,) = told["scrape_configs"]
    assert job["metrics_path"] == "/metrics"
    assert job["authorization"]["type"] == "Bearer"
    assert job["static_configs"] == [{"targets": ["api:8321"]}]


@pytest.mark.parametrize(
    "text",
    [
        "sum(",
        "rate(a)",
        "a[5m]",
        "sum by (le rate(a[5m]))",
        "histogram_quantile(0.5)",
        'a{b="c"',
        'a{b=~"("}',
        "a >",
        "a b",
        "unknown(a)",
        "rate(a[5 m])",
        "topk(a)",
    ],
)
def test_what_is_no_promql_is_refused(text):
    with pytest.raises((NotPromql, re.error)):
        Parser(text).parse()
