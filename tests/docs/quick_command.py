"""The command `understudy` for code blocks, without starting Python for each: a server has it loaded and forks.

    python quick_command.py serve SOCKET        until it is killed
    python quick_command.py ask SOCKET WORDS    as `understudy WORDS` does: own folder, environment, streams, exit status

The server runs from this repository; whoever asks needs nothing but the standard library. Trainings are given few steps:
what a block shows is the way, not the rows.
"""

import array
import importlib
import json
import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MOST = 1 << 20
LOADED = (
    "core.artifacts.sampling.sampler",
    "understudy.local.sampling.bundle",
    "understudy.verifying.verification",
    "understudy.drafts.tables",
)
"""What most commands import besides."""
SMALL: Mapping[str, Any] = {
    "steps": 3, "pretraining_steps": 3, "generator_width": 16, "generator_batch_size": 16, "latent_dimension": 4,
    "critic_width": 16, "critic_steps": 1,
}  # fmt: skip
MODEL_STEPS = 40
"""Of private models: after 3 steps one in ten answered one class to all inputs, with which `understudy publish` fails."""


def order_little() -> None:
    """Let quotes and orders of this process that leave the options open ask for few steps, and the same order be one.

    The service answers an order that is sent again under its key with the job that it has: a page that orders what
    another page has ordered goes the whole way, and nothing is trained twice.
    """
    from understudy.client.jobs import Jobs

    ask, order = Jobs.ask_quote, Jobs.order_job

    def few(terms: dict[str, Any], options: Any) -> dict[str, Any]:
        if terms.get("model") is not None:
            return terms | {"model": {"steps": MODEL_STEPS} | terms["model"]}
        return terms | {"options": options or dict(SMALL)}

    def little(client: Jobs, dataset_id: str, *, options: Any = None, **more: Any) -> Any:
        return ask(client, dataset_id, **few(more, options))

    def one(client: Jobs, dataset_id: str, *, epsilon: float, options: Any = None, **more: Any) -> Any:
        more |= {
            "grant_id": None,
            "idempotency_key": f"{dataset_id} {epsilon} {more.get('delta')}".replace(" ", "-"),
        }
        return order(client, dataset_id, epsilon=epsilon, **few(more, options))

    Jobs.ask_quote, Jobs.order_job = little, one  # type: ignore[method-assign]


def serve(path: str) -> None:
    """Answer one after the other."""
    from understudy.cli import main

    for module in LOADED:
        importlib.import_module(module)
    order_little()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        while True:
            asked, _ = listener.accept()
            with asked:
                said, streams, _, _ = socket.recv_fds(asked, MOST, 3)
                child = os.fork()
                if child == 0:
                    _become(json.loads(said), streams)
                    _run(main)
                for stream in streams:
                    os.close(stream)
                _, status = os.waitpid(child, 0)
                asked.sendall(str(os.waitstatus_to_exitcode(status)).encode())


def _become(said: Mapping[str, Any], streams: list[int]) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.chdir(said["folder"])
    os.environ.clear()
    os.environ.update(said["environment"])
    sys.argv = ["understudy", *said["words"]]


def _run(main: Any) -> None:
    status = 70
    try:
        main()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        # private: the standard library's own name of an exit without clean-up
        os._exit(status)


def ask(path: str, words: list[str]) -> int:
    """Have it run, with this process's folder, environment and streams."""
    said = {"words": words, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect(path)
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
        asking.sendmsg([json.dumps(said).encode()], rights)
        return int(asking.recv(16) or b"70")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    sys.exit(ask(sys.argv[2], sys.argv[3:]))
