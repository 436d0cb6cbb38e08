"""What the processes of a deployment import at their start, in processes of their own: other tests load more.

A child starts once per job and attempt: it imports what every training needs and nothing else.
"""

import subprocess
import sys

import pytest

from tests.cases import daily

OF_FEW_JOBS = (
    "celery",
    "kombu",
    "redis",
    "sklearn",
    "pandas",
    "fastapi",
    "starlette",
    "jinja2",
    "onnx",
)
NOT_AT_START = {
    "service.app": ("alembic", "mako", "onnxruntime"),
    "workers.app": ("alembic", "jinja2", "onnxruntime", "torch"),
}
COMPILERS = ("torch._dynamo", "torch._inductor", "sympy", "onnxscript", "networkx")
TRAINING = f"""
import sys
from workers.training_child import repeatable
print([name for name in {OF_FEW_JOBS} if name in sys.modules])
from models.registry import make_synthesizer
from models.synthesizer import NullHost
from tests.models.idpgan.jobs import small_plan
from tests.models.coded_tables import small_table, streams
repeatable(1)
import torch
assert torch.are_deterministic_algorithms_enabled() and not torch.is_deterministic_algorithms_warn_only_enabled()
from models.bundle import export_onnx
from tests.models.idpgan.image_jobs import image_plan, small_images
table, images = small_table(), small_images()
synthesizer = make_synthesizer("idpgan")
for records, plan in ((table, small_plan(table)), (images, image_plan())):
    export_onnx(synthesizer.fit(records, plan, streams(0), NullHost()))
print([name for name in {COMPILERS} if name in sys.modules])
"""


@pytest.mark.parametrize("role", daily(NOT_AT_START, some=["workers.app"]))
def test_a_process_starts_without_libraries_that_it_may_never_use(role: str) -> None:
    program = f"import sys, {role}; print(*({set(NOT_AT_START[role])!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not done.stdout.split()


def test_a_child_imports_no_library_that_few_jobs_use_and_a_training_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["[]", "[]", ""]
