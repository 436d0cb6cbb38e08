"""What a whole training of a private baseline must keep, on tables and on images."""

from models.randomness import Purpose
from tests.models.idpgan.jobs import generator_bytes
from tests.privacy.seam import Recorder, Replayer, require_stated, require_within

METHODS = {
    "DPGAN": (False, False),
    "GANobfuscator": (False, True),
    "DPACGAN": (True, False),
    "DPACGAN, public threshold": (True, True),
}
"""Whether the critic classifies, and whether the threshold is public."""
OURS = ["GANobfuscator", "DPACGAN"]


def require_releases_alone(trained, plan, records, neighbour):
    """A training on a neighbour moves every release by no more than the plan pays, and nothing else."""
    recorder = Recorder()
    training, made = trained(records, plan, listener=recorder)
    require_stated(recorder, plan)
    replayer = Replayer(recorder)
    other, again = trained(neighbour, plan, listener=replayer)
    assert replayer.calls == recorder.calls
    require_within(replayer, recorder, plan)
    moved = [
        distance for (purpose, _), distance in replayer.distances.items() if purpose == Purpose.GRADIENT_NOISE
    ]
    assert max(moved) > 0.0, "the unit was drawn, so this could fail"
    assert generator_bytes(again) == generator_bytes(made)
    assert other.thresholds == training.thresholds


def require_noise_of_the_threshold(trained, plan, records, *, fixed):
    """The noise of every step is the plan's multiplier of the threshold in force.

    Args:
        fixed: the plan's threshold, which holds where a method sets none.
    """
    recorder = Recorder()
    training, _ = trained(records, plan, listener=recorder)
    for step in range(plan.steps):
        threshold = training.thresholds[step // 2][0] if training.thresholds else fixed
        for _, std in recorder.heard[Purpose.GRADIENT_NOISE, step].exact:
            # Larger by the room for the grid's rounding, which is far below a thousandth.
            assert 1.0 <= std / (threshold * plan.noise_multiplier_at(step)) < 1.001
