"""Whatever happens to a project, its environment and the cache: a run that remembers says what one
says that does not, and builds again what could have another count.

One history is told here step by step. Random ones, always the same few, are lived through in the
night. For other and more of them:

    NPARAM_LINT_HISTORIES=100 pytest -m '' tests/cache/test_properties.py --hypothesis-seed=1
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from cache_project import answer, install, link, new_environment, replayed, without_cache
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from processes import without_progress
from sample_files import write_files
from sample_repository import GIT, Sample

from nparam_lint.count import worker_process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conftest import Command

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals, environments of POSIX")


def read_contents() -> dict[str, tuple[str | None, ...]]:
    """What the project consists of: path → what it may contain, None where it is missing; the first
    is what it begins with."""
    text = Path(__file__).with_name("changing_files.txt").read_text("utf-8")
    contents = {}
    for head, body in re.findall(r"(?ms)^===== ([^\n]*)\n(.*?)(?=^=====|\Z)", text):
        path, _, state = head.partition(" ")
        first, *others = re.split(r"(?m)^(----- or(?: is missing)?)\n", body)
        pairs = zip(others[::2], others[1::2], strict=True)
        variants = (None if "missing" in kind else text for kind, text in pairs)
        contents[path] = (None if state == "is missing" else first, *variants)
        if state == "(a model)":
            PATHS[Path(path).stem] = path
    return contents


PATHS = {}  # of the models, by their names
CONTENTS = read_contents()
MODELS = [*PATHS]
PATHS["company"] = "net/company.py"  # what it leaves behind, another file does not find
CHECK = ("check", "--format", "json")
COMMANDS: tuple[tuple[str, ...], ...] = (
    CHECK,
    ("check",),
    ("check", "--declared"),
    ("check", "--staged", "--format", "json"),
    ("check", "--staged", "--declared"),
    ("check", "--static", "--format", "concise"),
    ("check", "net/configured.py", "net/registered.py", "--format", "json"),
    ("check", "net", "--select", "NPL001,NPL003,NPL004"),
    ("diff", "HEAD", "--format", "json"),
    ("show", "net/registered.py::Net"),
    ("show", "net/file.py::Net", "--format", "json"),
    ("update", "--check"),
)
DAMAGE: dict[str, Callable[[bytes, bytes], bytes]] = {
    "cut off": lambda data, _: data[: len(data) // 2],
    "emptied": lambda *_: b"",
    "a flipped bit": lambda data, _: data[:-1] + bytes([data[-1] ^ 1]),
    "grown": lambda data, _: data + b"x",
    "another one": lambda _, other: other,
}


@dataclass
class World:
    """A project, the environment it is checked in, and the cache."""

    run: Command
    neutral: Mapping[str, str]  # the environment of `run`
    top: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.top / "project"

    @property
    def cache(self) -> Path:
        return self.top / "cache"

    def git(self, *words: str) -> None:
        """There may be nothing to commit, or no such file."""
        Sample(self.root, {**self.neutral, **GIT}).git(*words, check=False)

    def begin(self) -> None:
        """The project as it was at first, and of the cache what a check remembered then."""
        for folder in (self.root, self.top / "project.out", self.cache):
            shutil.rmtree(folder, ignore_errors=True)
        self.root.mkdir()
        write_files(
            self.root, {path: text for path, (text, *_) in CONTENTS.items() if text is not None}
        )
        link(self.root / "conf/current", "a.yaml")
        link(self.root / "nets", "../project.out/nets")
        self.git("init", "-q", "-b", "first")
        self.git("add", ".")
        self.git("commit", "-qm", "one")
        self.git("branch", "second")
        places = {"NPARAM_LINT_PYTHON": self.top / "one", "OUTER": self.top / "project.out"}
        self.environ = {name: str(place) for name, place in places.items()}
        Upgrade(4, in_place=False).happen(self)
        kept = self.top / "kept"
        if not kept.exists():
            self.ask(CHECK)
            shutil.copytree(self.cache, kept)
        else:
            shutil.copytree(kept, self.cache)

    def ask(self, command: Sequence[str], *more: str) -> Any:
        """(exit code, what is printed, what is said besides), without what may differ."""
        environ = self.environ | {"NPARAM_LINT_CACHE": str(self.cache)}
        if last := replayed(self.root, (*command, *more), {**self.neutral, **environ}):
            code, text = last
            return code, without_cache(text), []
        return _said(self.run(*command, *more, cwd=self.root, **environ))

    def start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "nparam_lint", *command],
            cwd=self.root,
            env={**self.neutral, **self.environ, "NPARAM_LINT_CACHE": str(self.cache)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )


def _said(done: subprocess.CompletedProcess[str]) -> Any:
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, without_cache(done.stdout), without_progress(done.stderr)


# --- what may happen -----------------------------------------------------------------------------


class Write(NamedTuple):
    """A file gets a content, or goes. `how`: "kept": size and time of modification stay as they
    are where they can; "swapped": so does another file that is put in its place."""

    path: str
    content: str | None
    how: str = "written"

    def happen(self, world: World) -> None:
        path = world.root / self.path
        if self.content is None:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        state = path.stat() if path.exists() else None
        target = path.with_name(f"{path.name}.new") if self.how == "swapped" else path
        target.write_text(self.content)
        if state and self.how != "written":
            os.utime(target, ns=(state.st_atime_ns, state.st_mtime_ns))
        target.replace(path)


class Touch(NamedTuple):
    path: str

    def happen(self, world: World) -> None:
        if (world.root / self.path).exists():
            os.utime(world.root / self.path)


class Rename(NamedTuple):
    path: str
    to: str

    def happen(self, world: World) -> None:
        if (world.root / self.path).exists():
            (world.root / self.path).replace(world.root / self.to)


class Link(NamedTuple):
    target: str

    def happen(self, world: World) -> None:
        link(world.root / "conf/current", self.target)


class AtOnce(NamedTuple):
    events: Sequence[Any]

    def happen(self, world: World) -> None:
        for event in self.events:
            event.happen(world)


class Git(NamedTuple):
    words: str

    def happen(self, world: World) -> None:
        world.git(*self.words.split())


class Variable(NamedTuple):
    name: str
    value: str | None

    def happen(self, world: World) -> None:
        world.environ.pop(self.name, None)
        if self.value is not None:
            world.environ[self.name] = self.value


class Interpreter(NamedTuple):
    name: str

    def happen(self, world: World) -> None:
        world.environ["NPARAM_LINT_PYTHON"] = str(world.top / self.name)


class Upgrade(NamedTuple):
    """Another version of an installed package; `in_place`: as one tries something. A worker that
    waits for the next test knows of the other one."""

    width: int
    in_place: bool

    def happen(self, world: World) -> None:
        site = next((world.top / "one").glob("lib/python3*/site-packages"))
        if (site / "extra/__init__.py").read_text() == f"W = {self.width}\n":
            return
        if self.in_place:
            write_files(site, {"extra/__init__.py": f"W = {self.width}\n"})
        else:
            install(site, self.width, f"{self.width}.0")
            worker_process._end_all()


class Damage(NamedTuple):
    """Entries of the cache whose names begin so get another content, or go; `number`: one of them.
    What nparam-lint is, under a name without a dash, a process reads and writes but once."""

    kind: str
    beginning: str = ""
    number: int | None = None

    def happen(self, world: World) -> None:
        paths = sorted(path for path in world.cache.rglob(f"{self.beginning}*-*") if path.is_file())
        if self.number is not None and paths:
            paths = [paths[self.number % len(paths)]]
        bodies = [path.read_bytes() for path in paths]
        for path, body, other in zip(paths, bodies, reversed(bodies), strict=True):
            if self.kind == "removed":
                path.unlink()
            else:
                path.write_bytes(DAMAGE[self.kind](body, other))


class Meanwhile(NamedTuple):
    """A run is under way when something happens, or it is killed."""

    seconds: float
    command: tuple[str, ...]
    what: Write | None

    def happen(self, world: World) -> None:
        with world.start(self.command) as process:
            time.sleep(self.seconds)
            if self.what:
                self.what.happen(world)
            else:
                process.send_signal(signal.SIGKILL)
            process.communicate()


@pytest.fixture(scope="module")
def world(
    nparam_lint: Command, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> World:
    top = tmp_path_factory.mktemp("world")
    for name, width in (("one", 4), ("two", 9)):
        new_environment(top / name, width)
    return World(nparam_lint, environ, top)


# --- one history ----------------------------------------------------------------------------------


class Told(NamedTuple):
    """What happens; the models that have another width then; all that are built (None: these are
    among them, and so may be others that had the same imports); which are asked for, if not all."""

    event: Any
    widths: Mapping[str, int | None]
    built: Sequence[str] | None
    asked: Sequence[str] = ()


def found(path: str, model: str, width: int = 6) -> Told:
    """The file is made that an import finds from now on."""
    return Told(Write(path, CONTENTS[path][1]), {model: width}, None, [model, "plain"])


def left_behind(number: int, reader: str, width: int) -> list[Told]:
    """A file leaves something behind, and the model is edited that could see it: whether both are
    in one process must not matter."""
    source, edited = CONTENTS[PATHS["company"]][number], CONTENTS[PATHS[reader]][1]
    both = ["company", reader]
    return [
        Told(Write(PATHS["company"], source), {"company": 4}, None, both),
        Told(Write(PATHS[reader], edited), {reader: width}, [reader], both),
    ]


# What else is read, changed at once: a file, and the models that read it.
READ = {
    "net/starred_width.py": ("star",),
    "net/late_width.py": ("in_constructor",),
    "net/by_name.py": ("named",),
    "conf/by_path.py": ("by_path",),
    "net/ran.py": ("run",),
    "lazy/sub.py": ("asked", "asked_too"),
    "own/own_settings.py": ("ignored_folder",),
    "conf/net.json": ("once", "once_too", "once_late", "once_late_too"),
    "conf/big": ("looked", "looked_too"),
    "../project.out/cfg/x.json": ("above_link",),
    "net/widen.py": ("decorated",),
    PATHS["script"]: ("script",),
}
READERS = [name for names in READ.values() for name in names]
CHANGES, UNDONE = ([Write(path, CONTENTS[path][n], "kept") for path in READ] for n in (1, 0))
DAMAGES = (
    *(Damage("removed", name) for name in ("shared", "inputs", "model")),
    Damage("a flipped bit"),
)
STORY = [
    Told(AtOnce(CHANGES), dict.fromkeys(READERS, 6), None),
    Told(AtOnce(UNDONE), dict.fromkeys(READERS, 4), []),
    Told(Write("net/config.py", "WIDTH = 6\n", "kept"), {"configured": 6}, ["configured"]),
    Told(Write("net/config.py", "WIDTH = 4\n", "swapped"), {"configured": 4}, []),
    Told(Write("conf/net.yaml", "width: 6\n", "kept"), {"file": 6}, ["file"]),
    Told(Write("net/config.py", "WIDTH < 4\n"), {"configured": None}, ["configured"]),
    Told(Touch("net/plain.py"), {}, []),  # that it cannot be built is remembered, too
    Told(Link("b.yaml"), {"linked": 6}, ["linked"]),
    Told(Write("conf/parts/b", ""), {"listing": 5}, ["listing"]),
    Told(Write("net/registry.py", "R = {}\nK = 6\n"), {"registered": 6}, ["registered"]),
    Told(Write("net/private.py", "W = 6\n"), {"ignored": 6}, ["ignored"]),
    Told(Write("net/plain.py", CONTENTS["net/plain.py"][2]), {}, []),  # another budget
    Told(Write("net/plain.py", CONTENTS["net/plain.py"][1]), {"plain": 6}, ["plain"]),
    Told(Git("commit -qam more"), {}, []),
    Told(
        Git("checkout -qf second"),
        {"configured": 4, "file": 4, "linked": 4, "registered": 4, "plain": 4},
        [],
    ),
    found("late/c.py", "late_directory"),
    *left_behind(1, "registered", 4),
    *left_behind(2, "variable", 6),
    *left_behind(3, "late_directory", 4),
    *(Told(damage, {}, ["plain", "listing"], ["plain", "listing"]) for damage in DAMAGES),
    Told(Damage("removed", "run"), {}, [], ["plain", "listing"]),
    found("widths/__init__.py", "shadowed"),
    found("fast.py", "optional"),
    found("p/fast.py", "optional_part"),
    found("colorsys.py", "library"),
    found("../project.out/outer.py", "outside"),
    found("../project.out/outer_lib/inner.py", "outside_part"),
    found("ns/__init__.py", "namespace"),
    found("p/q/__init__.py", "namespace_part"),
    found("b/parts/__init__.py", "split"),
    found("x/m/typing_extensions.py", "barred"),
    found("yaml.py", "file", 8),
    found("extra.py", "package", 7),
    Told(Write("extra.py", None), {"package": 4}, None, ["package", "plain"]),
    Told(Upgrade(5, in_place=True), {"package": 5}, None, ["package"]),
    Told(Interpreter("two"), {"package": 9}, None, ["package"]),
    Told(Interpreter("one"), {"package": 5}, [], ["package"]),
]


def test_a_history(world: World) -> None:
    world.begin()
    widths: dict[str, int | None] = dict.fromkeys(MODELS, 4)
    for event, changes, built, asked in STORY:
        event.happen(world)
        widths |= changes
        environ = world.environ | {"NPARAM_LINT_CACHE": str(world.cache)}
        paths = map(PATHS.__getitem__, asked)
        done = answer(world.run("check", *paths, *CHECK[1:], cwd=world.root, **environ))
        totals = {stem(target): total for target, total in done.totals.items()}
        expected = {name: width and 4 * width + 4 for name, width in widths.items()}
        assert totals == {name: expected[name] for name in asked or widths}, event
        built_now = totals.keys() - set(map(stem, done.recalled))
        if built is None:
            assert built_now >= changes.keys(), event
        else:
            assert sorted(built_now) == sorted(built), event
        if event is STORY[0].event:  # files that read alike are told apart
            models = {model["path"]: model["modules"] for model in done.report["models"]}
            for path in (PATHS["asked"], PATHS["asked_too"]):
                assert models[path][1]["source"] == f"{path}:6"
    world.git("commit", "-qam", "more")
    world.git("rm", "-q", "--cached", PATHS["plain"])
    Write("net/config.py", "WIDTH = 6\n").happen(world)
    for command in (COMMANDS[3], *COMMANDS[-2:]):
        assert world.ask(command) == world.ask(command, "--no-cache")


def stem(target: str) -> str:
    return Path(target.partition("::")[0]).stem


# --- random ones ----------------------------------------------------------------------------------


class Step(NamedTuple):
    """What happens between two questions. `at_once`: how many runs are asked; `settled`: the first
    one is not asked before all changes are older than the clock's grain, so that its answer is
    kept."""

    happens: list[Any]
    command: tuple[str, ...] = CHECK
    at_once: int = 1
    settled: bool = False


writes = st.sampled_from([*CONTENTS]).flatmap(
    lambda path: st.builds(
        Write,
        st.just(path),
        st.sampled_from(CONTENTS[path]),
        st.sampled_from(["written", "kept", "swapped"]),
    )
)
commands = st.sampled_from(COMMANDS)
git = (
    *("add -A", "add -A -- net/config.py", "add -A -- conf", "add -A -- widths.py", "reset -q"),
    *("commit -qam more", "checkout -qf first", "checkout -qf second", "stash -qu", "stash pop -q"),
    "rm -q --cached net/plain.py",
)
rare = st.one_of(
    st.builds(Touch, st.sampled_from([*CONTENTS, "conf", "net", "."])),
    st.builds(
        Rename,
        st.sampled_from([*PATHS.values()]),
        st.sampled_from(["net/renamed.py", PATHS["file"]]),
    ),
    st.builds(Link, st.sampled_from(["a.yaml", "b.yaml", "nowhere"])),
    st.builds(Git, st.sampled_from(git)),
    st.builds(Variable, st.just("NET_WIDTH"), st.sampled_from(["5", "7", None])),
    st.builds(Variable, st.just("NPARAM_LINT_FORK"), st.sampled_from(["0", None])),
    st.builds(Interpreter, st.sampled_from(["one", "two"])),
    st.builds(Upgrade, st.sampled_from([4, 6, 8]), st.booleans()),
    st.builds(Damage, st.sampled_from([*DAMAGE, "removed"]), st.just(""), st.integers(0, 99)),
    st.builds(
        Meanwhile,
        st.sampled_from([0.05, 0.2, 0.5, 1.0, 1.5]),
        commands,
        st.one_of(writes, st.none()),
    ),
)
steps = st.builds(
    Step,
    st.lists(st.one_of(writes, rare), min_size=1, max_size=3),
    commands,
    st.sampled_from([1, 1, 1, 1, 3]),
    st.booleans(),
)
MANY = int(os.environ.get("NPARAM_LINT_HISTORIES", "0"))


@pytest.mark.thorough
@settings(
    max_examples=MANY or 4,
    derandomize=not MANY,
    database=None,
    phases=[Phase.generate, Phase.shrink] if MANY else [Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=False,
)
@given(history=st.lists(steps, min_size=2, max_size=12 if MANY else 4))
def test_a_run_that_remembers_says_what_one_says_that_does_not(
    world: World, monkeypatch: pytest.MonkeyPatch, history: list[Step]
) -> None:
    # Where each model imports torch anew, all of them may take longer than a minute.
    monkeypatch.setattr("nparam_lint.cli.check._PATIENCE", 600.0)
    note(f"history = {history!r}")
    world.begin()
    for step in history:
        for event in step.happens:
            event.happen(world)
        if step.settled:
            time.sleep(0.06)
        others = [world.start(step.command) for _ in range(step.at_once - 1)]
        said = [world.ask(step.command)]
        for process in others:
            output, errors = process.communicate()
            done = subprocess.CompletedProcess(step.command, process.returncode, output, errors)
            said.append(_said(done))
        said.append(world.ask(step.command))
        assert said == [world.ask(step.command, "--no-cache")] * len(said)
