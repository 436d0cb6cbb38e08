"""What a training child imports, in a process of its own: other tests load more."""

import subprocess
import sys

TRAINING = """
import sys
from workers.training_child import repeatable
from models.registry import make_synthesizer
from models.synthesizer import NullHost
from tests.models.idpgan.jobs import small_plan
from tests.models.tables import small_table, streams
repeatable(1)
import torch
assert torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
table = small_table()
make_synthesizer("idpgan").fit(table, small_plan(table), streams(0), NullHost())
print(*(name for name in ("torch._dynamo", "torch._inductor", "sympy", "onnxscript", "networkx") if name in sys.modules))
"""


def test_a_training_of_a_table_imports_neither_a_compiler_nor_graphs() -> None:
    done = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, check=True)
    assert not done.stdout.split()
