"""What a process notes of the files that it reads and runs: to tell what is new takes as long with
many files as with few."""

import sys
from collections.abc import Iterator

import pytest

from nparam_lint.worker.state import NOWHERE, STATE
from nparam_lint.worker.tracing.dependency_record import DependencyRecord, FileRecord
from nparam_lint.worker.tracing.project_paths import is_project, place_of_frame


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


@pytest.mark.parametrize(("root", "answer"), [("/project", True), ("", False)])
def test_a_process_that_stays_has_no_project(root: str, answer: bool) -> None:
    """What it asks of the machine is nothing that a count depends on."""
    STATE.begin_run(NOWHERE | {"root": root}, worker="")
    assert is_project("/project/nets.py") is answer
    STATE.begin_run(NOWHERE, worker="")
