"""Poker Hand by the critic without an anchor (`"anchor": false`) without its privacy: what it would reach if nothing had to be hidden.

    python -m benchmarks.idpgan.poker_without_privacy [--effort standard] [--steps N] [--seed 0]

Networks, batches, learning rates, the number of steps and the generator's own steps are those of the plan; clipping, noise, Poisson
sampling and the noisy distribution of the classes are missing. The critic learns by automatic differentiation. Scored as
`benchmarks.idpgan.poker` scores. It is part of the benchmarks and not of the product, so that no job can run it.
"""

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from benchmarks.datasets import Table, load
from benchmarks.idpgan.poker import NAME, Hands
from benchmarks.images.wasserstein_gan import critic_loss
from benchmarks.machine import load_average
from benchmarks.publishing import SAMPLED_ROWS, VARIANTS, rows_of, sample, streams_of
from benchmarks.results_file import merge, rounded
from core.dp.adjacency import Adjacency, PrivacyUnit
from core.dp.guarantee import PrivacyGuarantee
from core.plan.defaults import STEPS_BY_EFFORT, USUAL_EFFORT
from core.plan.plan import Plan, make_plan
from core.plan.spec import SynthesisSpec
from models.critic.network import Critic
from models.encoding import PrivateTable, cells_of
from models.idpgan.generator import make_generator
from models.idpgan.pace import Pace
from models.idpgan.refinement import Refinement
from models.private_step import ADAM_BETAS
from models.synthesizer import TrainedGenerator

GUARANTEE = PrivacyGuarantee(epsilon=10.0, delta=1e-6)
"""Guarantee of the plan that the options are read from; none of those used here depends on it."""

FILE = "poker_without_privacy"
"""Name of the file of results."""


def plan_of(table: Table, options: dict[str, Any]) -> Plan:
    """The plan of a critic without an anchor, with more options of the order."""
    return make_plan(
        spec=SynthesisSpec(synthesizer="idpgan", options=VARIANTS["critic"] | options),
        guarantee=GUARANTEE,
        declared_size=table.train.num_rows,
        domain=table.domain,
        adjacency=Adjacency.ADD_OR_REMOVE,
        privacy_unit=PrivacyUnit(column=None),
    )


def train_without_privacy(table: Table, plan: Plan, *, seed: int) -> TrainedGenerator:
    """Train the plan's networks without clipping and without noise.

    Args:
        table: whose training rows are read.
        plan: of a critic without an anchor.
        seed: of everything.
    """
    options, streams, codes = plan.idpgan_options, streams_of(seed), table.train_codes
    shape = PrivateTable(
        codes=codes[:0],
        unit_of_record=np.zeros(0, np.int64),
        cardinalities=table.domain.cardinalities,
        target_index=table.domain.target_index,
    )
    critic = Critic(inputs=shape.cells, widths=(options.critic_width,) * options.critic_layers)
    critic.initialise(streams)
    generator = make_generator(shape, options)
    generator.initialise(streams, columns=None)
    distribution = None
    if shape.target_index is not None:
        classes = shape.cardinalities[shape.target_index]
        distribution = np.bincount(codes[:, shape.target_index], minlength=classes) / len(codes)
    learner = Refinement(
        generator=generator,
        options=options,
        streams=streams,
        cardinalities=shape.cardinalities,
        distribution=distribution,
        anchor=None,
    )
    adam = torch.optim.Adam(critic.parameters(), lr=options.critic_learning_rate, betas=ADAM_BETAS)
    draws = torch.Generator().manual_seed(seed)
    batches, pace = _batches(len(codes), options.expected_batch_size, draws), Pace(options.critic_steps)
    no_labels = torch.zeros(0, dtype=torch.int64)
    for step in range(plan.steps):
        cells = cells_of(codes[next(batches).numpy()], shape.cardinalities)
        real = torch.zeros(len(cells), shape.cells).scatter_(1, cells, 1.0)
        fake = learner.fakes(step, len(real))
        mix = torch.rand(len(real), 1, generator=draws)
        adam.zero_grad()
        loss = critic_loss(
            lambda rows, _labels: critic(rows), real, fake, no_labels, mix, gp_weight=options.gp_weight
        )
        torch.autograd.backward(loss)
        adam.step()
        if pace.tick():
            pace.observe(learner.refine(step, critic, progress=step / plan.steps))
    return TrainedGenerator(
        network=learner.average.eval().requires_grad_(requires_grad=False),
        latent_dimension=learner.latent_dimension,
        label_index=shape.target_index,
        label_probabilities=distribution,
        cardinalities=shape.cardinalities,
    )


def run(table: Table, options: dict[str, Any], *, seed: int) -> dict[str, Any]:
    """Train, draw and score once; the entry of results."""
    plan = plan_of(table, options)
    load_before, begun = load_average(), time.process_time()
    generator = train_without_privacy(table, plan, seed=seed)
    seconds = time.process_time() - begun
    codes = sample(generator, SAMPLED_ROWS, seed)
    scores = Hands().of_codes(table, codes, rows_of(table.domain, codes, seed))
    return {
        "steps": plan.steps, "seed": seed, "threads": torch.get_num_threads(), "load": load_before,
        **rounded(scores | {"cpu_seconds": round(seconds, 1)}),
        "options": plan.options.model_dump(mode="json"), "sampled_rows": SAMPLED_ROWS, "not_private": "no noise and no clipping",
    }  # fmt: skip


def _batches(records: int, batch: int, draws: torch.Generator) -> Iterator[Tensor]:
    while True:
        yield from torch.split(torch.randperm(records, generator=draws), batch)


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--effort", choices=STEPS_BY_EFFORT, default=USUAL_EFFORT)
    parser.add_argument("--steps", type=int, help="another number of steps than the effort's")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--development", action="store_true", help="split the training file; nothing is written"
    )
    chosen = parser.parse_args()
    torch.set_num_threads(chosen.threads)
    options = {"effort": chosen.effort} if chosen.steps is None else {"steps": chosen.steps}
    entry = run(load(NAME, development=chosen.development), options, seed=chosen.seed)
    print(json.dumps({name: value for name, value in entry.items() if name != "options"}), flush=True)
    if not chosen.development:
        merge(FILE, kind="runs", key=f"{entry['steps']} steps seed {chosen.seed}", entry=entry)


if __name__ == "__main__":
    main()
