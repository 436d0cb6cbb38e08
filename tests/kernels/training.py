"""A small training, also in a process of its own: `python -m tests.kernels.training FOLDER`.

It goes on from `FOLDER/checkpoint` where there is one. It leaves the generator, the coins of a step and the noise of a step in
whole steps of its grid.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from models.dp.clipping import Layout, Partition
from models.dp.noise import NoisyMean, noise_plan
from models.idpgan.synthesizer import IdpganSynthesizer
from models.randomness import Purpose
from tests.models.coded_tables import small_table, streams
from tests.models.idpgan.jobs import Killed, StubbornHost, generator_bytes, small_plan

LAYOUT = Layout(shapes=((400, 499),), grouping="flat")


def main(folder: Path, kill_at: int | None) -> None:
    """Train, or go on, and write what came of it; a checkpoint alone if it is killed when it saves that one."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _train(folder, kill_at)
    finally:
        torch.set_num_threads(threads)


def _train(folder: Path, kill_at: int | None) -> None:
    kept = folder / "checkpoint"
    host = StubbornHost(kept.read_bytes() if kept.exists() else None, kill_at=kill_at)
    table = small_table()
    try:
        trained = IdpganSynthesizer().fit(table, small_plan(table), streams(), host)
    except Killed:
        assert host.state is not None
        kept.write_bytes(host.state)
        return
    (folder / "generator").write_bytes(generator_bytes(trained))
    weights = torch.cat([each.flatten() for each in trained.network.state_dict().values()])
    np.save(folder / "weights.npy", weights.double().numpy())
    np.save(folder / "coins.npy", streams().coins(Purpose.POISSON, 3, 0.01, 1_000_000))
    partition = Partition(sizes=LAYOUT.sizes, group_of_block=(0,), thresholds=(1.0,))
    noise = noise_plan(partition, noise_multiplier=1.0, max_batch=100)
    drawn = NoisyMean(LAYOUT).draw(noise, streams().reader(Purpose.GRADIENT_NOISE, 3))
    np.save(folder / "noise.npy", drawn.numpy())


if __name__ == "__main__":
    main(Path(sys.argv[1]), None)
