"""The synthesizers by name: what a plan names is what runs."""

from collections.abc import Callable

from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import Synthesizer

_SYNTHESIZERS: dict[str, Callable[[], Synthesizer]] = {"idpgan": IdpganSynthesizer}


def make_synthesizer(name: str) -> Synthesizer:
    """The synthesizer of this name.

    Raises:
        KeyError: no synthesizer has this name (a plan is validated before).
    """
    return _SYNTHESIZERS[name]()
