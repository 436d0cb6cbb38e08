"""The synthesizers by the name that a plan gives."""

from collections.abc import Callable, Sequence

from core.artifacts.counts import ReleasedCounts
from models.devices.placement import HOST, Placement
from models.exchange import CountExchange
from models.idpgan.synthesizer import IdpganSynthesizer
from models.synthesizer import Synthesizer


def _graphical(placement: Placement) -> Synthesizer:
    # networkx takes a twentieth of a training's start, and no other synthesizer needs it.
    from models.graphical.synthesizer import GraphicalSynthesizer

    return GraphicalSynthesizer(placement)


_SYNTHESIZERS: dict[str, Callable[[Placement], Synthesizer]] = {
    "idpgan": IdpganSynthesizer,
    "aim": _graphical,
    "mst": _graphical,
}


def make_synthesizer(
    name: str,
    placement: Placement = HOST,
    *,
    earlier: Sequence[ReleasedCounts] = (),
    exchange: CountExchange | None = None,
) -> Synthesizer:
    """The synthesizer of this name.

    Args:
        earlier: counts of releases that the plan takes over, in its order; only plans of "idpgan" do.
        exchange: adds the noisy counts of the other members of a federation; likewise.

    Raises:
        KeyError: no synthesizer has this name; a validated plan never names one.
    """
    if earlier or exchange is not None:
        assert name == "idpgan", "no other plan reuses or exchanges counts"
        return IdpganSynthesizer(placement, earlier=earlier, exchange=exchange)
    return _SYNTHESIZERS[name](placement)
