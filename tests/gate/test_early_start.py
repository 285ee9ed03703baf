"""The worker imports torch while the rest of the project is read; where nothing can be built, it is
not started at all."""

import sys

import pytest
from model_source import TORCH, model_class
from sample_files import write_files

from nparam_lint.discover import discover, scan_source

DECLARED = "A net.\n\n    nparam: 110\n    "


def net(doc="A net.", takes=""):
    return TORCH + model_class("Net", "self.layer = nn.Linear(10, 10)", doc=doc, takes=takes)


FILES = {
    "nothing declared": (net(), ["--declared"], 0),
    "in another word": (net("A net. It has nparam parameters."), ["--declared"], 0),
    "needs arguments": (net(takes="a, b"), [], 0),
    "no model": ("import torch\nx = torch.ones(2)\n", [], 0),
    "source only": (net(DECLARED), ["--static"], 0),
    "declared": (net(DECLARED), ["--declared"], 1),
}


@pytest.mark.parametrize("name", FILES)
def test_the_worker_is_started_where_something_can_be_built(nparam_lint, tmp_path, name):
    source, options, times = FILES[name]
    python, trace = tmp_path / "python", tmp_path / "trace"
    trace.touch()
    python.write_text(f'#!/bin/sh\necho "$*" >> "{trace}"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    root = write_files(tmp_path / "project", {"net.py": source})
    done = nparam_lint(*options, "--python", python, "--no-cache", cwd=root)
    assert done.returncode == 0, done.stderr
    assert trace.read_text().count("launch.py") == times


def test_it_is_started_before_most_files_are_read(tmp_path):
    sources = {f"b{number}.py": net() for number in range(100)}
    write_files(tmp_path, {"a.py": net(DECLARED), **sources})
    read = []

    def scan(path, source):
        read.append(path)
        return scan_source(path, source)

    when = []
    files = sorted(path.name for path in tmp_path.iterdir())
    discover(tmp_path, files, scan=scan, on_found=lambda _: when.append(len(read)))
    assert (when[0], len(when)) == (1, len(files))
