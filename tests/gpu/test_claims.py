"""Which GPUs a training child may see."""

from pathlib import Path

from core.platform.gpus import Gpu, claimed_gpus
from workers.child import child_environment


def three() -> list[Gpu]:
    return [Gpu(index=index, used_bytes=0, total_bytes=1) for index in range(3)]


def test_every_child_has_gpus_of_its_own_while_there_are_some(tmp_path: Path) -> None:
    with claimed_gpus(tmp_path, 2, environment={}, find=three) as first:
        with claimed_gpus(tmp_path, 2, environment={}, find=three) as second:
            assert (first, second) == (("0", "1"), ("2",))
            with claimed_gpus(tmp_path, 2, environment={}, find=three) as third:
                assert third == ("0",), "shared, rather than not trained on a GPU at all"
        with claimed_gpus(tmp_path, 1, environment={}, find=three) as later:
            assert later == ("2",)


def test_the_operators_choice_of_gpus_is_kept_to(tmp_path: Path) -> None:
    chosen = {"CUDA_VISIBLE_DEVICES": "GPU-8932f937, 1"}
    with (
        claimed_gpus(tmp_path, 1, environment=chosen, find=three) as first,
        claimed_gpus(tmp_path, 2, environment=chosen, find=three) as second,
    ):
        assert (first, second) == (("GPU-8932f937",), ("1",))
    with claimed_gpus(tmp_path, 1, environment={"CUDA_VISIBLE_DEVICES": ""}, find=three) as none:
        assert none == ()


def test_a_machine_without_gpus_and_a_setting_that_wants_none(tmp_path: Path) -> None:
    with claimed_gpus(tmp_path, 4, environment={}, find=list) as none:
        assert none == ()
    with claimed_gpus(tmp_path, 0, environment={}, find=three) as none:
        assert none == ()


def test_a_child_sees_its_gpus_alone() -> None:
    inherited = {"CUDA_VISIBLE_DEVICES": "0,1,2,3"}
    assert child_environment(inherited, threads=1, gpus=("2", "3"))["CUDA_VISIBLE_DEVICES"] == "2,3"
    assert child_environment(inherited, threads=1)["CUDA_VISIBLE_DEVICES"] == ""
