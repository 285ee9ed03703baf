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

from nparam_lint.worker.building.kernel_guard import landlock_version

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names those of Linux")

# Function, and in which of several ways -> what reads by it, into `w`. `D`: a directory; `F`: a
# file in it; `P`: the same directory as a `Path`. A change gives all that is in it other contents.
ROWS = "base.execute('select b from a').fetchall(); base.close()"
READ = "w = os.read(f, 9); os.close(f)"
DOORS = {
    "os.access": "w = os.access(D + '/new', os.R_OK)",
    "os.fwalk": "w = [names for *_, names, _ in os.fwalk(D + '/d')]",
    "os.getxattr": "w = os.getxattr(F, 'user.width')",
    "os.listdir": "w = os.listdir(D + '/d')",
    "os.listdir open": "f = os.open(D + '/d', 0); w = os.listdir(f); os.close(f)",
    "os.listxattr": "w = os.listxattr(F)",
    "os.lstat": "w = os.lstat(F).st_size",
    "os.open": f"f = os.open(F, os.O_RDONLY); {READ}",
    "os.open as opener": "w = open(F, opener=os.open).read()",
    "os.open below": f"d = os.open(D, 0); f = os.open('w.txt', 0, dir_fd=d); os.close(d); {READ}",
    "os.open here": f"os.chdir(D); f = os.open('w.txt', 0); {READ}",
    "os.open in C": f"import posix; f = posix.open(F, 0); {READ}",
    "os.readlink": "w = os.readlink(D + '/link')",
    "os.scandir": "w = [e.name for e in os.scandir(D + '/d')]",
    "os.scandir kinds": "w = [e.is_symlink() for e in os.scandir(D + '/kind')]",
    "os.stat": "w = os.stat(F).st_size",
    "os.stat below": "f = os.open(D, 0); w = os.stat('w.txt', dir_fd=f).st_size; os.close(f)",
    "os.walk": "w = [names for *_, names in os.walk(D + '/d')]",
    "os.path.exists": "w = os.path.exists(D + '/new')",
    "os.path.getsize": "w = os.path.getsize(F)",
    "os.path.isdir": "w = os.path.isdir(D + '/new')",
    "os.path.isfile": "w = os.path.isfile(D + '/file')",
    "os.path.islink": "w = os.path.islink(D + '/kind/x')",
    "os.path.lexists": "w = os.path.lexists(D + '/new')",
    "os.path.realpath": "w = os.path.realpath(D + '/link')[-5:]",
    "os.path.samefile": "w = os.path.samefile(D + '/link', F)",
    "io.FileIO": "w = io.FileIO(F).read()",
    "io.open": "w = io.open(F).read()",
    "io.open if there": "w = text(D + '/file')",
    "io.open_code": "w = io.open_code(F).read()",
    "glob.glob": "import glob; w = glob.glob(D + '/*/b')",
    "mmap.mmap": "f = open(F); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); w = m[:]",
    "pathlib.Path.exists": "w = (P / 'new').exists()",
    "pathlib.Path.glob": "w = len([*P.glob('d/*')])",
    "pathlib.Path.info": "w = (P / 'new').info.exists()",
    "pathlib.Path.is_dir": "w = (P / 'new').is_dir()",
    "pathlib.Path.is_file": "w = (P / 'file').is_file()",
    "pathlib.Path.is_symlink": "w = (P / 'kind' / 'x').is_symlink()",
    "pathlib.Path.iterdir": "w = len([*(P / 'd').iterdir()])",
    "pathlib.Path.lstat": "w = (P / 'w.txt').lstat().st_size",
    "pathlib.Path.open": "w = (P / 'w.txt').open().read()",
    "pathlib.Path.read_bytes": "w = (P / 'w.txt').read_bytes()",
    "pathlib.Path.read_text": "w = (P / 'w.txt').read_text()",
    "pathlib.Path.readlink": "w = (P / 'link').readlink()",
    "pathlib.Path.resolve": "w = (P / 'link').resolve().name",
    "pathlib.Path.rglob": "w = len([*P.rglob('b')])",
    "pathlib.Path.samefile": "w = (P / 'link').samefile(F)",
    "pathlib.Path.stat": "w = (P / 'w.txt').stat().st_size",
    "pathlib.Path.walk": "w = [names for *_, names in (P / 'd').walk()]",
    "importlib.machinery.SourceFileLoader.get_data": "w = __loader__.get_data(D + '/w.py')",
    "linecache.getline": "import linecache; w = linecache.getline(F, 1)",
    "zipfile.is_zipfile": "w = zipfile.is_zipfile(D + '/kind/x')",
    "zipfile.Path": "w = zipfile.Path(D + '/w.zip', 'w').read_text()",
    "zipfile.ZipFile": "w = zipfile.ZipFile(D + '/w.zip').read('w')",
    "zipfile.ZipInfo": "w = zipfile.ZipInfo.from_file(F).file_size",
    "sqlite3.connect": f"base = sqlite3.connect(D + '/w.db'); w = {ROWS}",
    "sqlite3.connect address": "base = sqlite3.connect(f'file:{D}/w.db?mode=ro', uri=True); "
    f"w = {ROWS}",
    "sqlite3.connect other": "base = sqlite3.connect(D + '/same.db'); "
    f"base.execute(f'attach {{D + \"/w.db\"!r}} as o'); w = {ROWS.replace('from a', 'from o.a')}",
    "sqlite3.Connection": f"base = sqlite3.Connection(D + '/w.db'); w = {ROWS}",
    "numpy.fromfile": "w = numpy.fromfile(F, 'u1')",
    "numpy.fromregex": "w = numpy.fromregex(F, '(.)', [('a', 'u1')])",
    "numpy.genfromtxt": "w = numpy.genfromtxt(F)",
    "numpy.load": "w = numpy.load(D + '/w.npy')",
    "numpy.load mapped": "w = numpy.load(D + '/w.npy', 'r')[0]",
    "numpy.loadtxt": "w = numpy.loadtxt(F)",
    "numpy.memmap": "w = numpy.memmap(F, 'u1', 'r')[1]",
    "numpy.lib.format.open_memmap": "w = numpy.lib.format.open_memmap(D + '/w.npy', 'r')[0]",
    # Of `torch.export.load`, which takes seconds to make a file for.
    "torch._C.PyTorchFileReader": "r = torch._C.PyTorchFileReader(D + '/w.pt'); "
    "w = r.get_record('data.pkl')",
    "torch.from_file": "w = int(torch.from_file(F, size=2, dtype=torch.int8)[1])",
    "torch.load": "w = torch.load(D + '/w.pt')",
    "torch.load mapped": "w = torch.load(D + '/w.pt', mmap=True)",
    "torch.load open": "w = torch.load(open(D + '/w.pt', 'rb'))",
    "torch.UntypedStorage.from_file": "w = torch.UntypedStorage.from_file(F, False, 2)[1]",
    "torch.CharStorage.from_file": "w = torch.CharStorage.from_file(F, False, 2)[1]",
    "torch.hub.load": "w = torch.hub.load(D, 'width', source='local')",
    "torch.jit.load": "w = torch.jit.load(D + '/script.pt', 'meta').weight.shape",
    "torch.package.PackageImporter": "import torch.package as p; "
    "w = p.PackageImporter(D + '/p.pt').load_text('a', 'b')",
}

# More may be read there than is seen, so these are built again each time.
NEVER_KEPT = ("os.getxattr", "os.listxattr", "os.open below", "os.open here", "sqlite3.")
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
    known = {name.split()[0].removeprefix(f"{holder}.") for name in DOORS}
    known |= {*OTHERS.get(holder, "").split()}
    assert set(functions_of(resolve(holder))) - known == set()


# Writes two such directories, with a width in all that each has.
CONTENTS = """\
import contextlib, os, sqlite3, zipfile
import torch, torch.package

def write(path, n):
    for folder in ("d", "kind"):
        os.makedirs(os.path.join(path, folder))
    os.chdir(path)
    script = f"def width(): return {n}"
    for name, text in {"w.txt": n, "other.txt": n, "w.py": n, "hubconf.py": script}.items():
        open(name, "w").write(str(text))
    with contextlib.suppress(OSError):
        os.setxattr("w.txt", "user.width", str(n).encode())
        os.setxattr("w.txt", f"user.{n}", b"")
    with zipfile.ZipFile("w.zip", "w") as archive:
        archive.writestr("w", str(n))
    for name, width in {"w.db": n, "same.db": 1}.items():
        with sqlite3.connect(name) as base:
            base.execute("create table a (b)")
            base.execute(f"insert into a values ({width})")
        base.close()
    torch.save([*range(n)], "w.pt")
    torch.jit.script(torch.nn.Linear(n, 4)).save("script.pt")
    with torch.package.PackageExporter("p.pt") as package:
        package.save_text("a", "b", str(n))
    with contextlib.suppress(ImportError):
        import numpy
        numpy.save("w.npy", numpy.full(9, n))
    if n == 16:
        os.symlink("w.txt", "link")
        open("kind/x", "w")
    else:
        os.symlink("other.txt", "link")
        os.symlink("../w.zip", "kind/x")
        os.mkdir("new")
        for name in ("file", "d/b"):
            open(name, "w")
    os.chdir("..")

write("before", 16)
write("after", 128)
"""
HERE = """\
import contextlib, io, mmap, os, sqlite3, torch, zipfile, zlib
from pathlib import Path
with contextlib.suppress(ImportError):
    import numpy
D = {!r}
F, P = D + "/w.txt", Path(D)

def text(path):
    with contextlib.suppress(OSError):
        return open(path).read()

def w(self):
    {}
    return zlib.crc32(repr(w).encode()) % 997
"""
THERE = [name for name in DOORS if resolve(name.split()[0])]


@pytest.fixture(scope="module")
def answers(
    nparam_lint: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Answer, Answer, Answer]:
    """Of a project with a model for each, and one that reads nothing: two before the change, and
    one after it."""
    top = tmp_path_factory.mktemp("doors")
    command = [sys.executable, "-W", "ignore", "-c", CONTENTS]
    subprocess.run(command, cwd=top, check=True, capture_output=True)
    data = top / "project" / "data"
    files = {"nothing.py": net("", 16)}
    for number, name in enumerate(THERE):
        files[f"m{number}.py"] = net(HERE.format(str(data), DOORS[name]), "w(self)")
    checker = Checker.of(files, nparam_lint, top)
    shutil.copytree(top / "before", data, symlinks=True)
    first, again = checker.check(), checker.check()
    shutil.rmtree(data)
    shutil.copytree(top / "after", data, symlinks=True)
    return first, again, checker.check()


@pytest.mark.parametrize("name", THERE)
def test_what_is_read_is_not_forgotten(name: str, answers: tuple[Answer, ...]) -> None:
    target = f"m{THERE.index(name)}.py::Net"
    first, _, changed = (answer.totals[target] for answer in answers)
    if name.endswith("xattr") and first == changed:
        pytest.skip("this file system has no such attributes")
    if name.startswith("sqlite3") and not landlock_version():
        pytest.skip("this kernel has no Landlock")
    assert None not in (first, changed)
    assert first != changed
    recalled = [target in answer.recalled for answer in answers]
    assert recalled == [False, not name.startswith(NEVER_KEPT), False]


def test_what_reads_nothing_is_recalled(answers: tuple[Answer, ...]) -> None:
    assert ["nothing.py::Net" in answer.recalled for answer in answers] == [0, 1, 1]
