"""What a build read, and what of it was changed since: exactly those models are built again that
could have another count now."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Answer, Checker, differences, edit, link, net, new_repository, swap, write

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = "import json, os\nfrom pathlib import Path\nH = Path(os.path.abspath(__file__)).parent"


@dataclass(frozen=True)
class Case:
    """A package with models in `a.py` (and `b.py`), and a `change` that gives all of them another
    count, unless named in `kept`. `before`: done before the first run. Both get the package's
    directory."""

    files: dict[str, str]
    change: Callable[[Path], object]
    before: Callable[[Path], object] = lambda _: None
    kept: tuple[str, ...] = ()
    beside: dict[str, str] = field(default_factory=dict)  # outside of the project: `../NAME.out/`


def outside(package: Path) -> Path:
    return package.parent.parent / f"{package.name}.out"


def one(imports: str, width: str) -> dict[str, str]:
    """A file with a model."""
    return {"a.py": net(imports, width)}


def two(imports: str, width: str) -> dict[str, str]:
    """Two files that do the same: what is done once for both must be known of each."""
    return one(imports, width) | {"b.py": net(imports, f"{width} + 1")}


MEMO = f"""\
{HERE}
import functools

@functools.lru_cache
def load():
    return json.loads((H / "c.json").read_text())
"""
GLOBAL = f"""\
{HERE}
FOUND = None

def load():
    global FOUND
    if FOUND is None:
        FOUND = 32 if (H / "big").exists() else 16
    return FOUND
"""
LAZY = """\
def __getattr__(name):
    if name == "W":
        from lazy_constant.sub import W
        globals()["W"] = W
        return W
    raise AttributeError(name)
"""


def save_script(path: Path, width: int) -> None:
    source = f"import torch; torch.jit.script(torch.nn.Linear({width}, 4)).save({str(path)!r})"
    subprocess.run([sys.executable, "-W", "ignore", "-c", source], check=True, capture_output=True)


def save_archive(path: Path, width: int) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inside_zip.py", f"W = {width}\n")


def save_width(path: Path, width: int) -> None:
    path.write_bytes(width.to_bytes(8, "little"))


def unseen(read: str) -> Case:
    """A width that C code reads from `w.bin` in the constructor; `P`: its path."""
    source = f"import ctypes, torch\n{HERE}\nP = str(H / 'w.bin')\ndef w(self):\n    {read}"
    files = {"a.py": net(source, "w(self)")}
    return Case(files, lambda p: save_width(p / "w.bin", 32), lambda p: save_width(p / "w.bin", 16))


def become_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("")


# What was read is of this kind, and nothing else in the project can be another model's.
READS = {
    "imported": Case(
        {**two("from imported.c import W", "W"), "c.py": "W = 16\n"},
        lambda p: edit(p / "c.py", "16", "32"),
    ),
    "imported_by_imported": Case(
        {
            **two("from imported_by_imported.c import *", "W"),
            "c.py": "from .d import *\n",
            "d.py": "W = 16\n",
        },
        lambda p: swap(p / "d.py", "16", "32"),
    ),
    "imported_in_constructor": Case(
        one("def w():\n    from imported_in_constructor import c\n    return c.W", "w()")
        | {"c.py": "W = 16\n"},
        lambda p: edit(p / "c.py", "16", "32"),
    ),
    "imported_by_name": Case(
        one(
            "import importlib\nW = importlib.import_module('.c', 'imported_by_name').W",
            "W",
        )
        | {"c.py": "W = 16\n"},
        lambda p: edit(p / "c.py", "16", "32"),
    ),
    "imported_by_path": Case(
        one(
            f"{HERE}\nimport importlib.util as u\n"
            "s = u.spec_from_file_location('cfg_by_path', H / 'conf' / 'c.py')\n"
            "m = u.module_from_spec(s)\ns.loader.exec_module(m)",
            "m.W",
        )
        | {"conf/c.py": "W = 16\n"},
        lambda p: edit(p / "conf/c.py", "16", "32"),
    ),
    "run_by_name": Case(
        one("import runpy\nW = runpy.run_module('run_by_name.c')['W']", "W") | {"c.py": "W = 16\n"},
        lambda p: edit(p / "c.py", "16", "32"),
    ),
    "imported_when_asked_for": Case(
        {
            "__init__.py": LAZY.replace("lazy_constant", "imported_when_asked_for"),
            "sub.py": "W = 16\n",
            **two("from imported_when_asked_for import W", "W"),
        },
        lambda p: edit(p / "sub.py", "16", "32"),
    ),
    "imported_but_ignored": Case(
        one("from imported_but_ignored.local_settings import W", "W")
        | {".gitignore": "local_settings.py\n", "local_settings.py": "W = 16\n"},
        lambda p: edit(p / "local_settings.py", "16", "32"),
    ),
    "imported_from_top_but_ignored": Case(
        one(
            f"{HERE}\nimport sys\nsys.path.append(str(H / 'own'))\nfrom local_settings import W",
            "W",
        )
        | {".gitignore": "own/\n", "own/local_settings.py": "W = 16\n"},
        lambda p: edit(p / "own/local_settings.py", "16", "32"),
    ),
    "imported_from_archive": Case(
        one(
            f"{HERE}\nimport sys\nsys.path.append(str(H / 'lib.zip'))\nfrom inside_zip import W",
            "W",
        ),
        lambda p: save_archive(p / "lib.zip", 32),
        lambda p: save_archive(p / "lib.zip", 16),
    ),
    "read_once_for_all": Case(
        {**two("from read_once_for_all.cfg import load\nW = load()", "W"), "cfg.py": MEMO}
        | {"c.json": "16"},
        lambda p: edit(p / "c.json", "16", "32"),
    ),
    "read_once_in_constructor": Case(
        {**two("from read_once_in_constructor.cfg import load", "load()"), "cfg.py": MEMO}
        | {"c.json": "16"},
        lambda p: edit(p / "c.json", "16", "32"),
    ),
    "looked_for_once_for_all": Case(
        {**two("from looked_for_once_for_all.cfg import load\nW = load()", "W"), "cfg.py": GLOBAL},
        lambda p: write(p, {"big": ""}),
    ),
    "asked_of_package": Case(
        one("import json, pkgutil\nW = json.loads(pkgutil.get_data(__package__, 'c.json'))", "W")
        | {"c.json": "16"},
        lambda p: edit(p / "c.json", "16", "32"),
    ),
    "asked_of_loader": Case(
        one("W = int(__loader__.get_data(__file__[:-4] + 'c.txt'))", "W") | {"c.txt": "16"},
        lambda p: edit(p / "c.txt", "16", "32"),
    ),
    "opened_above_link": Case(
        one(f"{HERE}\nW = json.load(open(os.path.join(H, 'nets', '..', 'cfg', 'x.json')))", "W"),
        lambda p: edit(outside(p) / "cfg/x.json", "16", "32"),
        lambda p: link(p / "nets", f"../../{p.name}.out/nets"),
        beside={"nets/x": "", "cfg/x.json": "16"},
    ),
    "opened_or_not": Case(
        one(
            f"{HERE}\ntry:\n    W = int(open(H / 'c.txt').read())\nexcept OSError:\n    W = 4", "W"
        ),
        lambda p: write(p, {"c.txt": "32"}),
    ),
    "opened_then_gone": Case(
        one(f"{HERE}\nP = H / 'c.txt'\nW = int(P.read_text()) if P.exists() else 4", "W")
        | {"c.txt": "16"},
        lambda p: (p / "c.txt").unlink(),
    ),
    "linked": Case(
        one(f"{HERE}\nW = json.loads((H / 'cfg/current').read_text())", "W")
        | {"cfg/v1.json": "16", "cfg/v2.json": "32"},
        lambda p: link(p / "cfg/current", "v2.json"),
        lambda p: link(p / "cfg/current", "v1.json"),
    ),
    "linked_and_resolved": Case(
        one(f"{HERE}\nW = json.loads((H / 'cfg/current').resolve().read_text())", "W")
        | {"cfg/v1.json": "16", "cfg/v2.json": "32"},
        lambda p: link(p / "cfg/current", "v2.json"),
        lambda p: link(p / "cfg/current", "v1.json"),
    ),
    "where_link_leads": Case(
        one(f"{HERE}\nW = int(os.readlink(H / 'current')[1:])", "W"),
        lambda p: link(p / "current", "v32"),
        lambda p: link(p / "current", "v16"),
    ),
    "whether_there": Case(
        one(f"{HERE}\nW = 32 if os.path.exists(H / 'big') else 16", "W"),
        lambda p: write(p, {"big": ""}),
    ),
    "whether_there_or_link": Case(
        one(f"{HERE}\nW = 32 if os.path.lexists(H / 'big') else 16", "W"),
        lambda p: link(p / "big", "nowhere"),
    ),
    "whether_readable": Case(
        one(f"{HERE}\nW = 32 if os.access(H / 'big', os.R_OK) else 16", "W"),
        lambda p: write(p, {"big": ""}),
    ),
    "whether_directory": Case(
        one(f"{HERE}\nW = 8 * sum(e.is_dir() for e in os.scandir(H / 'd')) + 1", "W")
        | {"d/x/k": "", "d/y/k": ""},
        lambda p: become_file(p / "d/x"),
    ),
    "size": Case(
        one(f"{HERE}\nW = os.path.getsize(H / 'v.txt')", "W") | {"v.txt": "x" * 16},
        lambda p: write(p, {"v.txt": "x" * 32}),
    ),
    "listed": Case(
        one(f"{HERE}\nW = 16 * len(os.listdir(H / 'cfg'))", "W") | {"cfg/a.yaml": ""},
        lambda p: write(p, {"cfg/b.yaml": ""}),
    ),
    "globbed": Case(
        one(f"{HERE}\nW = 16 * len([*(H / 'cfg').rglob('*.yaml')])", "W")
        | {"cfg/a/a.yaml": "", "cfg/b/x": ""},
        lambda p: write(p, {"cfg/b/b.yaml": ""}),
    ),
    "globbed_by_name": Case(
        one(f"{HERE}\nimport glob\nW = 16 + len(glob.glob(str(H / 'cfg' / '*' / 'm.json')))", "W")
        | {"cfg/a/x": "", "cfg/b/x": ""},
        lambda p: write(p, {"cfg/b/m.json": ""}),
    ),
    "read_by_compiled_code": Case(
        {
            "a.py": f"import torch\n{HERE}\nclass Net(torch.nn.Module):\n"
            "    def __init__(self):\n        super().__init__()\n"
            "        with torch.device('cpu'):\n"
            "            script = torch.jit.load(str(H / 'm.pt'))\n"
            "        self.a = torch.nn.Linear(script.weight.shape[1], 4)\n"
        },
        lambda p: save_script(p / "m.pt", 32),
        lambda p: save_script(p / "m.pt", 16),
    ),
    "decorated_elsewhere": Case(
        {
            "w.py": "import functools\nK = 16\n\ndef widen(f):\n    @functools.wraps(f)\n"
            "    def g(self):\n        f(self)\n"
            "        self.x = __import__('torch').nn.Linear(K, 1)\n    return g\n",
            "a.py": "import torch.nn as nn\nfrom decorated_elsewhere import w\n"
            "class Net(nn.Module):\n    @w.widen\n    def __init__(self):\n"
            "        super().__init__()\n",
        },
        lambda p: edit(p / "w.py", "16", "32"),
    ),
    "script": Case(
        {
            "a.py": "import argparse, torch.nn as nn\np = argparse.ArgumentParser()\n"
            "p.add_argument('--w', default=16, type=int)\nargs = p.parse_args()\n"
            "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        self.a = nn.Linear(args.w, 4)\nmodel = Net()\nmodel.train()\n"
        },
        lambda p: edit(p / "a.py", "16", "32"),
    ),
}

FOPEN = (
    "c, b = ctypes.CDLL(None), ctypes.create_string_buffer(8); f = c.open(P.encode(), 0); "
    "c.read(f, b, 8); c.close(f); return b.raw[0]"
)
# What C code reads while a model is built (and much else: `test_doors.py`).
UNSEEN = {
    # By a function of torch that nobody watches, in a process that has compiled code of others.
    "mapped_and_held": unseen(
        "import msgspec; self.s = torch._C.StorageBase.from_file(P, False, 8); return self.s[0]"
    ),
    "read_by_ctypes": unseen(FOPEN),
    "read_by_name_that_is_no_text": Case(
        {
            "a.py": net(
                f"{HERE}\nread = lambda: (H / os.fsdecode(b'w\\xff')).read_text()", "int(read())"
            ),
            "w\udcff": "16",
        },
        lambda p: edit(p / "w\udcff", "16", "32"),
    ),
    "defined_in_name_that_is_no_text": Case(
        {"m\udcff.py": net("", 16)}, lambda p: edit(p / "m\udcff.py", "16", "32")
    ),
}
# Here nothing changes what others can see, so that what has nothing to do with it is recalled.
ALONE = {
    "own_source": Case(
        {"a.py": net("", "16"), "b.py": net("", "16")},
        lambda p: swap(p / "a.py", "16", "32"),
        kept=("b.py",),
    ),
    # Nobody knows what was read: those are built each time, the others are not.
    "read_by_ctypes_when_imported": Case(
        {
            "a.py": net("from read_by_ctypes_when_imported.c import W", "W"),
            "b.py": net("", "16"),
            "c.py": f"import ctypes\n{HERE}\nP = str(H / 'w.bin')\n"
            f"def w():\n    {FOPEN}\n\nW = w()\n",
        },
        lambda p: save_width(p / "w.bin", 32),
        lambda p: save_width(p / "w.bin", 16),
        kept=("b.py",),
    ),
    "touched": Case(
        {**two("from touched.c import W", "W"), "c.py": "W = 16\n"},
        lambda p: os.utime(p / "c.py"),
        kept=("a.py", "b.py"),
    ),
}

# The same, of code that lies outside of the project: all models are built again.
OUTSIDE = {
    "imported_by_path_outside": Case(
        two(
            f"{HERE}\nimport importlib.util as u\n"
            "there = H.parent.parent / (H.name + '.out')\n"
            "s = u.spec_from_file_location('cfg_outside', there / 'c.py')\n"
            "m = u.module_from_spec(s)\ns.loader.exec_module(m)",
            "m.W",
        ),
        lambda p: write(outside(p), {"c.py": "W = 132\n"}),
        beside={"c.py": "W = 16\n"},
    ),
    "imported_through_link": Case(
        two("from imported_through_link.c import W", "W"),
        lambda p: edit(outside(p) / "c.py", "16", "32"),
        lambda p: link(p / "c.py", f"../../{p.name}.out/c.py"),
        beside={"c.py": "W = 16\n"},
    ),
    "model_through_link": Case(
        {"b.py": net("", 3)},
        lambda p: edit(outside(p) / "a.py", "16", "32"),
        lambda p: link(p / "a.py", f"../../{p.name}.out/a.py"),
        kept=("b.py",),
        beside={"a.py": net("", "16")},
    ),
}
KINDS = {"inside": READS, "alone": ALONE, "outside": OUTSIDE}
if sys.platform == "linux":  # elsewhere nothing tells what is mapped or open
    KINDS["unseen"] = UNSEEN


def place(case: Case, package: Path) -> None:
    """Write the package, and what lies outside of the project."""
    write(package, {"__init__.py": "", **case.files})
    write(outside(package), case.beside)
    case.before(package)


@pytest.fixture(scope="module")
def all_reads(
    nparam_lint: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Answer, Answer, Answer]]:
    """A project with all packages of a kind: the answers before the changes, after them, and after
    them without what was remembered."""

    @cache
    def answers(kind: str) -> tuple[Answer, Answer, Answer]:
        top = tmp_path_factory.mktemp("reads")
        root = top / "project"
        new_repository(root)
        for name, case in KINDS[kind].items():
            place(case, root / name)
        checker = Checker(nparam_lint, root, top / "cache")
        first = checker.check()
        for name, case in KINDS[kind].items():
            case.change(root / name)
        return (first, *checker.both())

    return answers


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, cases in KINDS.items() for name in cases]
)
def test_a_model_is_built_again_if_what_it_read_was_changed(
    kind: str, name: str, all_reads: Callable[[str], tuple[Answer, Answer, Answer]]
) -> None:
    answers = all_reads(kind)
    first, cached, anew = (
        {k: v for k, v in answer.totals.items() if k.startswith(f"{name}/")} for answer in answers
    )
    kept = {f"{name}/{file}::Net" for file in KINDS[kind][name].kept}
    assert first
    assert None not in first.values()
    assert {k for k in first if first[k] != anew[k]} == set(first) - kept  # the case is one
    assert cached == anew
    recalled = {k for k in first if k in answers[1].recalled}
    assert recalled == (kept if kind != "outside" else set())


@pytest.mark.parametrize("kind", KINDS)
def test_all_else_is_the_same(
    kind: str, all_reads: Callable[[str], tuple[Answer, Answer, Answer]]
) -> None:
    _, cached, anew = all_reads(kind)
    assert cached.report == anew.report
    assert anew.recalled == frozenset()


def test_files_that_read_alike_are_told_apart(
    nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    root = tmp_path / "project"
    new_repository(root)
    write(root, {name: net("", 16) for name in ("a.py", "b.py", "c.py")})
    report = Checker(nparam_lint, root, tmp_path / "cache").check().report
    sources = {m["path"]: m["modules"][1]["source"] for m in report["models"]}
    assert sources == {name: f"{name}:6" for name in ("a.py", "b.py", "c.py")}


# What decides on what an import finds: all models are built again.
CWD = "import os, sys\nH = os.path.dirname(os.path.abspath(__file__))"
TRY = "try:\n    from {0} import W\nexcept ImportError:\n    W = 16"
IMPORTS = {
    "package in place of a module": Case(
        {"a.py": net("from c import W", "W"), "c.py": "W = 16\n"},
        lambda p: write(p, {"c/__init__.py": "W = 32\n"}),
    ),
    "module that hides an installed one": Case(
        {"a.py": net("import yaml", "getattr(yaml, 'W', 16)")},
        lambda p: write(p, {"yaml.py": "W = 32\n"}),
    ),
    "module that hides one of the library": Case(
        {"a.py": net("import colorsys", "getattr(colorsys, 'W', 16)")},
        lambda p: write(p, {"colorsys.py": "W = 32\n"}),
    ),
    "module that was not there": Case(
        {"a.py": net(TRY.format("fast"), "W")}, lambda p: write(p, {"fast.py": "W = 32\n"})
    ),
    "submodule that was not there": Case(
        {"a.py": net(TRY.format("p.fast"), "W"), "p/__init__.py": ""},
        lambda p: write(p, {"p/fast.py": "W = 32\n"}),
    ),
    "module in a directory that was not there": Case(
        {
            "a.py": net(f"{CWD}\nsys.path.insert(0, H + '/extra')\nfrom c import W", "W"),
            "c.py": "W = 16\n",
        },
        lambda p: write(p, {"extra/c.py": "W = 32\n"}),
    ),
    "module outside of the project": Case(
        {"a.py": net(f"{CWD}\nsys.path.append(H + '.out')\n{TRY.format('fast')}", "W")},
        lambda p: write(outside_of(p), {"fast.py": "W = 32\n"}),
        beside={"other.py": ""},
    ),
    "submodule outside of the project": Case(
        {"a.py": net(f"{CWD}\nsys.path.append(H + '.out')\nfrom lib import W", "W")},
        lambda p: write(outside_of(p), {"lib/fast.py": "W = 32\n"}),
        beside={"lib/__init__.py": TRY.format(".fast") + "\n"},
    ),
    "package that had no __init__": Case(
        {"a.py": net("from ns.layers import W", "W"), "ns/layers.py": "W = 16\n"},
        lambda p: write(p, {"ns/__init__.py": "from . import layers\nlayers.W = 32\n"}),
    ),
    "subpackage that had no __init__": Case(
        {"a.py": net("from p.q import c", "c.W"), "p/__init__.py": "", "p/q/c.py": "W = 16\n"},
        lambda p: write(p, {"p/q/__init__.py": "class c:\n    W = 32\n"}),
    ),
    "part of a package that gets an __init__": Case(
        {
            "a.py": net(
                f"{CWD}\nsys.path[:0] = [H + '/lib', H + '/b']\nfrom ns.layers import W", "W"
            ),
            "lib/ns/layers.py": "W = 16\n",
            "b/ns/layers.py": "W = 32\n",
        },
        lambda p: write(p, {"b/ns/__init__.py": ""}),
    ),
    "name that bars a directory from the import path": Case(
        {
            "x/m/a.py": net("from common import W", "W"),
            "x/m/common.py": "W = 16\n",
            "common.py": "W = 32\n",
        },
        lambda p: write(p, {"x/m/typing_extensions.py": ""}),
    ),
}


def outside_of(root: Path) -> Path:
    return root.with_name(f"{root.name}.out")


# Those that take different paths through what is remembered; the others are like one of them.
AT_EVERY_COMMIT = {
    "package in place of a module",
    "submodule that was not there",
    "module outside of the project",
    "subpackage that had no __init__",
    "name that bars a directory from the import path",
}


@pytest.mark.parametrize(
    "name",
    [
        name if name in AT_EVERY_COMMIT else pytest.param(name, marks=pytest.mark.thorough)
        for name in IMPORTS
    ],
)
def test_an_import_that_finds_something_else(
    name: str, nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    case, root = IMPORTS[name], tmp_path / "project"
    new_repository(root)
    write(root, case.files)
    write(outside_of(root), case.beside)
    checker = Checker(nparam_lint, root, tmp_path / "cache")
    assert [*checker.check().totals.values()] == [68]
    case.change(root)
    cached, anew = checker.both()
    assert [*anew.totals.values()] == [132]
    assert differences(cached, anew) == []


def test_a_project_in_shared_memory(nparam_lint: Callable[..., Any], tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("no /dev/shm")
    root = shared / f"nparam-lint-test-{os.getpid()}"
    try:
        new_repository(root)
        write(root, {"a.py": net(f"{HERE}\nW = json.loads((H / 'c.json').read_text())", "W")})
        write(root, {"c.json": "16"})
        checker = Checker(nparam_lint, root, tmp_path / "cache")
        assert checker.check().totals == {"a.py::Net": 68}
        edit(root / "c.json", "16", "32")
        assert checker.check().totals == {"a.py::Net": 132}
    finally:
        shutil.rmtree(root)


def test_memory_that_another_process_shares(
    nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    if not os.access("/dev/shm", os.W_OK):
        pytest.skip("no /dev/shm")
    shared = Path("/dev/shm") / f"nparam-lint-test-{os.getpid()}"
    root = tmp_path / "project"
    new_repository(root)
    source = "import mmap, os\nfrom _posixshmem import shm_open\ndef w():\n"
    source += f"    fd = shm_open('/{shared.name}', os.O_RDONLY, 0)\n"
    source += "    return mmap.mmap(fd, 8, prot=mmap.PROT_READ)[0]"
    write(root, {"a.py": net(source, "w()")})
    checker = Checker(nparam_lint, root, tmp_path / "cache")
    try:
        for width in (16, 32):
            save_width(shared, width)
            assert checker.check().totals == {"a.py::Net": 4 * width + 4}
    finally:
        shared.unlink()


# --- models that know of each other --------------------------------------------------------------

COMPANY = {
    "an attribute": ("import shared\nshared.W = 32", "import shared", "shared.W"),
    "an entry": ("import shared\nshared.D['w'] = 32", "from shared import D", "D.get('w', 16)"),
    "the environment": (
        "import os\nos.environ['OTHER_W'] = '32'",
        "import os",
        "int(os.environ.get('OTHER_W', 16))",
    ),
    "the import path": (
        f"{CWD}\nsys.path.insert(0, H + '/extra')",
        "try:\n    from only_there import W\nexcept ImportError:\n    W = 16",
        "W",
    ),
}


@pytest.mark.parametrize("name", COMPANY)
@pytest.mark.parametrize("edited", [pytest.param("a.py", marks=pytest.mark.thorough), "b.py"])
def test_what_another_models_file_left_behind(
    name: str, edited: str, nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    """Whether it is in the same process must not matter, or must always be the same."""
    left, found, width = COMPANY[name]
    root = tmp_path / "project"
    new_repository(root)
    write(root, {"shared.py": "W = 16\nD = {}\n", "a.py": net(left, 4), "b.py": net(found, width)})
    write(root, {"extra/only_there.py": "W = 32\n"})
    checker = Checker(nparam_lint, root, tmp_path / "cache")
    checker.check()
    (root / edited).write_text((root / edited).read_text().replace("32", "64") + "\n# edited\n")
    checker.agree()


@pytest.mark.thorough
def test_a_function_that_only_another_models_file_registers(
    nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    root = tmp_path / "project"
    new_repository(root)
    write(
        root,
        {
            "registry.py": "R = {}\n",
            "a.py": net("from registry import R", 4)
            + "def big():\n    return nn.Sequential(nn.Linear(16, 4))\n\nR['big'] = big\n",
            "b.py": net("from registry import R", 4).replace("nn.Linear(4, 4)", "R['big']()"),
        },
    )
    checker = Checker(nparam_lint, root, tmp_path / "cache")
    checker.check()
    write(root, {"b.py": (root / "b.py").read_text() + "\n# edited\n"})
    checker.agree()


@pytest.mark.thorough
def test_a_part_of_the_project_and_all_of_it(
    nparam_lint: Callable[..., Any], tmp_path: Path
) -> None:
    root = tmp_path / "project"
    new_repository(root)
    left, found, width = COMPANY["an attribute"]
    write(root, {"shared.py": "W = 16\n", "a.py": net(left, 4), "b.py": net(found, width)})
    part = Checker(nparam_lint, root, tmp_path / "cache", ("b.py",))
    whole = Checker(nparam_lint, root, tmp_path / "cache")
    part.agree()
    whole.agree()
    part.agree()
