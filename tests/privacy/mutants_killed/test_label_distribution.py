"""The noise on the label histogram follows the planned distribution, seen where it leaves."""

from core.plan.stages import LabelPlan
from models.labels import noisy_label_distribution
from models.randomness import KeyedStreams, Purpose
from tests.models.coded_tables import KEY, small_table
from tests.models.dp.test_discrete import pvalue, table
from tests.privacy.seam import Recorder

MULTIPLIER = 2.7


def test_the_counts_are_noised_by_the_planned_distribution():
    # False alarm 1e-6. Power: exact counts give 800 zeros, half the noise a p-value below 1e-30.
    rows, noise = small_table(), []
    for number in range(400):
        recorder = Recorder()
        keyed = KeyedStreams(number.to_bytes(2, "big") + KEY[2:], releases=recorder)
        noisy_label_distribution(rows, LabelPlan(noise_multiplier=MULTIPLIER), keyed)
        heard = recorder.heard[Purpose.LABEL_NOISE, 0]
        noise += (heard.noisy[0] - heard.exact[0][0]).long().tolist()
    assert pvalue(noise, table(MULTIPLIER, 7), 7) > 1e-6
