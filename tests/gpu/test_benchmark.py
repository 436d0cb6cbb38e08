import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.steps import gpu_step
from models.devices.placement import CPU, Placement
from models.dp.errors import UnevenRounding


def test_it_refuses_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_step.main(["--out", str(tmp_path / "results.json")]) == 2
    assert gpu_step.REFUSAL in capsys.readouterr().err
    assert not (tmp_path / "results.json").exists()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_step, "WIDTHS", (16,))
    monkeypatch.setattr(gpu_step, "IMAGES", (((1, 8, 8), (16,), 2),))
    monkeypatch.setattr(gpu_step, "LABELS", (((1, 8, 8), (16,), 2),))
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def test_its_steps_and_its_file_at_a_tiny_size(tiny: None, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    words = ["--device", "cpu", "--batches", "20", "--precisions", "bf16", "--rounds", "1"]
    assert gpu_step.main([*words, "--out", str(file)]) == 0
    written = json.loads(file.read_text())
    image = "of images 1x8x8, channels 16"
    assert [shape["critic"] for shape in written["shapes"]] == ["linear 16", image, f"labels {image}"]
    assert {shape["precision"] for shape in written["shapes"]} == {"bf16"}
    for shape in written["shapes"]:
        assert not shape["recorded"], "the CPU has no CUDA graphs"
        assert (shape["batch"], shape["records_of_a_unit"], shape["steps"]) == (20, 16, 5)
        assert shape["private_over_ordinary"] > 0.0
        assert shape["private_over_played"] > 0.0
    assert "gpu" not in written["machine"], "nothing was measured on one"


def test_what_was_measured_is_kept_when_the_time_is_up(
    tiny: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole, left = gpu_step.measure, [1]

    def cut(*given: Any) -> dict[str, Any]:
        if not left:
            raise KeyboardInterrupt
        left.pop()
        return whole(*given)

    monkeypatch.setattr(gpu_step, "measure", cut)
    file = tmp_path / "results.json"
    words = ["--device", "cpu", "--batches", "20", "--precisions", "bf16", "--rounds", "1"]
    with pytest.raises(KeyboardInterrupt):
        gpu_step.main([*words, "--out", str(file)])
    assert [shape["critic"] for shape in json.loads(file.read_text())["shapes"]] == ["linear 16"]


def test_a_shape_that_is_refused_does_not_hide_the_others(
    tiny: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    errors: list[Exception] = [UnevenRounding(), torch.OutOfMemoryError()]
    whole = gpu_step.measure

    def refused(*given: Any) -> dict[str, Any]:
        if errors:
            raise errors.pop(0)
        return whole(*given)

    monkeypatch.setattr(gpu_step, "measure", refused)
    words = ["--device", "cpu", "--batches", "20", "--precisions", "tf32", "--rounds", "1"]
    assert gpu_step.main(words) == 1
    shapes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [shape.get("refused") for shape in shapes] == ["uneven-rounding", "out-of-memory", None]
    assert [shape["batch"] for shape in shapes] == [20, 20, 20]


def test_the_private_step_takes_repeatable_kernels_as_in_a_training_child(tiny: None) -> None:
    seen: dict[str, list[bool]] = {}
    placement = Placement(devices=(CPU,), data_parallel=True)
    steps, private = gpu_step.contenders("linear 16", 20, placement)
    torch.use_deterministic_algorithms(mode=False)

    def noted(name: str) -> Any:
        whole = {"private": private.step, "ordinary": torch.lerp}[name]

        def note(*given: Any) -> Any:
            seen.setdefault(name, []).append(torch.are_deterministic_algorithms_enabled())
            return whole(*given)

        return note

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(private, "step", noted("private"))
        steps["private"](0)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(torch, "lerp", noted("ordinary"))
        steps["ordinary"](0)
    assert seen == {"private": [True], "ordinary": [False]}
