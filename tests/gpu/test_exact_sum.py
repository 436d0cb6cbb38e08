import math

import pytest
import torch

from models.devices.exact_sum import SHARE, ExactSum, grids_of, lowered, rounded
from models.dp.clipping import Layout, Partition
from tests.gpu.places import on_every_device

LAYOUT = Layout(shapes=((5, 30), (1, 5)), grouping="rows", row_blocks=2)
PARTITION = Partition(sizes=LAYOUT.sizes, group_of_block=(0, 1, 0, 2), thresholds=(3.0, 1e-12, 1e9))
MAX_BATCH, PIECE = 4000, 256


def exact_sum(device: torch.device) -> ExactSum:
    return ExactSum(LAYOUT, PARTITION, max_batch=MAX_BATCH, piece=PIECE, device=device)


def pieces(count: int) -> torch.Tensor:
    """Sums of pieces, each as large as its group allows."""
    drawn = torch.randn(
        count, LAYOUT.coordinates, dtype=torch.float64, generator=torch.Generator().manual_seed(3)
    )
    for block, piece in enumerate(LAYOUT.slices()):
        norm = PIECE * PARTITION.thresholds[PARTITION.group_of_block[block]]
        drawn[:, piece] *= norm / drawn[:, piece].norm(dim=1, keepdim=True)
    return drawn


@on_every_device
def test_any_order_and_any_gathering_give_the_same_bits(device: torch.device) -> None:
    given = pieces(16).to(device)
    one_by_one, reversed_, gathered = exact_sum(device), exact_sum(device), exact_sum(device)
    for piece in given:
        one_by_one.add(rounded(piece, one_by_one.finer(device)))
    for piece in given.flip(0):
        reversed_.add(rounded(piece, reversed_.finer(device)))
    gathered.add(torch.stack([rounded(piece, gathered.finer(device)) for piece in given[::2]]).sum(dim=0))
    gathered.add(torch.stack([rounded(piece, gathered.finer(device)) for piece in given[1::2]]).sum(dim=0))
    total = one_by_one.total().clone()
    assert torch.equal(total, reversed_.total())
    assert torch.equal(total, gathered.total())
    assert not torch.equal(given.sum(dim=0), given.flip(0).sum(dim=0)), "which plain sums do not"
    one_by_one.clear()
    assert not bool(one_by_one.total().any())


@on_every_device
def test_rounding_stays_within_the_share_of_every_group(device: torch.device) -> None:
    given = pieces(-(-MAX_BATCH // PIECE))
    summed = exact_sum(device)
    for piece in given:
        summed.add(rounded(piece.to(device), summed.finer(device)))
    made = summed.total().cpu()
    for group, threshold in enumerate(PARTITION.thresholds):
        off = 0.0
        for block, piece in enumerate(LAYOUT.slices()):
            if PARTITION.group_of_block[block] == group:
                exact = [math.fsum(column) for column in given[:, piece].T.tolist()]
                off += float((made[piece] - torch.tensor(exact, dtype=torch.float64)).square().sum())
        assert 0.0 < math.sqrt(off) <= SHARE / 4.0 * threshold


def test_thresholds_leave_room_for_twice_that() -> None:
    clipped = lowered(PARTITION)
    assert clipped.group_of_block == PARTITION.group_of_block
    for low, threshold in zip(clipped.thresholds, PARTITION.thresholds, strict=True):
        assert low + 2.0 * SHARE / 4.0 * threshold < threshold
        assert low > threshold * (1.0 - 2.0 * SHARE)


def test_grids_are_powers_of_two() -> None:
    assert all(math.frexp(grid)[0] == 0.5 for grid in grids_of(PARTITION, max_batch=MAX_BATCH, piece=PIECE))


def test_sums_that_64_bits_do_not_hold_are_refused() -> None:
    wide = Partition(sizes=(10**9,), group_of_block=(0,), thresholds=(1.0,))
    with pytest.raises(ValueError, match="64-bit"):
        grids_of(wide, max_batch=1 << 26, piece=16)
    with pytest.raises(ValueError, match="64-bit"):
        grids_of(PARTITION, max_batch=1 << 27, piece=1 << 20)
