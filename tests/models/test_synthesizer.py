import pytest

from core.plan.spec import SYNTHESIZERS
from models.idpgan.synthesizer import IdpganSynthesizer
from models.registry import make_synthesizer
from models.synthesizer import NullHost


def test_the_registry_knows_idpgan_and_nothing_else():
    assert isinstance(make_synthesizer("idpgan"), IdpganSynthesizer)
    with pytest.raises(KeyError):
        make_synthesizer("other")


def test_the_null_host_keeps_nothing():
    host = NullHost()
    host.save_checkpoint(b"state")
    assert host.load_checkpoint() is None
    assert not host.checkpoint_due()


def test_whatever_a_plan_may_name_can_run():
    for name in SYNTHESIZERS:
        assert make_synthesizer(name)
