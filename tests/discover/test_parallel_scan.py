"""Files read over several processes say what they say when they are read by one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from nparam_lint.discover import parallel_scan, source_tree
from nparam_lint.discover.parallel_scan import scan_many
from nparam_lint.discover.scan import import_statements, scan_source
from nparam_lint.discover.source_tree import SourceTree

SOURCES = {
    f"net{n}.py": f'from torch import nn\nclass Net{n}(nn.Module):\n    """é"""\n'.encode()
    + b"    size = [1]\n" * n
    for n in range(20)
} | {"bad.py": b"class A(:", "empty.py": b""}


def with_process_id(path, source):
    """A scan that says which process it ran in."""
    return replace(scan_source(path, source), path=f"{path} {os.getpid()}")


def dying(path, source):
    """A scan that ends every process but that of the test."""
    if os.environ["TESTED_BY"] != str(os.getpid()):
        os._exit(3)
    return scan_source(path, source)


@pytest.fixture
def three_processes(monkeypatch):
    monkeypatch.setattr(parallel_scan, "A_PROCESS", 100)
    monkeypatch.setattr(source_tree, "A_PROCESS", 100)
    monkeypatch.setattr(parallel_scan, "cores", lambda: 3)
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("TESTED_BY", str(os.getpid()))
    for scan in (with_process_id, dying):
        monkeypatch.setattr(scan, "__module__", "test_parallel_scan")


@pytest.mark.usefixtures("three_processes")
def test_each_core_has_a_process_and_all_say_what_one_says():
    found = dict(scan_many(SOURCES, with_process_id, 60))
    assert len({facts.path.split()[1] for facts, _ in found.values()}) == 3
    assert {path: (replace(facts, path=path), it) for path, (facts, it) in found.items()} == {
        path: (scan_source(path, source), import_statements(source))
        for path, source in SOURCES.items()
    }


def test_a_few_files_need_no_other_process():
    found = dict(scan_many(SOURCES, with_process_id, 60))
    assert {facts.path.split()[1] for facts, _ in found.values()} == {str(os.getpid())}


@pytest.mark.usefixtures("three_processes")
def test_what_a_process_that_dies_did_not_read_is_read_when_it_is_asked_for():
    assert 0 < len(dict(scan_many(SOURCES, dying, 60))) < len(SOURCES)
    tree = SourceTree(SOURCES, SOURCES.__getitem__, scan=dying)
    tree.scan_all(SOURCES)
    assert {p: tree.facts(p) for p in SOURCES} == {p: scan_source(p, s) for p, s in SOURCES.items()}


def test_a_file_that_cannot_be_read_is_a_problem():
    def read(path):
        raise PermissionError(13, "Permission denied", path)

    tree = SourceTree({"net.py"}, read)
    tree.scan_all(["net.py"])
    assert tree.facts("net.py").problem.message == "cannot be read: Permission denied"
