"""The count of a model is what a fresh interpreter gives that imports its file alone and builds it
alone, whatever other models and files leave behind, and stale bytecode."""

import os
import py_compile
import subprocess
from pathlib import Path

import pytest
from case_books import Case, ProjectBook, cases_beside
from sample_files import write_files
from worker_runs import PYTHON, Run, run, snapshot

CASES = cases_beside(__file__, "marks")
IMPORTS = """\
import json, os, tempfile
import torch
from torch import nn
import held_{number} as held
"""
NET = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {before}
        self.a = nn.Conv1d({width}, 1, 1, bias=False)
"""


# Of each kind: the first model of a file leaves the mark and its second would see it; a file leaves
# it when it is imported, and another would see that; one constructor leaves and sees it.
TARGETS = {
    "builds_{}.py::Marks": 8,
    "builds_{}.py::Sees": 8,
    "early_{}.py::Quiet": 8,
    "late_{}.py::Sees": 8,
    "both_{}.py::Both": 9,  # or the others would show nothing
}


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("together")
    for case in (parameter.values[1] for parameter in CASES):
        number, files = case.number, {name: text.decode() for name, text in case.files.items()}
        held, mark, seen = (files.get(name, "").strip() for name in ("held.py", "mark", "seen"))
        (root / f"held_{number}.py").write_text(held)
        start = IMPORTS.format(number=number)
        marks = NET.format(name="Marks", before=mark, width=8)
        sees = NET.format(name="Sees", before="", width=f"8 + bool({seen})")
        quiet = NET.format(name="Quiet", before="", width=8)
        both = NET.format(name="Both", before=mark, width=f"8 + bool({seen})")
        (root / f"builds_{number}.py").write_text(start + marks + sees)
        (root / f"early_{number}.py").write_text(f"{start}{mark}\n{quiet}")
        (root / f"late_{number}.py").write_text(start + sees)
        (root / f"both_{number}.py").write_text(start + both)
    return run(root, [name.format(number) for number in range(len(CASES)) for name in TARGETS])


@pytest.mark.parametrize(("book", "case"), CASES)
def test_a_model_is_counted_as_if_it_were_alone(
    together: Run, book: ProjectBook, case: Case, request: pytest.FixtureRequest
) -> None:
    names = {target: target.format(case.number) for target in TARGETS}
    totals = {target: together.measured(name).counts.total for target, name in names.items()}
    said = "not seen" if totals == TARGETS else f"{totals}"
    book.check(case.number, said, update=request.config.getoption("update"))


def edit_unseen(path: Path, new: str) -> None:
    """Compile the file as it is, then change it so that its bytecode still looks fresh."""
    py_compile.compile(str(path), doraise=True)
    old = path.stat()
    assert len(new) == old.st_size
    path.write_text(new)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))


def test_bytecode_is_never_believed(tmp_path: Path) -> None:
    start = "import importlib\nfrom torch import nn\n"
    direct = start + NET.format(name="Net", before="", width="512")
    late = "importlib.import_module('deep.other').WIDTH"
    files = {
        "direct.py": direct,
        "far.py": f"{start}from middle import WIDTH\n"
        + NET.format(name="Net", before="", width="WIDTH"),
        "middle.py": "from deep.width import WIDTH\n",
        "late.py": start + NET.format(name="Net", before="", width=late),
        "deep/__init__.py": "",
        "deep/width.py": "WIDTH = 512\n",
        "deep/other.py": "WIDTH = 512\n",
    }
    write_files(tmp_path, files)
    for name in ("direct.py", "deep/width.py", "deep/other.py"):
        edit_unseen(tmp_path / name, files[name].replace("512", "768"))
    command = [PYTHON, "-B", "-c", "from deep.width import WIDTH; print(WIDTH)"]
    assert subprocess.check_output(command, cwd=tmp_path, text=True) == "512\n"  # Python is fooled
    before = snapshot(tmp_path)
    targets = [f"{name}.py::Net" for name in ("direct", "far", "late")]
    done = run(tmp_path, targets)
    assert [done.measured(target).counts.total for target in targets] == [768, 768, 768]
    assert snapshot(tmp_path) == before
