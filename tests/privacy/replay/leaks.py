"""Leaks to plant: each is what a careless change could do, and shows in one channel at least.

A leak is planted in both of two neighbouring jobs, for the code is the same; what it says then differs with the rows.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from prometheus_client.core import GaugeMetricFamily
from sqlalchemy import update

from core.db.tables import Dataset, Job
from core.jobs import queue
from core.logs import get_logger
from core.plan.stages import AnchorPlan
from models.acts import AdaptiveThresholds
from models.counting import memory, question, units
from models.counting.question import WHOLE_RECORD
from models.dp.clipping import ClipRule
from models.dp.poisson import UnitSampler
from models.encoding import PrivateTable
from models.idpgan.training import Training
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams, KeystreamReader, Purpose
from models.tables.measurement import measure
from service.datasets import upload
from service.jobs import schemas
from service.metrics.deployment import Deployment
from workers import assignment, training_child

Plant = Callable[[pytest.MonkeyPatch], None]


class Count:
    """The number of rows of the job at hand, which a leak has got hold of."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.rows = 0
        store_rows, coded_table = upload.store_rows, training_child.coded_table

        def stored(*words: Any, **options: Any) -> Any:
            report = store_rows(*words, **options)
            self.rows = report.rows_accepted
            return report

        def coded(*words: Any) -> Any:
            table = coded_table(*words)
            self.rows = len(table.codes)
            return table

        patch.setattr(upload, "store_rows", stored)
        patch.setattr(training_child, "coded_table", coded)


def mark_with_the_batch(patch: pytest.MonkeyPatch) -> None:
    # private: plants a leak where the batch is known
    private_step, draw = Training._private_step, UnitSampler.draw
    sizes = []

    def drawn(sampler: UnitSampler, *words: Any) -> Any:
        chosen = draw(sampler, *words)
        sizes.append(len(chosen))
        return chosen

    def marked(training: Training, step: int) -> None:
        private_step(training, step)
        # private: the leak tells by the training's own host
        training._host.advance(stage="measure", step=1, total=1 + sizes[-1])

    patch.setattr(UnitSampler, "draw", drawn)
    patch.setattr(Training, "_private_step", marked)


def log_of_a_norm(patch: pytest.MonkeyPatch) -> None:
    step = PrivateCritic.step

    def logged(critic: PrivateCritic, number: int, real: Any, fake: Any) -> None:
        step(critic, number, real, fake)
        get_logger().info("step", loss=float(real.double().sum()))

    patch.setattr(PrivateCritic, "step", logged)


def object_named_by_rows(patch: pytest.MonkeyPatch) -> None:
    count = Count(patch)

    def key(job_id: UUID, fence: int) -> str:
        return f"jobs/{job_id}/checkpoint-{fence}-of-{count.rows}.sealed"

    patch.setattr(assignment, "checkpoint_key", key)


def message_with_rows(patch: pytest.MonkeyPatch) -> None:
    count = Count(patch)
    patch.setattr(queue, "current_request_id", lambda: f"{count.rows:032x}")


def metric_of_rows(patch: pytest.MonkeyPatch) -> None:
    # private: plants a leak among the gauges
    count, families = Count(patch), Deployment._families

    def with_rows(deployment: Deployment, session: Any) -> Any:
        yield from families(deployment, session)
        yield GaugeMetricFamily("understudy_rows", "Rows taken in.", value=count.rows)

    # private: plants rows in the metrics of a deployment
    patch.setattr(Deployment, "_families", with_rows)


def progress_in_rows(patch: pytest.MonkeyPatch) -> None:
    count = Count(patch)
    patch.setattr(schemas, "steps_of", lambda row: (count.rows, 10_000))


def hours_by_rows(patch: pytest.MonkeyPatch) -> None:
    """A column of the database that nobody is shown."""
    count, coded = Count(patch), training_child.coded_table
    held: list[tuple[Any, UUID]] = []
    read = training_child.read_assignment

    def assigned(database: Any, *, job_id: UUID, **options: Any) -> Any:
        held.append((database, job_id))
        return read(database, job_id=job_id, **options)

    def noted(*words: Any) -> Any:
        table = coded(*words)
        database, job_id = held[-1]
        with database.transaction() as session:
            session.get_one(Job, job_id).sent_at += timedelta(hours=count.rows)
        return table

    patch.setattr(training_child, "read_assignment", assigned)
    patch.setattr(training_child, "coded_table", noted)


def write_more_with_rows(patch: pytest.MonkeyPatch) -> None:
    """A statement that changes nothing, as many times as there are rows."""
    # private: plants a leak in the transaction that attaches rows
    count, attach = Count(patch), upload.RowsUpload._attach

    def attached(taking: upload.RowsUpload, report: Any, data_key: bytes, also: Callable[[Any], None]) -> Any:
        def more(session: Any) -> None:
            also(session)
            for _ in range(count.rows):
                session.execute(update(Dataset).where(Dataset.declared_size < 0).values(declared_size=1))

        return attach(taking, report, data_key, more)

    # private: plants rows in the answer to an upload
    patch.setattr(upload.RowsUpload, "_attach", attached)


def skipped_step(patch: pytest.MonkeyPatch) -> None:
    """No release where the batch has an odd number of records."""
    private_step = PrivateCritic.step

    def stepped(critic: PrivateCritic, number: int, real: Any, fake: Any) -> None:
        if len(real) % 2 == 0:
            private_step(critic, number, real, fake)

    patch.setattr(PrivateCritic, "step", stepped)


def longer_with_rows(patch: pytest.MonkeyPatch) -> None:
    """A checkpoint that holds the rows' number of bytes more."""
    count, keep = Count(patch), assignment.Checkpoints.save
    patch.setattr(assignment.Checkpoints, "save", lambda kept, state: keep(kept, state + bytes(count.rows)))


APART: dict[str, tuple[Plant, set[str]]] = {
    "a log line with a loss": (log_of_a_norm, {"logs"}),
    "an object named by the number of rows": (object_named_by_rows, {"objects", "names"}),
    "a message with the number of rows": (message_with_rows, {"messages"}),
    "a metric of the number of rows": (metric_of_rows, {"metrics"}),
    "progress told in rows": (progress_in_rows, {"answers", "tables"}),
}
"""Leaks that show each in a channel of its own, so that all can be planted at once: what is planted, and where it shows.

Progress shows in a table too: the answer to an order is kept, to be given again."""

LEAKS: dict[str, tuple[Plant, str]] = {
    "a mark that depends on the batch": (mark_with_the_batch, "marks"),
    "a sealed object that grows with the rows": (longer_with_rows, "objects"),
    "a column with the number of rows": (hours_by_rows, "tables"),
    "a statement for each row": (write_more_with_rows, "writes"),
}
"""Leaks that show in several channels: what is planted, and a channel in which it must be seen."""


def records_in_full(patch: pytest.MonkeyPatch) -> None:
    """Each record of a person counts in the anchor as if it were a person's only one."""
    patch.setattr(memory, "average_weights", lambda owners: np.full(len(owners), float(WHOLE_RECORD)))
    patch.setattr(units, "weights_among", lambda tags, _bound: np.full(len(tags), WHOLE_RECORD, np.uint32))


def records_of_columns_in_full(patch: pytest.MonkeyPatch) -> None:
    """The same in the counts of columns alone."""
    columns = measure.noisy_columns

    def in_full(
        counter: question.Counter, plan: AnchorPlan, streams: KeyedStreams
    ) -> list[NDArray[np.float64]]:
        with pytest.MonkeyPatch.context() as inside:
            records_in_full(inside)
            return columns(counter, plan, streams)

    patch.setattr(measure, "noisy_columns", in_full)


def labels_by_record(patch: pytest.MonkeyPatch) -> None:
    """Each record of a person counts in the label histogram."""
    distribution = measure.noisy_label_distribution
    patch.setattr(
        measure,
        "noisy_label_distribution",
        lambda table, plan, streams: distribution(alone(table), plan, streams),
    )


def alone(table: PrivateTable) -> PrivateTable:
    return replace(table, unit_of_record=np.arange(len(table.codes)))


def nothing_clipped(patch: pytest.MonkeyPatch) -> None:
    factors = ClipRule.factors
    patch.setattr(ClipRule, "factors", lambda rule, bounds: torch.ones_like(factors(rule, bounds)))


def counted_twice(patch: pytest.MonkeyPatch) -> None:
    """Each record falls into its bins twice."""
    counts = AdaptiveThresholds.counts
    patch.setattr(AdaptiveThresholds, "counts", lambda acts, squares: 2.0 * counts(acts, squares))


TOO_SENSITIVE: dict[str, tuple[Plant, dict[str, Any]]] = {
    "a person's records in full in the anchor": (records_in_full, {"critic": False}),
    "a person's records in full in the counts of columns": (records_of_columns_in_full, {"critic": False}),
    "labels counted by record": (labels_by_record, {"anchor": False}),
    "nothing clipped": (nothing_clipped, {"anchor": False, "clipping_norm": 1e-6}),
    "histograms counted twice": (counted_twice, {"acts": True, "acts_interval": 1}),
}
"""What is planted, and options under which it runs."""


def fresh_noise(patch: pytest.MonkeyPatch) -> None:
    """The gradient's noise is another one when it is asked for again."""
    reader, asked = KeyedStreams.reader, Counter[tuple[int, int]]()

    def another(streams: KeyedStreams, purpose: Purpose, step: int) -> KeystreamReader:
        asked[purpose, step] += purpose == Purpose.GRADIENT_NOISE
        return reader(streams, purpose, step + 2**40 * max(0, asked[purpose, step] - 1))

    patch.setattr(KeyedStreams, "reader", another)
