"""What a build read, and what of it was changed since: exactly those models are built again that
could have another count now."""

from __future__ import annotations

import os
import shutil
import sys
import zipfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cache_project import Answer, Checker, edit, link, net
from sample_files import write_files

if TYPE_CHECKING:
    from collections.abc import Callable

    from conftest import Command

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


FOPEN = (
    "c, b = ctypes.CDLL(None), ctypes.create_string_buffer(8); f = c.open(P.encode(), 0); "
    "c.read(f, b, 8); c.close(f); return b.raw[0]"
)
# What C code reads while a model is built (and much else: `test_doors.py`, and what
# `test_properties.py` tells).
UNSEEN = {
    # By a function of torch that nobody watches, in a process that has compiled code of others.
    "mapped_and_held": unseen(
        "import msgspec; self.s = torch._C.StorageBase.from_file(P, False, 8); return self.s[0]"
    ),
    "read_by_ctypes": unseen(FOPEN),
    "read_by_a_child": unseen(
        "r, out = os.pipe(); child = os.fork()\n"
        "    if not child:\n        os.write(out, open(P, 'rb').read()[:1]); os._exit(0)\n"
        "    os.waitpid(child, 0); return os.read(r, 1)[0]"
    ),
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
# Here nothing else changes, so that what has nothing to do with it is recalled.
ALONE = {
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
        lambda p: write_files(outside(p), {"c.py": "W = 132\n"}),
        beside={"c.py": "W = 16\n"},
    ),
    "imported_through_link": Case(
        two("from imported_through_link.c import W", "W"),
        lambda p: edit(outside(p) / "c.py", "16", "32"),
        lambda p: link(p / "c.py", f"../../{p.name}.out/c.py"),
        beside={"c.py": "W = 16\n"},
    ),
    "read_by_relative_path": Case(
        two("W = '../read_by_relative_path.out/w'", "int(open(W).read())"),
        lambda p: edit(outside(p) / "w", "16", "32"),
        beside={"w": "16"},
    ),
    "looked_for_by_relative_path": Case(
        two("import os\nW = '../looked_for_by_relative_path.out/w'", "16 + os.path.exists(W)"),
        lambda p: write_files(outside(p), {"w": ""}),
    ),
    "model_through_link": Case(
        {"b.py": net("", 3)},
        lambda p: edit(outside(p) / "a.py", "16", "32"),
        lambda p: link(p / "a.py", f"../../{p.name}.out/a.py"),
        kept=("b.py",),
        beside={"a.py": net("", "16")},
    ),
}
# All models of a project are built each time that one imports from an archive.
ARCHIVE = {
    "imported_from_archive": Case(
        one(
            f"{HERE}\nimport sys\nsys.path.append(str(H / 'lib.zip'))\nfrom inside_zip import W",
            "W",
        ),
        lambda p: save_archive(p / "lib.zip", 32),
        lambda p: save_archive(p / "lib.zip", 16),
    ),
}
KINDS = {"alone": ALONE, "archive": ARCHIVE, "outside": OUTSIDE}
if sys.platform == "linux":  # elsewhere nothing tells what is mapped or open
    KINDS["unseen"] = UNSEEN


@pytest.fixture(scope="module")
def all_reads(
    nparam_lint: Command, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], tuple[Answer, Answer, Answer]]:
    """A project with all packages of a kind: the answers before the changes, after them, and after
    them without what was remembered."""

    @cache
    def answers(kind: str) -> tuple[Answer, Answer, Answer]:
        checker = Checker.of({}, nparam_lint, tmp_path_factory.mktemp("reads"))
        for name, case in KINDS[kind].items():
            package = checker.root / name
            write_files(package, {"__init__.py": "", **case.files})
            write_files(outside(package), case.beside)
            case.before(package)
        first = checker.check()
        for name, case in KINDS[kind].items():
            case.change(checker.root / name)
        return first, checker.check(), checker.check("--no-cache")

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
    assert recalled == (set() if kind == "outside" else kept)


@pytest.mark.parametrize("kind", KINDS)
def test_all_else_is_the_same(
    kind: str, all_reads: Callable[[str], tuple[Answer, Answer, Answer]]
) -> None:
    _, cached, anew = all_reads(kind)
    assert cached.report == anew.report
    assert anew.recalled == frozenset()


def test_shared_memory(nparam_lint: Command) -> None:
    """The project lies there; a model maps some that another process shares."""
    shared = Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        pytest.skip("no /dev/shm")
    place, memory = (shared / f"nparam-lint-test-{os.getpid()}{end}" for end in ("", "-memory"))
    mapped = (
        "import mmap, os\nfrom _posixshmem import shm_open\ndef w():\n"
        f"    fd = shm_open('/{memory.name}', os.O_RDONLY, 0)\n"
        "    return mmap.mmap(fd, 8, prot=mmap.PROT_READ)[0]"
    )
    try:
        place.mkdir()
        files = {"a.py": net(f"{HERE}\nW = json.loads((H / 'c.json').read_text())", "W")}
        files |= {"b.py": net(mapped, "w()"), "c.json": "16"}
        save_width(memory, 16)
        checker = Checker.of(files, nparam_lint, place)
        assert {*checker.check().totals.values()} == {68}
        save_width(memory, 32)
        edit(checker.root / "c.json", "16", "32")
        assert {*checker.check().totals.values()} == {132}
    finally:
        shutil.rmtree(place)
        memory.unlink()
