"""Whether the libraries of optional synthesizers are installed, without importing them."""

from importlib.util import find_spec

from core.plan.errors import SynthesizerNotInstalled
from core.plan.spec import GRAPHICAL


def graphical_models_installed() -> bool:
    """Whether mbi and JAX, the extra `graphical`, are installed in this environment."""
    return all(find_spec(name) is not None for name in ("mbi", "jax"))


def takes_graphical_models(setting: str) -> bool:
    """Whether orders of graphical models are accepted: by the setting, or if it is `auto` by what is installed here."""
    return graphical_models_installed() if setting == "auto" else setting == "on"


def require_installed(synthesizer: str) -> None:
    """Check that this process can run a synthesizer.

    Raises:
        SynthesizerNotInstalled: it cannot.
    """
    if synthesizer in GRAPHICAL and not graphical_models_installed():
        raise SynthesizerNotInstalled(synthesizer=synthesizer)
