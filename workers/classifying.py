"""Training a private classifier in a training child, for one owner or several, or as a member of a federation.

It is checked before the rows are opened, trained, and packed with its record. A member of a federation exchanges the state of each
round through a board (workers.federation_board).
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from core.artifacts.execution import SCHEMA
from core.artifacts.model_bundle import packed_model
from core.artifacts.model_check import MEMBER
from core.plan.errors import InvalidSpec
from core.plan.model_plan import ModelPlan
from core.plan.selection import OrderedPlan
from models.classifier.averaging import train_averaged
from models.classifier.model_writing import model_bundle
from models.classifier.private_training import train_classifier
from models.classifier.recorder import ModelRecorder, model_grids
from models.classifier.registered import require_registered
from models.coding import joined
from models.encoding import PrivateImages, PrivateTable
from models.model_check import check_model
from models.randomness import KeyedStreams
from models.software import software_of
from models.synthesizer import TrainingHost
from workers.assignment import Assignment
from workers.child import AttemptEnded, ExitCode, machinery
from workers.federation_board import FederationBoard, exchanging


def record_of_model(plan: OrderedPlan) -> ModelRecorder:
    """An empty record of what a classifier's training will release.

    Raises:
        AttemptEnded: this worker has not the module that the plan names; another one may have it.
    """
    assert isinstance(plan, ModelPlan), "a plan of a classifier"
    try:
        require_registered(plan.options.module)
    except InvalidSpec as error:
        raise AttemptEnded(ExitCode.MACHINERY) from error
    return ModelRecorder(plan)


def classified(
    work: Assignment,
    record: ModelRecorder,
    parts: Callable[[], Sequence[PrivateTable | PrivateImages]],
    host: TrainingHost,
    board: FederationBoard | None,
) -> bytes:
    """Train, and return the staged bundle, the same bytes for every attempt of a job.

    Args:
        parts: opens the private rows of every owner. Units of different owners are different units.
        board: of the plan's federation; None without one.

    Raises:
        AttemptEnded: The federation does not go on.
        ExecutionDiffers: what was released is not the plan.
    """
    streams = KeyedStreams(work.randomness_key, releases=record)
    if record.plan.options.averaging_rounds is None:
        trained = train_classifier(joined(parts()), record.plan, streams, host)
    else:
        if board is not None:
            with machinery():
                board.require_same()
        with exchanging():
            trained = train_averaged(
                parts(), record.plan, streams, host, board, steps_begun=work.claim.steps_begun
            )
    report: dict[str, Any] = {
        "schema": SCHEMA,
        "job_id": str(work.claim.job_id),
        "plan_digest": record.plan.digest(),
        "ordered_at": work.ordered_at.isoformat(),
        "executed": record.executed().to_json(),
        "noisy_wrong": trained.wrong,
        "noise_grid": model_grids(record.plan),
        "software": software_of("core", "models", "workers"),
    }
    staged = model_bundle(trained, record.plan, work.domain, certificate=report)
    checked = replace(staged, certificate=report | {MEMBER: check_model(staged).to_json()})
    return packed_model(checked, readme="")
