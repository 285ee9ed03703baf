"""What is remembered between runs: whole, ours, or not there."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from cache_project import tree
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from processes import on_small_disk

import nparam_lint
from nparam_lint.cache.housekeeping import clean, survey, trim, trouble
from nparam_lint.cache.store import NOWHERE, PARTIAL, TAG, Store, digest, directory

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PACKAGE = Path(nparam_lint.__file__).parent
DAY = 86400


@pytest.fixture
def base(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def store(base):
    return Store(str(base), "/some/project")


def entry(store: Store, name: str) -> Path:
    return Path(store.folder, name)


def names(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def write_path(path: Path, body: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(body)


def age(path: str | Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def script(text: str, *arguments: object, prefix: tuple[str, ...] = ()) -> str:
    """Run Python code in a process of its own; returns what it prints."""
    command = [*prefix, sys.executable, "-c", text, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# --- any history -------------------------------------------------------------------------------

PROJECTS, NAMES = ("/some/project", "/some/other"), ("one", "two", "three")
BODIES = (b"", b"\0", b"body\n", bytes(range(256)) * 900)
WRONG: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda _: b"",
    "cut": lambda data: data[: len(data) // 2],
    "grown": lambda data: data + b"\0",
    "twice": lambda data: data * 2,
    "a flipped bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "zeros": lambda _: bytes(4096),
}
IN_PLACE = ("pipe", "link", "dangling", "device", "loop", "directory")
FOREIGN = b"Signature: 8a477f597d28d172789f06886806bc55\n# Of another tool.\n"
# Files of somebody else's, some of them called as ours would be.
THEIRS = {
    "notes.txt": b"theirs",
    f"half{PARTIAL}": b"theirs",
    "data/v1/x": b"theirs",
    f"v0/{digest(b'/a')}/model": b"theirs",
    f"v2/{TAG}": FOREIGN,
    f"v2/{digest(b'/a')}/one": b"theirs",
    f"v3{PARTIAL}/file": b"theirs",
    f"v3.0123456789abcdef{PARTIAL}/file": b"theirs",
    f"{digest(b'/a')}/one": b"theirs",
}


class StoreHistory(RuleBasedStateMachine):
    """What runs of two projects and of another version keep, what happens to it, and what is
    removed: an entry is whole or not there, those used longest ago go first, and nothing of
    anybody else's is touched."""

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.base = self.place / "cache"
        self.now, self.steps = time.time(), 0
        self.bodies: dict[Path, bytes | None] = {}  # None: somebody has put something else there
        self.used: dict[Path, float] = {}
        self.partial: dict[Path, float] = {}  # what a killed run has left, and how old it is
        self.theirs = {self.place / "outside": b"outside"}
        (self.place / "outside").write_bytes(b"outside")
        for name, body in THEIRS.items():
            write_path(self.base / name, body)
            self.theirs[self.base / name] = body
        self.empty = self.base / f"v3.empty{PARTIAL}"
        self.empty.mkdir()
        self.other = Store(str(self.place / "other"), "/a")  # what links lead to
        assert self.other.save("one", b"1")
        for project, name in itertools.product(PROJECTS, NAMES):
            self.save(project, name, b"body")
        self.links = {self.base / "v1" / digest(b"/b"), self.base / "v4"}
        for link, target in zip(
            sorted(self.links), (self.other.folder, self.other.top), strict=True
        ):
            link.symlink_to(target)
        for name in ("top.txt", "folder/one"):
            write_path(self.base / "v1" / name, b"theirs")
            self.theirs[self.base / "v1" / name] = b"theirs"

    def teardown(self) -> None:
        shutil.rmtree(self.place)

    def store(self, project: str) -> Store:
        return Store(str(self.base), project)

    def path(self, project: str, name: str) -> Path:
        return Path(self.store(project).folder, name)

    projects, names = st.sampled_from(PROJECTS), st.sampled_from(NAMES)

    @rule(project=projects, name=names, body=st.sampled_from(BODIES))
    def save(self, project: str, name: str, body: bytes) -> None:
        store, path = self.store(project), self.path(project, name)
        if path.is_dir() and not path.is_symlink():
            assert not store.save(name, body)
            return
        assert store.save(name, body)
        assert (store.saved, store.trouble) == (16 + len(body), "")
        self.bodies[path], self.used[path] = body, self.now

    @rule(project=projects, name=names, days=st.integers(1, 9), is_used=st.booleans())
    def age(self, project: str, name: str, days: int, is_used: bool) -> None:
        """Days have gone by since it was used."""
        path = self.path(project, name)
        if self.bodies.get(path) is not None:
            self.used[path] = self.now - days * DAY - 7 * len(self.used)
            os.utime(path, (self.used[path],) * 2)
        if is_used:
            self.use(project, name)

    @rule(project=projects, name=names)
    def use(self, project: str, name: str) -> None:
        path = self.path(project, name)
        before = path.lstat().st_mtime if self.bodies.get(path) is not None else None
        self.store(project).note_use(name)
        if before is not None:
            is_noted = self.now - before > 3600  # once an hour
            assert (path.stat().st_mtime > before) is is_noted
            self.used[path] = self.now if is_noted else before

    @rule(project=projects, name=names, how=st.sampled_from([*WRONG]))
    def damage(self, project: str, name: str, how: str) -> None:
        path = self.path(project, name)
        if self.bodies.get(path) is not None:
            path.write_bytes(WRONG[how](path.read_bytes()))
            os.utime(path, (self.used[path],) * 2)
            self.bodies[path] = None

    @rule(project=projects, name=names, other=projects, another=names)
    def copy(self, project: str, name: str, other: str, another: str) -> None:
        """An entry stands in the place of another one."""
        path, to = self.path(project, name), self.path(other, another)
        if path != to and self.bodies.get(path) is not None and self.bodies.get(to) is not None:
            shutil.copy(path, to)
            self.bodies[to], self.used[to] = None, self.now

    @rule(project=projects, name=names, kind=st.sampled_from(IN_PLACE), is_saved=st.booleans())
    def put_in_place(self, project: str, name: str, kind: str, is_saved: bool) -> None:
        path = self.path(project, name)
        if self.bodies.get(path) is None:
            return
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
            (path / "mine").write_bytes(b"mine")
            self.theirs[path / "mine"] = b"mine"
        else:
            targets = {"link": self.place / "outside", "device": Path("/dev/zero"), "loop": path}
            path.symlink_to(targets.get(kind, self.place / "nothing"))
        self.bodies[path], self.used[path] = None, self.now
        if is_saved:
            self.save(project, name, b"again")

    @rule(project=projects, is_old=st.booleans())
    def leave(self, project: str, is_old: bool) -> None:
        """A run is killed, long ago or just now."""
        folder = Path(self.store(project).folder)
        if folder.is_dir():
            path = folder / f"one.{len(self.partial):016x}{PARTIAL}"
            path.write_bytes(b"")
            self.partial[path] = self.now - 2 * DAY * is_old
            os.utime(path, (self.partial[path],) * 2)

    @rule(limit=st.sampled_from([0, 2 * 4096, 4 * 4096, 5 * 4096]))
    def trim(self, limit: int) -> None:
        before = {Path(one.path): one for one in survey(str(self.base)).files}
        trim(str(self.base), limit)
        after = {Path(one.path): one for one in survey(str(self.base)).files}
        gone = before.keys() - after.keys()
        old = {path for path, when in self.partial.items() if when < self.now - DAY}
        assert not old & after.keys()
        sizes = {one.size for path, one in before.items() if self.bodies.get(path) == b"body"}
        assert sizes <= {4096}  # what a small file takes on the disk
        size = sum(one.size for one in before.values())
        if size <= limit:
            assert gone <= old
        else:
            assert sum(one.size for one in after.values()) <= limit * 3 // 4
            last = max((before[path].used for path in gone - old), default=0.0)
            assert all(one.used >= last for path, one in after.items() if path not in self.partial)
        self.forget(gone)

    @precondition(lambda self: self.steps % 8 == 0)
    @rule()
    def clean(self) -> None:
        ours = {Path(one.path) for one in survey(str(self.base)).files}
        removed = clean(str(self.base))
        assert {Path(one.path) for one in removed.files} == ours
        directories = [path for path in self.bodies if path.is_dir() and not path.is_symlink()]
        assert len(removed.faults) == len(directories)
        assert survey(str(self.base)).files == []
        self.forget(ours)

    def forget(self, gone: Collection[Path]) -> None:
        for path in gone:
            self.bodies.pop(path, None)
            self.used.pop(path, None)
            self.partial.pop(path, None)

    @invariant()
    def what_is_saved_is_loaded(self) -> None:
        self.steps += 1
        for project, name in itertools.product(PROJECTS, NAMES):
            assert self.store(project).load(name) == self.bodies.get(self.path(project, name))

    @invariant()
    def nothing_else_is_there(self) -> None:
        ours = {path for path in self.base.rglob("*") if not path.is_dir() or path.is_symlink()}
        expected = {*self.bodies, *self.partial, *self.theirs, *self.links}
        expected.add(self.base / "v1" / TAG)
        assert ours <= expected
        assert {path: path.read_bytes() for path in self.theirs} == self.theirs
        assert self.empty.is_dir()
        assert self.other.load("one") == b"1"
        assert all(map(Path.is_symlink, self.links))
        assert not (self.place / "nothing").exists()


StoreHistory.TestCase.settings = settings(max_examples=25, stateful_step_count=20)
TestStoreHistory = pytest.mark.skipif(os.name != "posix", reason="links and pipes are of POSIX")(
    StoreHistory.TestCase
)


# --- what is kept -----------------------------------------------------------------------------


def test_parts_of_a_digest_are_kept_apart():
    assert len({digest(b"ab"), digest(b"a", b"b"), digest(b"", b"ab"), digest(b"ab", b"")}) == 4


def test_a_project_and_a_cache_directory_may_have_names_that_are_no_text(tmp_path):
    strange = os.fsdecode(b"caf\xe9")
    one = Store(str(tmp_path / strange), f"/home/{strange}")
    two = Store(str(tmp_path / strange), "/home/café")
    assert one.save("name", b"body")
    assert (one.load("name"), two.load("name")) == (b"body", None)


def test_backups_pass_over_the_directory_and_nobody_else_looks_into_it(base, store):
    assert store.save("name", b"body")
    assert (
        (base / "v1" / TAG).read_bytes().startswith(b"Signature: 8a477f597d28d172789f06886806bc55")
    )
    if os.name == "posix":
        assert Path(store.top).stat().st_mode & 0o077 == 0
        assert Path(store.folder).stat().st_mode & 0o077 == 0


def test_without_a_place_nothing_is_kept_and_no_file_is_touched(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mine = tmp_path / "name"
    mine.write_text("mine")
    age(mine, 2 * DAY)
    before = mine.stat().st_mtime
    store = Store(None, "")
    assert not store.save("name", b"body")
    assert store.load("name") is None
    store.note_use("name")
    if store.wants_trim():
        trim(store.base)
    assert store.trouble == NOWHERE
    assert tree(tmp_path) == {"name": b"mine"}
    assert mine.stat().st_mtime == before


# --- what is damaged --------------------------------------------------------------------------


def test_an_entry_that_is_cut_or_changed_anywhere_is_not_there(store):
    assert store.save("name", b"the body")
    path = entry(store, "name")
    whole = path.read_bytes()
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))]
    damaged += [whole + b"\0", whole * 2, bytes(len(whole)), bytes(4096)]
    for data in damaged:
        path.write_bytes(data)
        assert store.load("name") is None, data
    assert store.save("name", b"another")
    assert store.load("name") == b"another"


# --- where nothing can be kept ----------------------------------------------------------------


def give_away(folder: str) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(folder, 65534, 65534)


def lead_elsewhere(folder: Path) -> None:
    folder.symlink_to(folder.rename(folder.parents[2] / "moved"))


# What stands in the way, in a store with an entry or before there is one; and why nothing is kept.
SPOILED: dict[str, tuple[bool, Callable[[Store], object], str]] = {
    "a file for the directory": (False, lambda s: Path(s.base).write_text("mine"), "{base}"),
    "a link that leads nowhere": (False, lambda s: Path(s.base).symlink_to("nothing"), "{base}"),
    "a file for the layout": (
        False,
        lambda s: write_path(Path(s.top), b"mine"),
        "{top} is not a directory",
    ),
    "a link for the folder": (
        True,
        lambda s: lead_elsewhere(Path(s.folder)),
        "{folder} is not a directory",
    ),
    "others can write": (
        True,
        lambda s: Path(s.top).chmod(0o770),
        "{top} can be written by other users",
    ),
    "others can write to the folder": (
        True,
        lambda s: Path(s.folder).chmod(0o770),
        "{folder} can be written by other users",
    ),
    "another user's": (True, lambda s: give_away(s.folder), "{folder} belongs to another user"),
}


@pytest.mark.skipif(os.name != "posix", reason="links and modes are of POSIX")
@pytest.mark.parametrize("name", SPOILED)
def test_where_nothing_can_be_kept_that_is_said_and_nothing_else_happens(
    base, store, tmp_path, name
):
    is_begun, spoil, why = SPOILED[name]
    assert not is_begun or store.save("name", b"body")
    spoil(store)
    before = tree(tmp_path)
    store = Store(str(base), "/some/project")
    assert store.load("name") is None
    assert not store.save("name", b"body")
    assert store.load("name") is None
    store.note_use("name")
    assert not store.wants_trim()
    assert store.saved == 0
    assert why.format(base=store.base, top=store.top, folder=store.folder) in store.trouble
    assert trouble(store) == store.trouble
    assert tree(tmp_path) == before


def test_a_link_to_another_disk_in_the_place_of_the_cache_directory(base, store, tmp_path):
    (tmp_path / "disk").mkdir()
    base.symlink_to(tmp_path / "disk")
    assert store.save("name", b"body")
    assert store.load("name") == b"body"
    assert [entry.path for entry in survey(str(base)).files] == [f"{store.folder}/name"]


SAVE = """
import sys
from nparam_lint.cache.store import Store
def attempt(store, name, size):
    print(store.save(name, b"x" * size), store.trouble)
base, *rest = sys.argv[1:]
store = Store(base, "/some/project")
"""


@pytest.mark.skipif(os.name != "posix", reason="modes are of POSIX")
def test_a_directory_that_may_only_be_read():
    # Directly below the place for temporary files, where any user may look.
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        base.chmod(0o555)
        text = SAVE + "import os\nif os.geteuid() == 0: os.setuid(65534)\n"
        said = script(text + "attempt(store, 'name', 10); print(store.load('name'))", base)
        assert "Permission denied" in said
        assert said.startswith(f"False {base}/v1.")
        assert said.endswith("\nNone\n")
        assert names(base) == []
        base.chmod(0o755)


@pytest.mark.skipif(os.name != "posix", reason="limits are of POSIX")
def test_a_file_that_the_disk_takes_a_part_of_is_not_kept(base, store):
    assert store.save("old", b"o" * 5000)
    limited = SAVE + (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (int(rest[0]), int(rest[0])))\n"
        "attempt(store, 'old', 6000); attempt(store, 'new', 6000); attempt(store, 'small', 10)\n"
    )
    assert script(limited, base, 1000) == (
        f"False {store.folder}/old: File too large\n"
        f"False {store.folder}/new: File too large\n"
        f"True {store.folder}/new: File too large\n"
    )
    assert names(store.folder) == ["old", "small"]
    assert store.load("old") == b"o" * 5000
    assert store.load("small") == b"x" * 10
    fresh = base.with_name("fresh")
    assert script(limited, fresh, 10).count("File too large") == 3
    assert names(fresh) == []


def test_a_disk_that_is_full(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    prefix = on_small_disk(disk)
    text = SAVE + (
        "attempt(store, 'old', 20000); attempt(store, 'old', 60000); attempt(store, 'new', 60000)\n"
        "print(store.load('old') == b'x' * 20000, store.load('new'))\n"
        "import os; print(os.listdir(store.folder))\n"
        "open(base + '/rest', 'wb', buffering=0).write(bytes(1 << 20))\n"
        "attempt(store, 'old', 10); print(len(store.load('old')), os.listdir(store.folder))\n"
        "os.unlink(base + '/rest'); attempt(store, 'old', 10); print(len(store.load('old')))\n"
    )
    full = "No space left on device"
    said = script(text, disk, prefix=prefix).splitlines()
    folder = Store(str(disk), "/some/project").folder
    assert said == [
        "True ",
        f"False {folder}/old: {full}",
        f"False {folder}/new: {full}",
        "True None",
        "['old']",
        f"False {folder}/old: {full}",
        "20000 ['old']",
        f"True {folder}/old: {full}",
        "10",
    ]


# --- several at a time ------------------------------------------------------------------------

HAMMER = """
import os, sys, time
from nparam_lint.cache.housekeeping import clean, trim
from nparam_lint.cache.store import Store
base, role, number, stop = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
done = missing = 0
known, is_enough = set(), False
while not os.path.exists(stop):
    store = Store(base, "/some/project")
    if role == "write":
        size = (7, 4096, 300_001)[done % 3]
        done += store.save("name", b"%d %d %d|" % (number, done, size) + bytes([done % 251]) * size)
    elif role == "read":
        body = store.load("name")
        if body is None:
            missing += bool(known)
            continue
        head, _, rest = body.partition(b"|")
        writer, count, size = map(int, head.split())
        assert rest == bytes([count % 251]) * size, head
        known.add((writer, count))
        done = len(known)
    else:
        (clean(base) if done % 2 else trim(base, 100_000))
        done += 1
        time.sleep(0.01)
    if done >= 9 and not is_enough:
        is_enough = True
        print("enough", flush=True)
print(missing)
"""


def hammer(base: Path, *roles: str) -> list[int]:
    """Processes that use one entry at the same time, until each has done so nine times; how often
    each has missed an entry that had been there."""
    stop = base.with_name("stop")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HAMMER, str(base), role, str(number), str(stop)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, role in enumerate(roles)
    ]
    for process in processes:
        assert process.stdout.readline() == "enough\n"
    stop.touch()
    said = [process.communicate(timeout=120) for process in processes]
    assert [
        (process.returncode, errors) for process, (_, errors) in zip(processes, said, strict=True)
    ] == [(0, "")] * len(roles)
    return [int(output) for output, _ in said]


def test_runs_that_begin_at_once_make_one_directory_and_read_whole_entries(base):
    assert hammer(base, "write", "write", "write", "read", "read") == [0, 0, 0, 0, 0]
    assert names(base) == ["v1"]
    assert [len(survey(str(base)).folders), len(survey(str(base)).files)] == [1, 1]


def test_a_directory_that_another_run_makes_in_the_same_moment_is_used(base):
    text = SAVE + (
        "import os\n"
        "def late(fresh, top, rename=os.rename):\n"
        "    os.rename = rename\n"
        "    attempt(Store(base, '/some/other/project'), 'name', 10)\n"
        "    rename(fresh, top)\n"
        "os.rename = late\n"
        "attempt(store, 'name', 10)\n"
    )
    assert script(text, base) == "True \nTrue \n"
    assert names(base) == ["v1"]
    assert len(survey(str(base)).files) == 2


def test_removing_everything_meanwhile_costs_entries_and_nothing_else(base, store):
    hammer(base, "write", "write", "read", "clean")
    assert store.save("name", b"body")
    assert Store(str(base), "/some/project").load("name") == b"body"
    assert [path for path in tree(base) if path.endswith(PARTIAL)] == []


@pytest.mark.skipif(os.name != "posix", reason="killed by a signal")
@pytest.mark.parametrize("step", ["replace", "rename"])
def test_what_a_killed_run_leaves_goes_after_a_day(base, step):
    """`replace`: killed when an entry was about to get its name; `rename`: when the directory."""
    text = SAVE + f"import os\nos.{step} = lambda *_: os.kill(os.getpid(), 9)\n"
    if step == "replace":
        assert Store(str(base), "/some/project").save("name", b"old")
    command = [sys.executable, "-c", text + "attempt(store, 'name', 10)", str(base)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
    (left,) = (path for path in base.rglob("*") if path.name.endswith(PARTIAL))

    store = Store(str(base), "/some/project")
    assert store.load("name") == (b"old" if step == "replace" else None)
    assert store.save("name", b"new")
    assert store.load("name") == b"new"
    trim(str(base))
    assert left.exists()  # its run may be about to finish it
    age(left, DAY + 60)
    trim(str(base))
    assert not left.exists()
    assert store.load("name") == b"new"


@pytest.mark.skipif(os.name != "posix", reason="ended by a signal")
def test_an_interrupted_run_leaves_nothing(store):
    assert store.save("name", b"old")
    text = SAVE + (
        "import os, signal\n"
        "os.replace = lambda *_: signal.raise_signal(signal.SIGINT)\n"
        "try: attempt(store, 'name', 10)\n"
        "except KeyboardInterrupt: print('interrupted')\n"
    )
    assert script(text, store.base) == "interrupted\n"
    assert names(store.folder) == ["name"]
    assert store.load("name") == b"old"


# --- small enough -----------------------------------------------------------------------------


def fill(store: Store, count: int, size: int = 100_000) -> None:
    """Entries "0", "1" and so on, the last one used last; on the disk 25 blocks of 4,096 bytes."""
    for number in range(count):
        assert store.save(str(number), bytes(size))
        age(entry(store, str(number)), 10_000 * (count - number))


def test_empty_folders_of_projects_go_after_a_day(store):
    fill(store, 1)
    trim(store.base, limit=1)
    assert names(store.folder) == []
    age(store.folder, DAY + 60)
    trim(store.base)
    assert not Path(store.folder).exists()
    assert Store(store.base, "/some/project").save("name", b"body")


def test_a_run_looks_at_the_end_once_a_day_or_after_saving_much(base, store):
    fill(store, 1)
    left = entry(store, f"0.0123456789abcdef{PARTIAL}")  # what shows that somebody looked
    tag = base / "v1" / TAG

    def looked(by: Store) -> bool:
        left.write_bytes(b"")
        age(left, 2 * DAY)
        if by.wants_trim():
            trim(by.base)
        return not left.exists()

    assert not looked(store)
    age(tag, DAY + 60)
    assert not looked(Store(store.base, "/some/project"))  # it saved nothing
    assert looked(store)
    assert not looked(store)  # again on the same day
    age(tag, -DAY)  # the clock was wrong
    assert looked(store)
    assert not looked(store)
    assert store.save("much", bytes(8_000_000))
    assert looked(store)


# --- where it is ------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="paths of POSIX")
@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", "/home/me/.cache/nparam-lint"),
        ({"XDG_CACHE_HOME": "/var/x"}, "linux", "/var/x/nparam-lint"),
        ({"XDG_CACHE_HOME": ""}, "linux", "/home/me/.cache/nparam-lint"),
        ({"XDG_CACHE_HOME": "x"}, "linux", "/home/me/.cache/nparam-lint"),  # not absolute
        ({"XDG_CACHE_HOME": "/var/x"}, "darwin", "/home/me/Library/Caches/nparam-lint"),
        ({"LOCALAPPDATA": "/c/me/AppData/Local"}, "win32", "/c/me/AppData/Local/nparam-lint"),
        ({}, "win32", None),
        ({"LOCALAPPDATA": "AppData"}, "win32", None),
        ({"HOME": ""}, "linux", None),
        ({"HOME": "here"}, "linux", None),
        ({"HOME": "here"}, "darwin", None),
        ({"HOME": "", "XDG_CACHE_HOME": "/var/x"}, "linux", "/var/x/nparam-lint"),
        ({"HOME": "", "NPARAM_LINT_CACHE": "/var/own"}, "linux", "/var/own"),
        ({"NPARAM_LINT_CACHE": "/var/../own/"}, "win32", "/own"),
        ({"NPARAM_LINT_CACHE": ""}, "linux", "/home/me/.cache/nparam-lint"),
    ],
)
def test_where_it_is(environ, platform, expected):
    assert directory({"HOME": "/home/me", **environ}, platform) == expected


def test_a_place_relative_to_the_current_directory_or_to_home(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert directory({"NPARAM_LINT_CACHE": "own"}) == str(tmp_path / "own")
    assert directory({"NPARAM_LINT_CACHE": "~/own"}) == str(Path.home() / "own")


@pytest.mark.skipif(os.name != "posix", reason="the list of users is of POSIX")
def test_without_home_the_list_of_users_says_it(monkeypatch):
    import pwd

    monkeypatch.delenv("HOME")
    home = Path(pwd.getpwuid(os.getuid()).pw_dir)
    assert directory({}, "linux") == str(home / ".cache" / "nparam-lint")


# --- by which version -------------------------------------------------------------------------


@pytest.fixture
def copied(tmp_path):
    """A copy of the package, in a directory whose name is no text."""
    top = tmp_path / os.fsdecode(b"pack\xe9")
    ignore = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(PACKAGE, top / "nparam_lint", ignore=ignore))


def version_of(package: Path) -> tuple[str, str]:
    """Of the files as they are here, and of what they contain."""
    text = (
        "import os, sys; sys.path.insert(0, os.fsdecode(bytes.fromhex(sys.argv[1])));"
        "import nparam_lint.cache.file_facts as facts;"
        "assert facts.__file__.startswith(sys.path[0]);"
        "print(facts.tool(), facts.release(facts.Store(None, '')))"
    )
    state, content = script(text, os.fsencode(package.parent).hex()).split()
    return state, content


def test_any_change_of_any_file_of_nparam_lint_makes_it_another_version(copied):
    first = version_of(copied)
    assert version_of(copied) == first  # bytecode, which has been written by now, is no change
    versions = [first]
    for file in ("__init__.py", "count/run.py", "worker/__init__.py"):
        path = copied / file
        state, text = path.stat(), path.read_bytes()
        path.write_bytes(text[:3] + b"#" + text[4:])  # of the same size, with the same time
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        versions.append(version_of(copied))
    (copied / "worker" / "another.py").write_text("")
    versions.append(version_of(copied))
    assert [len(set(parts)) for parts in zip(*versions, strict=True)] == [5, 5]
    (copied / "gate" / "report.py").touch()
    touched = version_of(copied)
    assert (touched[0] in versions[-1], touched[1] in versions[-1]) == (False, True)
