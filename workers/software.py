"""What took part in a training by a worker, for its certificate."""

from typing import Any

import core
import models
import workers
from models.software import software_of


def software(*synthesizers: str) -> dict[str, Any]:
    """Return the certificate's member of this name; the hashes are those of `models.software`.

    Args:
        synthesizers: That were run.
    """
    return software_of(core, models, workers, synthesizers=synthesizers)
