"""The synthesizers by name: what a plan names is what runs."""

from collections.abc import Callable

from models.devices.placement import HOST, Placement
from models.graphical.synthesizer import GraphicalSynthesizer
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import Synthesizer

_SYNTHESIZERS: dict[str, Callable[[Placement], Synthesizer]] = {
    "idpgan": IdpganSynthesizer,
    "aim": GraphicalSynthesizer,
    "mst": GraphicalSynthesizer,
}


def make_synthesizer(name: str, placement: Placement = HOST) -> Synthesizer:
    """The synthesizer of this name.

    Args:
        name: as a plan has it.
        placement: where its trainings run.

    Raises:
        KeyError: no synthesizer has this name (a plan is validated before).
    """
    return _SYNTHESIZERS[name](placement)
