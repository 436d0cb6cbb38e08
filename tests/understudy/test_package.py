import subprocess
import sys

import understudy

HEAVY = (
    "torch", "numpy", "pyarrow", "duckdb", "onnxruntime", "sqlalchemy", "fastapi", "celery", "redis", "psycopg",
    "pydantic", "cryptography", "core", "models", "service", "workers", "migrations",
)  # fmt: skip


def test_all_names_are_sorted_and_public() -> None:
    names = [name for name in dir(understudy) if not name.startswith("_")]
    public = sorted(name for name in names if not isinstance(getattr(understudy, name), type(sys)))
    assert list(understudy.__all__) == [name for name in public if name not in {"TYPE_CHECKING", "fit"}]


def test_the_client_and_its_command_import_nothing_heavy() -> None:
    program = (
        "import sys, understudy, understudy.cli, understudy.publishing.publish, understudy.embedded.supervisor\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"


def test_every_module_of_the_client_but_the_offline_ones_imports_without_the_server() -> None:
    program = """
import importlib, pkgutil, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"core", "models", "service", "workers", "torch", "numpy", "pyarrow", "duckdb"}:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent())
import understudy
stranger = {f"understudy.local{name}" for name in ("", ".html_tables", ".ledger", ".paths", ".rows", ".sampling", ".training", ".warned")}
offline = {"understudy.simulation"}
audit = ("adaptive", "anchors", "utility", "counts", "selections", "loss", "chernoff", "renyi", "accounting", "calibrated", "planned", "executed", "contents", "verification", "learning", "marginals", "reused", "private_models", "owners", "federations")
offline |= {f"understudy.verifying.{name}" for name in audit}
for module in pkgutil.walk_packages(understudy.__path__, "understudy."):
    if module.name in offline or module.name.endswith("__main__"):
        continue
    if module.name.startswith("understudy.local.") and module.name not in stranger:
        continue
    importlib.import_module(module.name)
print("fine")
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.stdout.strip() == "fine", finished.stderr
