import json
from pathlib import Path

import pytest
import torch

from benchmarks import gpu_step


def test_it_refuses_without_a_gpu(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu_step.main(["--out", str(tmp_path / "results.json")]) == 2
    assert gpu_step.REFUSAL in capsys.readouterr().err
    assert not (tmp_path / "results.json").exists()


def test_its_steps_and_its_file_at_a_tiny_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(gpu_step, "WIDTHS", (16,))
    monkeypatch.setattr(gpu_step, "IMAGES", (((1, 8, 8), (16,), 2),))
    monkeypatch.setattr(gpu_step, "LABELS", (((1, 8, 8), (16,), 2),))
    file = tmp_path / "results.json"
    words = ["--device", "cpu", "--batches", "20", "--precisions", "bf16", "--rounds", "1"]
    assert gpu_step.main([*words, "--out", str(file)]) == 0
    written = json.loads(file.read_text())
    image = "of images 1x8x8, channels 16"
    assert [shape["critic"] for shape in written["shapes"]] == ["linear 16", image, f"labels {image}"]
    assert {shape["precision"] for shape in written["shapes"]} == {"bf16"}
    for shape in written["shapes"]:
        assert not shape["recorded"], "the CPU has no recordings"
        assert (shape["batch"], shape["records_of_a_unit"], shape["steps"]) == (20, 16, 5)
        assert shape["private_over_ordinary"] > 0.0
    assert "gpu" not in written["machine"], "nothing was measured on one"
