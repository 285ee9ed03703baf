"""What a process notes of the files that it reads and runs: to tell what is new takes as long with
many files as with few."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nparam_lint.worker.state import NOWHERE, STATE
from nparam_lint.worker.tracing.dependency_record import DependencyRecord, FileRecord
from nparam_lint.worker.tracing.project_paths import place_of_frame


@pytest.fixture
def record() -> Iterator[DependencyRecord]:
    STATE.begin_run(NOWHERE | {"root": "/project", "places": ()}, worker="")
    yield DependencyRecord()
    STATE.begin_run(NOWHERE, worker="")


def calls_of_the_next(record: DependencyRecord, files: int) -> int:
    """How many functions are called to tell what is new, where that is one of so many files."""
    for number in range(files):
        path = f"/project/net_{number}.py"
        record.files[path] = FileRecord()
        record.shared.imports.add(path)
        record.shared.facts["stat", path] = "file"
    record.unreported()
    record.files["/project/new.py"] = FileRecord()
    record.shared.facts["stat", "/project/new.txt"] = None
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        news = record.unreported()
    finally:
        sys.setprofile(None)
    assert [*news["files"]] == ["new.py"]
    assert news["facts"] == {"stat\0new.txt": None}
    return calls


def test_only_what_is_new_is_gone_through(record: DependencyRecord) -> None:
    calls_of_the_next(DependencyRecord(), 2)  # what is looked up once in a process
    few = calls_of_the_next(record, 2)
    assert calls_of_the_next(DependencyRecord(), 500) == few


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("/project/net.py", "project"),
        ("/project/venv/lib/python3/site-packages/timm/layers.py", "package"),
        ("/usr/lib/python3/dist-packages/timm/layers.py", "package"),
        ("/usr/lib/python3/dist-packages/torch/nn/init.py", "other"),
        ("/usr/lib/python3/json/decoder.py", "other"),
        ("<nparam call>", "call"),
    ],
)
def test_what_code_belongs_to(file: str, place: str) -> None:
    names = {"frame": sys._getframe}
    exec(compile("here = frame()", file, "exec"), names)
    assert place_of_frame(names["here"]) == place


def test_what_we_ask_of_the_machine_is_no_question_of_a_project(tmp_path: Path) -> None:
    """Where a process stays, which has none, every file is taken for one of the project."""
    program = f"""
import platform
from nparam_lint.worker.state import NOWHERE, STATE
from nparam_lint.worker.tracing import read_tracer
from nparam_lint.worker.tracing.dependency_record import DependencyRecord
STATE.library = {str(Path(os.__file__).parent) + os.sep!r}
STATE.begin_run(NOWHERE, worker="")
STATE.record = DependencyRecord()
STATE.record.on = True
read_tracer.watch_machine()
exec(compile("platform.node()", read_tracer.OWN + "guard.py", "exec"))
ours = dict(STATE.record.inputs().facts)
exec(compile("platform.node()", "/project/net.py", "exec"))
print(ours, [*STATE.record.inputs().facts])
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "{} [('machine', 'node')]\n"
