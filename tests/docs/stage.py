"""A real service with something on it, on which the code blocks of the documentation play."""

import ast
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

import understudy.local
from core.artifacts.packing import pack
from tests.core.artifacts import image_stand_in
from tests.docs import quick_command
from tests.docs.code_blocks import Block
from tests.system.conftest import COMMAND, Up
from understudy import Client
from understudy.publishing.grant_requests import introduce
from understudy.simulation import write_table

QUICK = Path(quick_command.__file__)
ADDRESS = "https://service.example"
BOARD = "https://board.example.org"
KEYS = {"us_owner...": "owner", "us_analyst...": "analyst", "us_admin...": "admin", "us_...": "analyst"}
"""What pages write instead of a key, the longest first."""
TABLE = "admissions.csv"
"""The pages' table; a dataset is called after its file, and the same name has the same budget."""
PICTURES, DIGITS = "pictures.npz", "digits.npz"
"""Images that the pages publish: as a generator, and as a model."""
ROWS = 600
MOST_SECONDS = 600
LASTING = "understudy up "
"""How a block begins that runs until it is stopped."""


@dataclass(frozen=True)
class Stage:
    """The running stack, the folder of what was published first, and the loaded command.

    Attributes:
        up: the stack.
        published: rows, domain and what the README's own commands left of them.
        command: folder of the command, first on the path.
    """

    up: Up
    published: Path
    command: Path

    def client(self, role: str) -> Client:
        """Somebody's client."""
        return self.up.connection.client(role)

    def environment(self, block: Block) -> dict[str, str]:
        """What a shell block may name, as the service has it now."""
        with self.client("analyst") as analyst, self.client("owner") as owner:
            facts = {"ANALYST": analyst.governance.who_am_i().principal_id}
            ours = self.dataset_id(analyst, PICTURES if block.page.stem == "image-releases" else TABLE)
            if releases := [one for one in analyst.list_releases() if one.dataset_id == ours]:
                facts |= {
                    "RELEASE": releases[0].id,
                    "JOB": releases[0].job_id,
                    "DATASET": releases[0].dataset_id,
                }
            if "$REQUEST" in block.text:
                facts["REQUEST"] = analyst.governance.file_request(
                    facts["DATASET"], epsilon=0.6, delta=2e-6, purpose="To be decided on."
                ).id
            if "$THIRD" in block.text:
                facts["OTHER"], facts["THIRD"] = (
                    self._alike(owner, analyst, name) for name in ("Other", "Third")
                )
            if "budget request " in block.text:
                self._withdraw(analyst)
            facts["OWNER"] = owner.governance.who_am_i().principal_id
        path = f"{self.command}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        home = str(self.up.data_folder)
        facts["KEY"] = self.up.connection.keys["analyst"]
        kept = {"PATH": path, "HOME": home, "UNDERSTUDY_DATA_FOLDER": home, "LC_ALL": "C.UTF-8"}
        return kept | facts

    def _alike(self, owner: Client, analyst: Client, name: str) -> str:
        """Declare a dataset of other people under the same domain, with a budget, which the analyst may see. Returns its id."""
        ours = owner.read_dataset(self.dataset_id(owner))
        made = owner.declare_dataset(
            name=name, domain=ours.document["domain"], declared_size=ours.declared_size
        )
        introduce(owner, analyst, made)
        with self.client("admin") as admin:
            admin.set_budget(made.id, epsilon=9, delta=1e-4, reason="the page")
        return made.id

    def given(self) -> dict[str, Any]:
        """What a Python block may name that its page does not make."""
        domain = json.loads((self.published / "domain.json").read_text())
        domain.pop("declared_size", None)
        with self.client("analyst") as analyst:
            dataset_id = self.dataset_id(analyst)
        return {"domain": domain, "dataset_id": dataset_id, "frame": pd.read_csv(self.published / TABLE)}

    def tidy(self) -> None:
        """Leave the analyst with one wide grant under a wide cap, nothing open and nothing frozen."""
        with self.client("analyst") as analyst, self.client("admin") as admin:
            self._withdraw(analyst)
            dataset_id = self.dataset_id(analyst)
            if admin.read_budget(dataset_id).document.get("frozen_at"):
                admin.governance.unfreeze(dataset_id, reason="the page is read")
            admin.set_budget(dataset_id, epsilon=9, delta=1e-4, reason="the next page")
            for grant in analyst.governance.list_grants(dataset_id):
                if grant.state == "open":
                    admin.governance.revoke_grant(grant.id)
            asked = analyst.governance.file_request(
                dataset_id, epsilon=4, delta=4e-5, purpose="The next page."
            )
            admin.governance.approve_request(asked.id)

    @staticmethod
    def dataset_id(client: Client, file: str = TABLE) -> str:
        """The pages' dataset, or nothing before there is one."""
        name = file.partition(".")[0]
        return next((dataset.id for dataset in client.list_datasets() if dataset.name == name), "")

    @staticmethod
    def _withdraw(analyst: Client) -> None:
        for request in analyst.governance.list_requests(state="open"):
            analyst.governance.withdraw_request(request.id)

    def run(self, block: Block, folder: Path, names: dict[str, Any]) -> None:
        """Run a block in a folder; its failure is told with its place and what it said."""
        if block.text.startswith(LASTING):
            run_until_stopped(block)
            return
        if block.language == "sh":
            text = block.text.replace(BOARD, self.up.connection.url)
            run_shell(text, block.place, folder, self.environment(block))
            return
        code = block.text.replace(ADDRESS, self.up.connection.url)
        for written, role in KEYS.items():
            code = code.replace(written, self.up.connection.keys[role])
        tree = ast.increment_lineno(ast.parse(code), block.line - 1)  # a traceback names the page's own line
        last = ast.Expression(tree.body.pop().value) if isinstance(tree.body[-1], ast.Expr) else None  # type: ignore[attr-defined]
        exec(compile(tree, str(block.page), "exec"), names)
        if last is not None:
            show(eval(compile(last, str(block.page), "eval"), names))


def run_shell(
    text: str, place: str, folder: Path, environment: dict[str, str], *, seconds: float = MOST_SECONDS
) -> str:
    """Run commands in bash, require that each succeeds, and return their standard output. A failure names the place."""
    finished = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", text],
        cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=seconds,
    )  # fmt: skip
    assert finished.returncode == 0, f"{place}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def run_until_stopped(block: Block) -> None:
    """Start the stack that a block starts, in a home of its own and on a free port, and stop it as a person does."""
    # Not below the folder of the test: the path of a socket has at most 107 bytes.
    with TemporaryDirectory() as home:
        shim = Path(home, "understudy")
        shim.write_text(f'#!/bin/sh\nexec {shlex.join(COMMAND)} "$@" --port 0\n')
        shim.chmod(0o755)
        path = f"{home}:{os.environ['PATH']}"
        data = Path(home, "understudy-data")
        up = Up.run(["bash", "-euo", "pipefail", "-c", f"exec {block.text}"], data, HOME=home, PATH=path)
        try:
            assert up.ready().connection.keys, block.place
            assert up.stop() == 0, block.place
        finally:
            up.end()


def show(value: object) -> None:
    """Have a value drawn as a notebook does."""
    for way in ("_repr_png_", "_repr_html_", "__repr__"):
        if hasattr(value, way):
            assert methodcaller(way)(value)
            return


@contextmanager
def staged(folder: Path, up: Up, first: Callable[[Stage, Path], None]) -> Iterator[Stage]:
    """Start the command beside a running stack, and let the first page fill both.

    Args:
        folder: an empty folder.
        up: the stack; what others have on it is left alone.
        first: runs the first page in a folder that holds the rows and nothing else, as a newcomer has it.
    """
    published = folder / "published"
    rows, domain = write_table(published, rows=ROWS)
    rows.rename(published / TABLE)
    domain.unlink()
    (command := folder / "bin").mkdir()
    with quick(folder / "command.socket") as socket:
        shim = command / "understudy"
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" -ISE "{QUICK}" ask "{socket}" "$@"\n')
        shim.chmod(0o755)
        stage = Stage(up, published, command)
        first(stage, published)
        stage.tidy()
        yield stage


@contextmanager
def quick(socket: Path) -> Iterator[Path]:
    """The loaded command, listening."""
    root = QUICK.parents[2]
    server = subprocess.Popen(
        [sys.executable, str(QUICK), "serve", str(socket)], env=os.environ | {"PYTHONPATH": str(root)}
    )
    try:
        end = time.monotonic() + MOST_SECONDS
        while not socket.exists():
            assert server.poll() is None, "the command did not load"
            assert time.monotonic() < end
            time.sleep(0.02)
        yield socket
    finally:
        server.kill()
        server.wait()


def page_folder(stage: Stage, folder: Path, blocks: Sequence[Block]) -> None:
    """Fill a folder as a reader of any page has it: rows, what was published of them, and a domain that the page does not draft."""
    drafts = any("--out domain.json" in block.text for block in blocks)
    for name in (TABLE,) if drafts else (TABLE, "domain.json"):
        shutil.copy(stage.published / name, folder)
    shutil.copytree(stage.published / "folder", folder, dirs_exist_ok=True)
    shutil.copytree(stage.published / "folder", folder / "understudy-demo")
    shutil.copy(folder / "signing-keys.json", folder / "keys.json")
    if any(DIGITS in block.text for block in blocks):
        write_images(folder / DIGITS)
    if any("@federation.json" in block.text for block in blocks):
        domain = json.loads((stage.published / "domain.json").read_text())
        domain.pop("declared_size", None)
        members = [{"name": name, "declared_size": ROWS} for name in ("north", "south")]
        terms = {"name": "Readmissions", "epsilon": 1.0, "delta": 1e-6, "model": {"averaging_rounds": 200}}
        (folder / "federation.json").write_text(json.dumps(terms | {"domain": domain, "members": members}))


def images_folder(stage: Stage, folder: Path) -> None:
    """The same for pages on images: a bundle that draws pictures, and some that it drew."""
    (folder / "bundle.zip").write_bytes(pack(image_stand_in.bundle(), readme="read me"))
    write_images(folder / PICTURES)
    for words in (
        ("sample", "--bundle", "bundle.zip", "--rows", "60", "--out", "synthetic.npz"),
        (
            "publish",
            PICTURES,
            "--domain",
            "pictures.json",
            "--epsilon",
            "1",
            "--delta",
            "1e-5",
            "--out",
            "published",
        ),
    ):
        home = {"UNDERSTUDY_DATA_FOLDER": str(stage.up.data_folder), "HOME": str(stage.up.data_folder)}
        subprocess.run(
            [stage.command / "understudy", *words],
            cwd=folder,
            check=True,
            capture_output=True,
            env=os.environ | home,
        )


def write_images(file: Path) -> None:
    """Write small images of two labels, dark and light, and beside them their domain."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, ROWS)
    pixels = np.clip(rng.normal(70 + 110 * labels[:, None, None, None], 30, (ROWS, 8, 8, 1)), 0, 255)
    np.savez(file, images=pixels.astype(np.uint8), labels=labels.astype(str))
    domain = {"schema": "understudy.images/1", "height": 8, "width": 8, "channels": 1, "labels": ["0", "1"]}
    file.with_suffix(".json").write_text(json.dumps(domain | {"privacy_unit": None, "declared_size": ROWS}))


@contextmanager
def few_steps() -> Iterator[None]:
    """Give trainings of this process few steps, as the loaded command does."""
    from understudy.client.jobs import Jobs
    from understudy.local import fit, synthesizer

    whole = Jobs.ask_quote, Jobs.order_job
    quick_command.order_little()
    understudy.local.fit = partial(fit, options=quick_command.SMALL)
    synthesizer.fit = lambda *given, **more: fit(*given, **more | {"options": quick_command.SMALL})
    try:
        yield
    finally:
        Jobs.ask_quote, Jobs.order_job = whole  # type: ignore[method-assign]
        del understudy.local.fit
        synthesizer.fit = fit
