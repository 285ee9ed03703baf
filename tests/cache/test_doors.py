"""Every function that can read, found by listing: what a model reads through it is not forgotten.
Its constructor reads nothing else, and closes what it opens."""

from __future__ import annotations

import contextlib
import inspect
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import Answer, Checker, net
from case_books import Book, Case

from nparam_lint.worker.building.kernel_guard import landlock_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names those of Linux")

BOOK = Book(Path(__file__).with_name("doors.txt"))
# The other functions that take a path. Times are no reason to build again, and what begins another
# program, writes or removes is refused.
OTHERS = {
    "os": ""
    "chdir chmod chown chroot copy_file_range execl execle execlp execlpe execv execve execvp "
    "execvpe fsdecode fsencode fspath lchown link mkdir mkfifo mknod pathconf remove "
    "removexattr rename replace rmdir setxattr spawnl spawnle spawnlp spawnlpe spawnv spawnve "
    "spawnvp spawnvpe splice statvfs symlink truncate unlink",
    "os.path": ""
    "abspath expanduser expandvars getatime getctime getmtime isabs isdevdrive isjunction "
    "isreserved ismount normcase normpath relpath splitroot",
    "tempfile": ""
    "NamedTemporaryFile SpooledTemporaryFile TemporaryDirectory TemporaryFile mkdtemp mkstemp "
    "mktemp",
    "zipfile": "CompleteDirs FastLookup PyZipFile",
    "pathlib.Path": "absolute chmod copy copy_into cwd expanduser from_uri group hardlink_to home "
    "is_block_device is_char_device is_fifo is_junction is_mount is_socket lchmod link_to "
    "mkdir move move_into owner rename replace rmdir symlink_to touch unlink write_bytes "
    "write_text",
    "numpy": "copyto gradient save savetxt savez savez_compressed",
    "numpy.lib.format": "isfileobj",
    "torch": "as_strided_scatter diagonal_scatter prepare_multiprocessing_environment save scatter "
    "scatter_add scatter_reduce select_scatter slice_scatter sym_ite",
    "torch.serialization": "get_unsafe_globals_in_checkpoint load save",
    "torch.jit": "jit_module_from_flatbuffer save save_jit_module_to_flatbuffer",
    "torch.package": "PackageExporter",
    "torch.export": "load save",
    "torch.hub": "load_state_dict_from_url",
}
LISTED = (
    "os os.path io pathlib.Path mmap tempfile zipfile sqlite3 numpy numpy.lib.format torch"
    " torch.serialization torch.UntypedStorage torch.jit torch.package torch.hub torch.export"
).split()
PATH = re.compile(r"path|file|file_?name|fname|f1?|s|top|src|dir|file_or_buffer|repo_or_dir")


def resolve(name: str) -> Any:
    """What has a dotted name; None where this Python does not have it."""
    holder, _, last = name.rpartition(".")
    with contextlib.suppress(ImportError):
        return import_module(name)
    return getattr(resolve(holder), last, None) if holder else None


def takes_a_path(function: Any) -> bool:
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):  # of C: as its text says
        names = re.findall(r"\w+", str(function.__doc__).partition(")")[0].partition("(")[2])
    return any(map(PATH.fullmatch, names))


def functions_of(holder: Any) -> Iterator[str]:
    for name in dir(holder):
        function = getattr(holder, name, None)
        is_public = callable(function) and not name.startswith("_")
        is_public = is_public and not (
            isinstance(function, type) and issubclass(function, Exception)
        )
        if is_public and (hasattr(PurePath, name) < (holder is Path) or takes_a_path(function)):
            yield name


@pytest.mark.parametrize("holder", LISTED)
def test_every_function_that_takes_a_path_is_here(holder: str) -> None:
    if resolve(holder) is None:
        pytest.skip(f"no {holder}")
    known = {case.answer.split()[0].removeprefix(f"{holder}.") for case in BOOK.cases}
    known |= {*OTHERS.get(holder, "").split()}
    assert set(functions_of(resolve(holder))) - known == set()


THERE = [case for case in BOOK.cases if resolve(case.answer.split()[0])]


@pytest.fixture(scope="module")
def answers(
    nparam_lint: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Answer, Answer, Answer]:
    """Of a project with a model for each, and one that reads nothing: two before the change, and
    one after it."""
    top = tmp_path_factory.mktemp("doors")
    command = [sys.executable, "-W", "ignore", "-c", BOOK.files["../write.py"]]
    subprocess.run(command, cwd=top, check=True, capture_output=True)
    data = top / "project" / "data"
    paths = (case.target.partition("::")[0] for case in THERE)
    files = {path: BOOK.files[path].replace("DATA", str(data)) for path in paths}
    checker = Checker.of({"nothing.py": net("", 16), **files}, nparam_lint, top)
    shutil.copytree(top / "before", data, symlinks=True)
    first, again = checker.check(), checker.check()
    shutil.rmtree(data)
    shutil.copytree(top / "after", data, symlinks=True)
    return first, again, checker.check()


@pytest.mark.parametrize("case", THERE, ids=lambda case: case.answer)
def test_what_is_read_is_not_forgotten(case: Case, answers: tuple[Answer, ...]) -> None:
    first, _, changed = (answer.totals[case.target] for answer in answers)
    if "xattr" in case.answer and first == changed:
        pytest.skip("this file system has no such attributes")
    if case.answer.startswith("sqlite3") and not landlock_version():
        pytest.skip("this kernel has no Landlock")
    assert None not in (first, changed)
    assert first != changed
    recalled = [case.target in answer.recalled for answer in answers]
    assert recalled == [False, "built each time" not in case.answer, False]


def test_what_reads_nothing_is_recalled(answers: tuple[Answer, ...]) -> None:
    assert ["nothing.py::Net" in answer.recalled for answer in answers] == [0, 1, 1]
