"""Whatever happens to a project, its environment and the cache: a run that remembers says what one
says that does not.

A few random histories are lived through here, always the same ones. For other and more of them:

    NPARAM_LINT_HISTORIES=100 pytest tests/cache/test_properties.py --hypothesis-seed=1
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from cache_project import link, net, without_cache, write
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from sample_repository import GIT
from test_changes import install, new_environment

from nparam_lint.cache.store import digest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, signals, environments of POSIX")

HERE = "import os\nfrom pathlib import Path\nCONF = Path(os.path.abspath(__file__), '../../conf')"
YAML = f"{HERE}\nimport yaml\nload = lambda name: yaml.safe_load((CONF / name).open())['width']"
PLAIN = net("", 4).replace(":\n", ':\n    """nparam: 20"""\n', 1)
# What the project consists of: path → what it may contain, None where it may be missing; the first
# is what it begins with. Every model but `plain` reads one thing.
CONTENTS: dict[str, tuple[str | None, ...]] = {
    "net/plain.py": (
        PLAIN,
        PLAIN.replace("Linear(4", "Linear(6"),
        PLAIN.replace("20", "28"),
        PLAIN.replace("self.a = nn", "self.b = nn"),
        PLAIN.replace('20"""', '20"""  # nparam: ignore[NPL001]'),
        "class Net(:\n",
        None,
    ),
    "net/configured.py": (
        net("from net.config import WIDTH", "WIDTH"),
        net("from net.config import WIDTH", "WIDTH + 1"),
    ),
    "net/config.py": ("WIDTH = 4\n", "WIDTH = 6\n", "WIDTH = 0\n", "WIDTH < 4\n", None),
    "net/file.py": (net(YAML, "load('net.yaml')"),),
    "conf/net.yaml": ("width: 4\n", "width: 6\n", "width: [\n", None),
    "net/linked.py": (net(YAML, "load('current')"),),
    "conf/a.yaml": ("width: 4\n", "width: 5\n"),
    "conf/b.yaml": ("width: 6\n", "width: 7\n"),
    "net/listing.py": (net(HERE, "1 + len(os.listdir(CONF / 'parts'))"),),
    "conf/parts/a": ("", None),
    "conf/parts/b": (None, ""),
    "net/variable.py": (net("import os", "int(os.environ.get('NET_WIDTH', 4))"),),
    "net/registry.py": ("R = {}\nK = 4\n", "R = {}\nK = 6\n"),
    "net/blocks.py": (
        "from net import registry\nregistry.R['b'] = lambda: registry.K\n",
        "from net import registry\nregistry.R['b'] = lambda: 8 + 00000000\n",
    ),
    "net/registered.py": (net("from net import blocks, registry", "registry.R['b']()"),),
    "net/company.py": (
        None,
        net("from net import registry\nregistry.K = 9", 4),
        net("import os\nos.environ['NET_WIDTH'] = '9'", 4),
    ),
    "net/package.py": (net("import extra", "extra.W"),),
    "net/shadowed.py": (net("import widths", "widths.W"),),
    "widths.py": ("W = 4\n", "W = 6\n"),
    "net/optional.py": (net("try:\n    from fast import W\nexcept ImportError:\n    W = 4", "W"),),
    "net/private.py": ("W = 4\n", "W = 6\n", None),
    "net/ignored.py": (net("from net.private import W", "W"),),
    # What shadows, or is there all of a sudden
    "widths/__init__.py": (None, "W = 8\n"),
    "net/widths.py": (None, "W = 9\n"),
    "fast.py": (None, "W = 6\n", "W = 7\n", "raise ImportError\n"),
    "extra.py": (None, "W = 7\n"),
    "yaml.py": (None, "def safe_load(file):\n    return {'width': 8}\n"),
    "net/__init__.py": ("", "import os\nos.environ.setdefault('NET_WIDTH', '8')\n", None),
    "nparam-lint.toml": (
        '[budgets]\n"net/configured.py::Net" = 20\n',
        '[budgets]\n"net/configured.py::Net" = 28\n',
        '[budgets]\n"net/configured.py::Not" = 28\n',
        'exclude = ["net/plain.py"]\n',
        'extend = "base.toml"\n',
        'select = ["NPL101"]\n',
        "[budgets\n",
        None,
    ),
    "base.toml": (None, 'ignore = ["NPL003", "NPL004"]\n', '[budgets]\n"net/file.py::Net" = 20\n'),
    ".gitignore": (
        "net/private.py\n",
        "net/private.py\nfast.py\n",
        "net/private.py\nnet/plain.py\n",
    ),
}
MODELS = [path for path, (first, *_) in CONTENTS.items() if first and "nn.Module" in first]
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("check", "--format", "json"),
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

    run: Any
    neutral: Mapping[str, str]  # the environment of `run`
    top: Path
    environ: dict[str, str] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)  # state and command → without a cache

    @property
    def root(self) -> Path:
        return self.top / "project"

    @property
    def cache(self) -> Path:
        return self.top / "cache"

    def git(self, *words: str) -> None:
        subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=os.environ | GIT,
            check=False,  # there may be nothing to commit, or no such file
            capture_output=True,
        )

    def begin(self) -> None:
        """The project as it was at first, and of the cache what a check remembered then."""
        shutil.rmtree(self.root, ignore_errors=True)
        write(self.root, {path: text for path, (text, *_) in CONTENTS.items() if text is not None})
        link(self.root / "conf/current", "a.yaml")
        self.git("init", "-q", "-b", "first")
        self.git("add", ".")
        self.git("commit", "-qm", "one")
        self.git("branch", "second")
        self.environ = {"NPARAM_LINT_PYTHON": str(self.top / "one")}
        Upgrade(4, in_place=False).happen(self)
        shutil.rmtree(self.cache, ignore_errors=True)
        kept = self.top / "kept"
        if not kept.exists():
            self.ask(COMMANDS[0])
            shutil.copytree(self.cache, kept)
        else:
            shutil.copytree(kept, self.cache)

    def ask(self, command: Sequence[str], *more: str) -> Any:
        """(exit code, what is printed, what is said besides), without what may differ."""
        environ = self.environ | {"NPARAM_LINT_CACHE": str(self.cache)}
        done = self.run(*command, *more, cwd=self.root, **environ)
        assert "Traceback" not in done.stderr, done.stderr
        return done.returncode, without_cache(done.stdout), done.stderr

    def anew(self, command: Sequence[str]) -> Any:
        """The same without a cache; found out once for each state of the world."""
        key = digest(repr(command).encode(), *self._state())
        if key not in self.answers:
            self.answers[key] = self.ask(command, "--no-cache")
        return self.answers[key]

    def _state(self) -> list[bytes]:
        index = ["git", "ls-files", "--stage", "-z"]
        parts = [subprocess.run(index, cwd=self.root, check=True, capture_output=True).stdout]
        parts.append(repr(sorted(self.environ.items())).encode())
        for folder in (self.root, self.top / "one" / "lib"):
            for path in sorted(folder.rglob("*")):
                if ".git" in path.parts or "__pycache__" in path.parts:
                    continue
                parts.append(str(path).encode())
                if path.is_symlink():
                    parts.append(bytes(path.readlink()))
                elif path.is_file():
                    parts.append(path.read_bytes())
        return parts

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "nparam_lint", *command],
            cwd=self.root,
            env={**self.neutral, **self.environ, "NPARAM_LINT_CACHE": str(self.cache)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )


# --- what may happen -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Write:
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


@dataclass(frozen=True)
class Touch:
    path: str

    def happen(self, world: World) -> None:
        if (world.root / self.path).exists():
            os.utime(world.root / self.path)


@dataclass(frozen=True)
class Rename:
    path: str
    to: str

    def happen(self, world: World) -> None:
        if (world.root / self.path).exists():
            (world.root / self.path).replace(world.root / self.to)


@dataclass(frozen=True)
class Link:
    target: str

    def happen(self, world: World) -> None:
        link(world.root / "conf/current", self.target)


@dataclass(frozen=True)
class Git:
    words: tuple[str, ...]

    def happen(self, world: World) -> None:
        world.git(*self.words)


@dataclass(frozen=True)
class Variable:
    name: str
    value: str | None

    def happen(self, world: World) -> None:
        world.environ.pop(self.name, None)
        if self.value is not None:
            world.environ[self.name] = self.value


@dataclass(frozen=True)
class Interpreter:
    name: str

    def happen(self, world: World) -> None:
        world.environ["NPARAM_LINT_PYTHON"] = str(world.top / self.name)


@dataclass(frozen=True)
class Upgrade:
    """Another version of an installed package; `in_place`: as one tries something."""

    width: int
    in_place: bool

    def happen(self, world: World) -> None:
        site = next((world.top / "one").glob("lib/python3*/site-packages"))
        if (site / "extra/__init__.py").read_text() == f"W = {self.width}\n":
            return
        if self.in_place:
            write(site, {"extra/__init__.py": f"W = {self.width}\n"})
        else:
            install(site, self.width, f"{self.width}.0")


@dataclass(frozen=True)
class Damage:
    """One of the cache's files gets another content, or goes."""

    number: int
    kind: str

    def happen(self, world: World) -> None:
        files = sorted(path for path in world.cache.rglob("*") if path.is_file())
        if not files:
            return
        path = files[self.number % len(files)]
        if self.kind == "removed":
            path.unlink()
        else:
            other = files[(self.number + 1) % len(files)]
            path.write_bytes(DAMAGE[self.kind](path.read_bytes(), other.read_bytes()))


@dataclass(frozen=True)
class Meanwhile:
    """A run is under way when something happens, or it is killed."""

    seconds: float
    command: tuple[str, ...]
    what: Write | None

    def happen(self, world: World) -> None:
        process = world.start(self.command)
        time.sleep(self.seconds)
        if self.what:
            self.what.happen(world)
        else:
            process.send_signal(signal.SIGKILL)
        process.wait()


@dataclass(frozen=True)
class Step:
    """What happens between two questions. `at_once`: how many runs are asked; `settled`: the first
    one is not asked before all changes are older than the clock's grain, so that its answer is
    kept."""

    happens: list[Any]
    command: tuple[str, ...] = COMMANDS[0]
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
rare = st.one_of(
    st.builds(Touch, st.sampled_from([*CONTENTS, "conf", "net", "."])),
    st.builds(Rename, st.sampled_from(MODELS), st.sampled_from(["net/renamed.py", *MODELS[:3]])),
    st.builds(Link, st.sampled_from(["a.yaml", "b.yaml", "nowhere"])),
    st.builds(
        Git,
        st.sampled_from(
            [
                ("add", "-A"),
                *(("add", "-A", "--", path) for path in ("net/config.py", "conf", "widths.py")),
                ("commit", "-qam", "more"),
                ("reset", "-q"),
                ("checkout", "-qf", "first"),
                ("checkout", "-qf", "second"),
                ("stash", "-qu"),
                ("stash", "pop", "-q"),
                ("rm", "-q", "--cached", "net/plain.py"),
            ]
        ),
    ),
    st.builds(Variable, st.just("NET_WIDTH"), st.sampled_from(["5", "7", None])),
    st.builds(Variable, st.just("NPARAM_LINT_FORK"), st.sampled_from(["0", None])),
    st.builds(Interpreter, st.sampled_from(["one", "two"])),
    st.builds(Upgrade, st.sampled_from([4, 6, 8]), st.booleans()),
    st.builds(Damage, st.integers(0, 99), st.sampled_from([*DAMAGE, "removed"])),
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


@pytest.fixture(scope="module")
def world(
    nparam_lint_process: Callable[..., Any],
    environ: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> World:
    top = tmp_path_factory.mktemp("world")
    for name, width in (("one", 4), ("two", 8)):
        new_environment(top / name, width)
    return World(nparam_lint_process, environ, top)


def live(world: World, history: Sequence[Step]) -> None:
    world.begin()
    for step in history:
        for event in step.happens:
            event.happen(world)
        if step.settled:
            time.sleep(0.06)
        with ThreadPoolExecutor(step.at_once + 1) as pool:
            anew = pool.submit(world.anew, step.command)
            runs = [pool.submit(world.ask, step.command) for _ in range(step.at_once)]
            for done in runs:
                assert done.result() == anew.result()
        assert world.ask(step.command) == anew.result()


MANY = int(os.environ.get("NPARAM_LINT_HISTORIES", "0"))


@pytest.mark.thorough
@settings(
    max_examples=MANY or 3,
    derandomize=not MANY,
    database=None,
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=[
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,  # each step imports torch
    ],
    print_blob=False,
)
@given(history=st.lists(steps, min_size=2, max_size=12 if MANY else 4))
def test_a_run_that_remembers_says_what_one_says_that_does_not(
    world: World, history: list[Step]
) -> None:
    note(f"history = {history!r}")
    live(world, history)
