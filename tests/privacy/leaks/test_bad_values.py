"""NaN, infinity, huge values: rules that look at the row alone, and a bad record neither beats the clip nor stops the job.

How a table's bad values become codes is `test_row_local`; here they come as far as a gradient that is no number.
"""

import math
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor

from models.critic.network import Critic
from models.private_step import PrivateCritic
from models.randomness import KeyedStreams
from models.releases import NullRecorder
from tests.privacy.leaks.short_job import KEY, OPTIONS, plan

CELLS = 10
BAD = (math.nan, math.inf, -math.inf, 1e38, -1e38, 3.4e38, 1e-45)


class Listener(NullRecorder):
    """Keeps what one step is about to noise, in units of the noise, and by how much one record may move it."""

    def exact(
        self,
        purpose: int,
        step: int,
        parts: Iterable[tuple[Tensor, float]],
        *,
        sensitivity: float,
    ) -> None:
        self.exact_sum = torch.cat([(values.double() / std).flatten() for values, std in parts])
        self.sensitivity = sensitivity


def one_step(records: Tensor) -> tuple[Listener, PrivateCritic]:
    """A step on a batch of vectors."""
    listener = Listener()
    streams = KeyedStreams(KEY, releases=listener)
    width = int(OPTIONS["critic_width"])
    network = Critic(inputs=CELLS, widths=(width,) * int(plan().options.critic_layers)).initialise(streams)
    critic = PrivateCritic(network, plan(), streams)
    fakes = torch.rand(len(records), CELLS, generator=torch.Generator().manual_seed(2))
    critic.step(0, records, fakes)
    return listener, critic


def ordinary() -> Tensor:
    return torch.rand(20, CELLS, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("value", BAD)
def test_a_bad_record_moves_the_sum_by_no_more_than_any_other(value):
    without, _ = one_step(ordinary())
    bad = torch.full((1, CELLS), value)
    bad[0, 1:] = 0.5
    for added in (bad, torch.full((1, CELLS), value)):
        with_it, critic = one_step(torch.cat([ordinary(), added]))
        moved = (with_it.exact_sum - without.exact_sum).norm().item()
        assert with_it.exact_sum.isfinite().all()
        assert moved <= with_it.sensitivity * (1 + 1e-9)
        assert all(
            values.isfinite().all() for values in critic.state_dict().values() if values.is_floating_point()
        )


def test_a_clip_that_lets_bad_values_through_would_be_noticed(monkeypatch):
    real = PrivateCritic.step

    def unclipped(self, step, records, fakes):
        closed = self._form.sum_and_squares

        def leaking(records, fakes, mix, partition, *, labels):
            total, squares = closed(records, fakes, mix, partition, labels=labels)
            return total + records.sum().to(total.dtype), squares

        self._form.sum_and_squares = leaking
        real(self, step, records, fakes)

    monkeypatch.setattr(PrivateCritic, "step", unclipped)
    with pytest.raises(AssertionError):
        test_a_bad_record_moves_the_sum_by_no_more_than_any_other(1e38)
