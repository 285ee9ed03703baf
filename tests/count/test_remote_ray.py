"""A Ray cluster as programs of its own. Ray is not installed for every commit: it takes 260 MB."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dask_programs import comparable, environment_with, write_nets
from processes import has_reader, marked, reading, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.thorough
pytest.importorskip("ray")


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def address(tmp_path_factory, environ) -> Iterator[str]:
    place = tmp_path_factory.mktemp("ray")
    port, log = free_port(), place / "log"
    command = [
        *(str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", "--num-cpus=2"),
        *(f"--ray-client-server-port={port}", f"--port={free_port()}", "--disable-usage-stats"),
        "--include-dashboard=false",
    ]
    with log.open("wb") as stream:
        head = subprocess.Popen(command, env=environ, stdout=stream, stderr=stream, cwd=place)
    try:
        wait_until(lambda: head.poll() is not None or b"Ray runtime started" in log.read_bytes())
        assert head.poll() is None, log.read_text()
        yield f"ray://127.0.0.1:{port}"
    finally:
        head.terminate()
        head.wait(30)


def test_answers_are_those_of_a_local_run(nparam_lint_process, project, address) -> None:
    root = project("default_config")
    here = nparam_lint_process("--no-cache", "--format", "json", cwd=root)
    there = nparam_lint_process("--on", address, "--format", "json", cwd=root)
    assert there.stderr == here.stderr == ""
    assert comparable(there.stdout) == comparable(here.stdout)
    assert json.loads(there.stdout)["environment"]["reason"] == f"{address}, 1 machine"


def test_ctrl_c_ends_what_runs_elsewhere(tmp_path, address, environ) -> None:
    pipe, root = tmp_path / "pipe", tmp_path / "project"
    os.mkfifo(pipe)
    write_nets(root, 2, Net0=reading(pipe))
    value = os.urandom(4).hex()
    process = subprocess.Popen(
        [sys.executable, "-m", "nparam_lint", "--on", address],
        cwd=root,
        env={**environ, "MARK": value},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        wait_until(lambda: has_reader(pipe))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (130, "nparam-lint: interrupted\n")
        wait_until(lambda: not marked(f"MARK={value}"))
    finally:
        process.kill()
        process.communicate()


def test_no_torch_there(nparam_lint_process, tmp_path, address) -> None:
    root = tmp_path / "project"
    write_nets(root, 1)
    bare = environment_with(tmp_path / "bare")
    done = nparam_lint_process("--on", address, "--remote-python", bare, cwd=root)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"has no torch in {bare}/bin/python\nnext: install it there" in done.stderr
