"""A candidate's score: the errors of a classifier trained on its sample, on private units that no candidate saw.

The sample and the classifier are post-processing of a differentially private generator; only the counting reads private
rows. A unit counts once, by its first record, so it adds 0 or 1 to the errors of each candidate, whatever the other units
are, as `core.dp.mechanism.PermuteAndFlip` requires.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import torch

from models.encoding import PrivateImages, PrivateTable
from models.randomness import KeyedStreams, Purpose
from models.sampled import outputs, records_of, uniforms_wanted
from models.selection.split import first_records
from models.synthesizer import TrainedGenerator, TrainedImageGenerator

SAMPLE_ROWS: Final = 5000
"""Synthetic records that a classifier is trained on."""
TREES: Final = 50
_SEED: Final = 0
"""Public seed of the classifier: the same sample always gives the same trees, and so the same count."""
_WHITE: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Labelled:
    """Records to learn from or to be judged on.

    Args:
        features: (rows, width) float32: the codes of a table's other columns, or pixels between 0 and 1.
        labels: (rows,) int64.
    """

    features: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


def errors(
    generator: TrainedGenerator | TrainedImageGenerator, judged: Labelled, streams: KeyedStreams
) -> int:
    """Count the judged records that a classifier trained on a sample of the generator gets wrong.

    Args:
        judged: one record of each unit; private.
    """
    from sklearn.ensemble import (
        ExtraTreesClassifier,
    )  # costs a quarter of a training process's start, and few jobs select

    learnt = sample(generator, streams, rows=SAMPLE_ROWS)
    trees = ExtraTreesClassifier(n_estimators=TREES, random_state=_SEED, n_jobs=1)
    trees.fit(learnt.features, learnt.labels)
    if not len(judged.labels):  # the library refuses to predict for no records
        return 0
    return int((trees.predict(judged.features) != judged.labels).sum())


def sample(
    generator: TrainedGenerator | TrainedImageGenerator, streams: KeyedStreams, *, rows: int
) -> Labelled:
    """Synthetic records of a generator with labels; the same for the same key."""
    labels, made = zip(*outputs(generator, streams, Purpose.SELECTION_SAMPLE, rows=rows), strict=True)
    classes, whole = np.concatenate(labels), torch.cat(made)
    if isinstance(generator, TrainedImageGenerator):
        return Labelled(features=whole.flatten(start_dim=1).float().numpy(), labels=classes)
    assert generator.label_index is not None, "a selection has labels to judge by"
    uniforms = streams.torch_uniforms(Purpose.SELECTION_SAMPLE, 2, (rows, uniforms_wanted(generator)))
    return _of_codes(records_of(generator, whole, uniforms), generator.label_index)


def judged_by(private: PrivateTable | PrivateImages) -> Labelled:
    """The first record of every unit, to be judged on."""
    first = first_records(private.unit_of_record)
    if isinstance(private, PrivateTable):
        assert private.target_index is not None, "a selection has labels to judge by"
        return _of_codes(private.codes[first].astype(np.int64), private.target_index)
    pixels = private.pixels[first].transpose(0, 3, 1, 2).reshape(len(first), -1)
    return Labelled(
        features=(pixels / np.float32(_WHITE)).astype(np.float32),
        labels=private.labels[first].astype(np.int64),
    )


def _of_codes(records: npt.NDArray[np.int64], target: int) -> Labelled:
    return Labelled(features=np.delete(records, target, axis=1).astype(np.float32), labels=records[:, target])
