"""What the project's code does outside of the model is refused: each try is run, and everything
outside is compared byte by byte. With the kernel's guard, and without it."""

import contextlib
import os
import socket
import sqlite3
from pathlib import Path

import pytest
from answer_books import AnswerBook, told
from sample_files import write_files
from worker_runs import Run, make_orders, run, snapshot

from nparam_lint.worker.building.kernel_guard import landlock_version

HARM = AnswerBook("harm")
# Those whose answer may be any are not seen by the hook, or their refusal is lost; of the others,
# one of each kind.
SEEN = [case.name for case in HARM.cases if case.answer.startswith("NPL004 refused")]
AT_EVERY_COMMIT = (
    "shell_on_lines fork_writes torch_saves database database_changed makes_directory copies"
    " connects sends_datagram changes_mode_of_open program_that_writes program_without_a_module"
    " connects_locally"
).split()
# The refusal is lost in another process; a /dev/shm of the build's own is written.
LOST = ["fork_writes", "multiprocessing_fork", "writes_shared_memory"]
# Each of these imports torch once more, in a process of its own.
SLOW = {"loader_spawns", "multiprocessing_forkserver", "torch_spawns"}

pytestmark = pytest.mark.skipif(os.name != "posix", reason="tries what POSIX has")


class Listener:
    """Hears whether anybody connects, or sends a datagram."""

    def __init__(self, path: Path) -> None:
        self.stream, self.datagrams = (
            socket.socket(socket.AF_INET, kind) for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)
        )
        self.stream.bind(("127.0.0.1", 0))
        self.port = self.stream.getsockname()[1]
        self.stream.listen(64)
        self.datagrams.bind(("127.0.0.1", self.port))
        self.local = socket.socket(socket.AF_UNIX)
        self.local.bind(str(path))
        self.local.listen(64)
        self.named = socket.socket(socket.AF_UNIX)
        self.named.bind(f"\0nparam-lint-{self.port}")
        self.named.listen(64)
        for one in (self.stream, self.datagrams, self.local, self.named):
            one.setblocking(False)

    def heard(self) -> bool:
        """Whether it did; it listens no longer."""
        found: list[object] = []
        for one in (self.stream, self.local, self.named, self.datagrams):
            with one, contextlib.suppress(BlockingIOError):
                found.append(one.recv(10) if one is self.datagrams else one.accept())
        return bool(found)


def outside(place: Path) -> dict[str, object]:
    """All that a try may have changed."""
    found: dict[str, object] = dict(snapshot(place))
    for path in place.rglob("*"):
        kept = path.lstat()
        found[f"{path} state"] = kept.st_mode, kept.st_nlink, kept.st_mtime_ns, kept.st_ino
    memory, segments = Path("/dev/shm"), Path("/proc/sysvipc/shm")
    if segments.exists():
        found["System V"] = str(0x6E706C) in segments.read_text()
    return found | {str(p): "shared" for p in memory.glob("*nparam-lint-evil*")}


class Visit:
    """A run of some tries, and what was changed by them."""

    def __init__(self, root: Path, names: list[str], guard: str) -> None:
        self.project, self.place, home = root / "project", root / "place", root / "home"
        for folder in (self.project, self.place, home, self.place / "folder.pycache"):
            folder.mkdir()
        write_files(self.project, HARM.files)
        (self.place / "victim.txt").write_text("victim")
        (self.place / "module.pyc").write_text("bytecode")
        (self.place / "folder.pycache" / "kept").write_text("kept")
        with sqlite3.connect(self.place / "right.db") as base:
            base.execute("create table a (b)")
            base.execute("insert into a values (1)")
        base.close()
        listener = Listener(self.place / "socket")
        before = outside(root)
        environ = {
            "HARM_PLACE": str(self.place),
            "HARM_PORT": str(listener.port),
            "HOME": str(home),
            "NPARAM_LINT_KERNEL_GUARD": guard,
        }
        jobs = make_orders(self.project, [f"h.py::{name}" for name in names])
        self.run: Run = run(self.project, jobs, timeout=8, environ=environ)
        after = outside(root)
        self.changed = {k for k in before.keys() | after.keys() if before.get(k) != after.get(k)}
        self.heard = listener.heard()


@pytest.fixture(scope="module")
def tries(tmp_path_factory: pytest.TempPathFactory) -> Visit:
    """All but the slow ones, with the kernel's guard."""
    if not landlock_version():
        pytest.skip("this kernel has no Landlock")
    names = [case.name for case in HARM.cases if case.name not in SLOW]
    return Visit(tmp_path_factory.mktemp("harm"), names, "1")


def test_the_kernel_lets_no_harm_be_done(tries: Visit) -> None:
    assert tries.changed == set()
    assert not tries.heard


@pytest.mark.thorough
@pytest.mark.skipif(not landlock_version(), reason="this kernel has no Landlock")
def test_nor_by_new_processes_that_import_torch(tmp_path: Path) -> None:
    visit = Visit(tmp_path, sorted(SLOW), "1")
    assert (visit.changed, visit.heard) == (set(), False)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(AT_EVERY_COMMIT, id="some"),
        pytest.param([*SEEN, *LOST], id="all", marks=pytest.mark.thorough),
    ],
)
def test_the_hook_alone_lets_little_harm_be_done(tmp_path: Path, names: list[str]) -> None:
    visit = Visit(tmp_path, [*names, "right"], "0")
    assert (visit.changed, visit.heard) == (set(), False)
    assert visit.run.measured("h.py::right").counts.total == 9


@pytest.mark.parametrize("number", [c.number for c in HARM.cases if c.name not in SLOW])
def test_what_is_told(tries: Visit, number: int) -> None:
    """The line, where the hook saw it."""
    text = told(tries.run.by_label[HARM.label(number)], tries.project)
    HARM.check(number, text, update=False)


def test_what_the_kernel_refused_is_explained(tries: Visit) -> None:
    failure = tries.run.failed("h.py::jit_saves")
    if "cannot be opened" in failure.reason:
        pytest.skip("this torch is old, and does not say why")
    assert failure.cause == "refused"
    assert "may only write to the temporary directory" in (failure.hint or "")
