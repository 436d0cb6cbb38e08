"""A check of a private model of a table before its release: is its answer the same whatever the row?

Only the model and the declared domain are read, so the check is post-processing and costs no privacy (`core.artifacts.model_check`).
"""

from typing import Final

import numpy as np

from core.artifacts.model_bundle import ModelBundle
from core.artifacts.model_check import ModelCheck
from core.artifacts.model_script import class_names
from core.plan.domain.declared import domain_from_json

DRAWS: Final = 4096
_SEED: Final = 20_261_129
_CHUNK: Final = 512


def check_model(bundle: ModelBundle) -> ModelCheck | None:
    """Let a model answer rows of the declared domain; None for a model of images.

    Args:
        bundle: The model and its domain; its certificate is not read.
    """
    # Imported late: most trainings' processes do without it.
    import onnxruntime

    sizes = bundle.manifest.cardinalities
    if not sizes:
        return None
    # The draws are public, so a bundle that is certified twice states the same.
    rng = np.random.default_rng(_SEED)
    codes = np.stack([rng.integers(0, size, DRAWS, dtype=np.int64) for size in sizes], axis=1)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    network = onnxruntime.InferenceSession(bundle.model, options)
    pieces = [codes[start : start + _CHUNK] for start in range(0, DRAWS, _CHUNK)]
    answers = np.concatenate(
        [network.run(["logits"], {"codes": piece})[0].argmax(axis=1) for piece in pieces]
    )
    counts = np.bincount(answers, minlength=bundle.manifest.classes)
    names = class_names(domain_from_json(bundle.domain))
    return ModelCheck(draws=DRAWS, answer=names[int(counts.argmax())], share=float(counts.max()) / DRAWS)
