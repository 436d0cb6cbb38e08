"""Whether the libraries of optional synthesizers are installed, without importing them."""

from importlib.util import find_spec

from core.settings import Settings
from core.synthesis.errors import SynthesizerNotInstalled
from core.synthesis.spec import GRAPHICAL


def graphical_models_installed() -> bool:
    """Whether mbi and JAX, the extra `graphical`, are installed in this environment."""
    return all(find_spec(name) is not None for name in ("mbi", "jax"))


def takes_graphical_models(settings: Settings) -> bool:
    """Whether orders of graphical models are accepted: by the setting, else if the libraries are installed here."""
    if settings.graphical_models == "auto":
        return graphical_models_installed()
    return settings.graphical_models == "on"


def require_installed(synthesizer: str) -> None:
    """Check that this process can run a synthesizer.

    Raises:
        SynthesizerNotInstalled: it cannot.
    """
    if synthesizer in GRAPHICAL and not graphical_models_installed():
        raise SynthesizerNotInstalled(synthesizer=synthesizer)
