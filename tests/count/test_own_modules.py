"""The worker's own modules and the project's live in one process, and never in each other's way."""

import ast
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from worker_runs import MODES, PYTHON, run

from nparam_lint.ground import WORKER

PACKAGE = Path(WORKER).parent
GROUND = PACKAGE.parent / "ground"  # as much of it as the worker reads
SHARED = [
    GROUND / f"{name}.py"
    for name in ("__init__", "facts", "metrics", "nearest", "orders", "script_words")
]
PARTS = sorted([*PACKAGE.rglob("*.py"), *SHARED])
NAMES = sorted({p.stem for p in PARTS} - {"__init__"} | {p.parent.name for p in PARTS})
if find_spec("cuda"):  # comes with some builds of torch; a project's file does not hide it
    NAMES.remove("cuda")


@pytest.mark.parametrize("mode", MODES)
def test_a_project_may_call_its_modules_as_the_worker_calls_its_own(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    for width, name in enumerate(NAMES, start=1):
        (tmp_path / f"{name}.py").write_text(f"WIDTH = {width}\n")
    ours = f"[p for p in sys.path if p.startswith({str(PACKAGE)!r})]"
    (tmp_path / "net.py").write_text(
        f"import sys\nfrom torch import nn\nimport {', '.join(NAMES)}\n\n\n"
        f"class Net(nn.Linear):\n    def __init__(self):\n"
        f"        super().__init__({' + '.join(f'{name}.WIDTH' for name in NAMES)}, 1)\n"
        f"        self.ours = nn.Linear(10_000, len({ours}))\n"
    )
    answers = run(tmp_path, ["net.py::Net"], environ=mode)
    assert answers.measured("net.py::Net").counts.total == sum(range(1, len(NAMES) + 1)) + 1


def test_a_file_is_no_test_of_python_itself(tmp_path: Path) -> None:
    """Python has a package `test`, too: a script of that name hides it, as where it is run."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "sizes.py").write_text("WIDTH = 3\n")
    (tmp_path / "code" / "test.py").write_text(
        "from torch import nn\nfrom sizes import WIDTH\n\n\nclass Net(nn.Linear):\n"
        "    def __init__(self):\n        super().__init__(WIDTH, 1)\n"
    )
    answers = run(tmp_path, ["code/test.py::Net"])
    assert answers.measured("code/test.py::Net").counts.total == 4


@pytest.mark.thorough
def test_it_starts_where_no_bytecode_can_be_kept(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(PACKAGE, tmp_path / "worker", ignore=lambda *_: ["__pycache__"]))
    ground = tmp_path / "ground"
    ground.mkdir()
    for path in SHARED:
        shutil.copy(path, ground)
    for folder in (ground, copy, *filter(Path.is_dir, copy.iterdir())):
        (folder / "__pycache__").touch()  # in the way, for whoever may write too
    done = subprocess.run(
        [PYTHON, copy / "launch.py"],
        input="",
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    # Nobody told it what to do: it has imported torch, and goes without a word.
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("path", PARTS, ids=lambda p: p.relative_to(PACKAGE.parent).as_posix())
def test_it_keeps_to_the_standard_library_and_to_the_syntax_of_the_oldest_python(
    path: Path,
) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))
    names = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
    absolute = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and not n.level]
    tops = {name.partition(".")[0] for name in names | {n.module or "" for n in absolute}}
    assert tops <= {*sys.stdlib_module_names, "torch"}
