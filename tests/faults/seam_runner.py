"""The training child of a drill: the real one, but for the ONNX file.

PyTorch's exporter takes longer than all the rest of so small a job, and what it writes follows from the weights; the
drill compares the weights. tests/workers kills and resumes jobs with the real exporter.
"""

import hashlib
import sys

import safetensors.torch

from models import bundle
from models.synthesizer import TrainedGenerator
from workers import runner


def quick_export(generator: TrainedGenerator) -> bytes:
    """Give bytes that follow from the weights, in place of the network."""
    return hashlib.sha256(safetensors.torch.save(generator.network.state_dict())).digest()


if __name__ == "__main__":
    bundle.export_onnx = quick_export
    sys.exit(runner.main(sys.argv[1:]))
