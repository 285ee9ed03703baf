"""Whatever the project's code does costs the one model, with a message that helps; the others are
counted right, nothing is written, and nothing stays behind.

Every project of `tests/projects/hostile` is copied, run once with forked and once with spawned
processes, and looked at by many tests.
"""

import os
import py_compile
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import marked
from worker_runs import LINUX, MODES, PROJECTS, PYTHON, Run, make_orders, run, snapshot

from nparam_lint.count.measured import Measured
from nparam_lint.ground.orders import Order

PATIENCE = 60.0  # seconds, for what ends by itself
TIMEOUT = 1.5  # for what never does
MEMORY = 1 << 30
SECRETS = {
    "MY_API_TOKEN": "secret",
    "DB_PASSWORD": "secret",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "OPENAI_API_KEY": "secret",
}

on_linux = pytest.mark.skipif(not LINUX, reason="looks for processes in /proc, which needs Linux")
on_posix = pytest.mark.skipif(os.name != "posix", reason="needs signals and fork")


@pytest.fixture(scope="module", autouse=True)
def one_worker() -> None:
    """Each of these looks at what is left when its own worker has ended."""


class World(NamedTuple):
    """A run in its own directory: the project's files before and after, those of the home, and
    the processes that were left."""

    run: Run
    root: Path
    before: dict[str, bytes | None]
    after: dict[str, bytes | None]
    home: dict[str, bytes | None]
    left: dict[int, str]
    seconds: float


def visit(
    place: Path,
    projects: Sequence[str],
    mode: str,
    jobs: Callable[[Path], list[Order]],
    timeout: float = PATIENCE,
) -> World:
    root, home, marker = place / "project", place / "home", uuid.uuid4().hex
    for project in projects:
        shutil.copytree(PROJECTS / "hostile" / project, root, dirs_exist_ok=True)
    home.mkdir()
    before, start = snapshot(root), time.monotonic()
    environ = {
        "NPARAM_LINT_FORK": mode,
        "HOME": str(home),
        "TORCH_SURVIVAL_MARKER": marker,
        "HARMLESS_SETTING": "kept",
        **SECRETS,
    }
    done = run(root, jobs(root), timeout=timeout, memory=MEMORY, environ=environ)
    seconds = time.monotonic() - start
    left = marked(marker)
    return World(done, root, before, snapshot(root), snapshot(home), left, seconds)


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def line(world: World, source: str | None) -> str:
    assert source is not None
    path, _, number = source.rpartition(":")
    return (world.root / path).read_text().splitlines()[int(number) - 1].strip()


def total(world: World, target: str) -> int:
    return world.run.measured(target).counts.total


# --- constructors -----------------------------------------------------------------------------

SURVIVE = (
    "Ok",
    "Talks",
    "Heavy",
    "Floods",
    "Forges",
    "WritesCaught",
    "UsesTemporary",
    "Threads",
    "Decorated",
    "ChangesDirectory",
    "ReadsRelative",
    "ChangesImports",
    "ImportsLate",
    "ChangesDtype",
    "PatchesName",
    "PatchesMethod",
    "AtExit",
    "WithSecret",
    "ReadsInput",
)
SURVIVE_ON_POSIX = ("Daemon", "ForkedChildReturns", "ForkedChildExits")

# name: (code, what the reason says, what stands on the line that it names)
FAIL = {
    "RaisesMuch": ("NPL004", "RaisesMuch() raised ValueError: xxx", "raise ValueError("),
    "RaisesUnprintable": ("NPL004", "raised Unprintable", "raise Unprintable"),
    "RaisesBase": ("NPL004", "RaisesBase() raised BaseException: base", "raise BaseException"),
    "Interrupts": ("NPL004", "Interrupts() raised KeyboardInterrupt", "raise KeyboardInterrupt"),
    "Exits": ("NPL004", "Exits() called sys.exit(0)", "sys.exit(0)"),
    "ExitsHard": ("NPL005", "ended with exit status 0 while it was built", None),
    "Segfaults": ("NPL005", "killed by SIGSEGV", "ctypes.string_at(0)"),
    "SegfaultsDeep": ("NPL005", "killed by SIGSEGV", "ctypes.string_at(0) if further == 0"),
    "Eats": ("NPL005", "needed more than 1 GiB of memory while it was built", None),
    "Recurses": ("NPL004", "raised RecursionError", None),
    "ForksAndDies": ("NPL005", "ended with exit status 0 while it was built", None),
    "WritesTree": ("NPL004", "refused to write 'evil.txt'", 'open("evil.txt", "w")'),
    "WritesHome": ("NPL004", "refused to write '", "(pathlib.Path.home()"),
    "WritesRaw": ("NPL004", "refused to write 'evil.txt'", "os.open("),
    "MakesDirectories": ("NPL004", "refused os.mkdir of 'checkpoints", "os.makedirs("),
    "Renames": ("NPL004", "refused os.rename of 'data.txt'", "os.rename("),
    "Removes": ("NPL004", "refused os.remove of 'data.txt'", 'pathlib.Path("data.txt")'),
    "Truncates": ("NPL004", "refused os.truncate of 'data.txt'", "os.truncate("),
    "Connects": ("NPL004", "refused a network connection to '127.0.0.1'", "socket.create_conn"),
    "ConnectsRaw": ("NPL004", "a network connection to ('127.0.0.1', 9)", "connection.connect("),
    "Resolves": ("NPL004", "refused a network connection to 'weights.invalid'", "socket.getaddr"),
    "StartsProgram": ("NPL004", "refused to start the program 'touch'", "subprocess.run("),
    "StartsShell": ("NPL004", "refused to start the program 'touch'", "os.system("),
    "Spawns": ("NPL004", "refused to start the program 'echo > evil.txt'", "os.posix_spawn("),
    "Replaced": ("NPL004", "Replaced() returned int, not a model", None),
    "KillsParent": ("NPL004", "refused to kill process", "os.kill("),
    "KillsParentGroup": ("NPL004", "refused to kill process", "os.killpg("),
    "KillsEverything": ("NPL004", "refused to kill process -1", "os.kill("),
    "ClosesAll": ("NPL005", "while it was built", None),
    "Asks": ("NPL004", "EOFError", "self.name = input("),
    "NoSuper": ("NPL004", "AttributeError", "self.layer ="),
    "Needs": ("NPL004", "Needs needs width, depth", None),
}


CAUSES = {
    "ExitsHard": "died",
    "Segfaults": "died",
    "SegfaultsDeep": "died",
    "ForksAndDies": "died",
    "ClosesAll": "died",
    "Eats": "out_of_memory",
    "Replaced": "not_a_model",
    "Needs": "arguments_missing",
}


STALE = {
    "value": ("WIDTH", "WIDTH = search()"),
    "global": ("WIDTH", "setup()"),
    "argument": ("CONFIG", "configure(CONFIG)"),
    "attribute": ("CONFIG", "CONFIG.width = search()"),
    "setattr": ("CONFIG", 'setattr(CONFIG, "width", search())'),
    "method": ("CONFIG", "CONFIG.load(search())"),
}
SCRIPTS = ("parses", "trains", "configured", "loads", "batches", "frames", "braces", "registers")
SCRIPT_TARGETS = [
    *(f"{name}.py::Net" for name in SCRIPTS),
    "loads.py::OfWeights",
    "frames.py::OfClasses",
    "needs.py::Uses",
    "needs.py::Inherits",
    *(f"stale_{kind}.py::{name}" for kind in STALE for name in ("Net", "Free")),
]


def building_jobs(root: Path) -> list[Order]:
    """Each with a good model after it."""
    names = [*FAIL, *SURVIVE, *(SURVIVE_ON_POSIX if os.name == "posix" else ()), *["Heavy"] * 3]
    targets = [t for name in names for t in (f"h.py::{name}", "h.py::Ok")]
    jobs = make_orders(root, targets + SCRIPT_TARGETS)
    return [
        j if j.label != "h.py::Ok" else replace(j, label=f"after {names[j.id // 2]} {j.id}")
        for j in jobs
    ]


@pytest.fixture(scope="module")
def building(mode: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    place = tmp_path_factory.mktemp("building")
    return visit(place, ("building", "scripts"), mode, building_jobs)


@on_posix
@pytest.mark.parametrize("name", FAIL)
def test_a_constructor_that_fails(building: World, name: str) -> None:
    code, reason, source = FAIL[name]
    failure = building.run.failed(f"h.py::{name}")
    assert (failure.code, reason in failure.reason) == (code, True), failure
    refused = "refused" in reason or "a network connection" in reason
    assert failure.cause == CAUSES.get(name, "refused" if refused else "raised")
    assert len(failure.reason) < 1000
    assert "\n" not in failure.reason
    if source is not None:
        assert line(building, failure.source).startswith(source)


@pytest.mark.parametrize("name", [*SURVIVE, *(SURVIVE_ON_POSIX if os.name == "posix" else ())])
def test_a_constructor_that_survives(building: World, name: str) -> None:
    if name == "Ok":
        return
    result = building.run.measured(f"h.py::{name}")
    assert result.counts.total == 9
    assert result.counts.bytes == (72 if name == "ChangesDtype" else 36)


def test_every_other_model_is_counted(building: World) -> None:
    others = {label: m for label, m in building.run.by_label.items() if label.startswith("after")}
    assert len(others) > len(FAIL)
    wrong = {
        label: m.counts if isinstance(m, Measured) else m.reason
        for label, m in others.items()
        if not (isinstance(m, Measured) and (m.counts.total, m.counts.bytes) == (9, 36))
    }
    assert wrong == {}


def test_the_line_that_was_refused_is_in_the_reason(building: World) -> None:
    for name in ("Connects", "WritesTree", "StartsProgram"):
        failure = building.run.failed(f"h.py::{name}")
        assert f"(requested at {failure.source})" in failure.reason


def test_a_refusal_that_was_caught_is_noted(building: World) -> None:
    (note,) = building.run.measured("h.py::WritesCaught").notes
    assert "refused to write 'weights.pt'" in note
    for name in ("ChangesDirectory", "UsesTemporary"):
        assert building.run.measured(f"h.py::{name}").notes == ()


def test_the_arguments_that_are_missing_are_named(building: World) -> None:
    assert building.run.failed("h.py::Needs").missing == ("width", "depth")


def test_a_constructor_without_super_gets_a_hint(building: World) -> None:
    assert "super().__init__()" in (building.run.failed("h.py::NoSuper").hint or "")


@on_linux
@pytest.mark.parametrize("name", ["Segfaults", "SegfaultsDeep"])
def test_a_crash_shows_where(building: World, name: str) -> None:
    output = building.run.failed(f"h.py::{name}").output
    assert output.startswith("Fatal Python error: Segmentation fault")
    assert "h.py" in output


def test_only_what_the_model_printed_is_shown(building: World) -> None:
    output = building.run.failed("h.py::ExitsHard").output
    assert output.strip("x") == "\nsaid goodbye"
    assert len(output) == 4000


@pytest.mark.thorough
@on_posix
def test_spawned_processes_tell_the_same(tmp_path: Path) -> None:
    """Of some; the tests above do it of all, where they are asked for."""
    targets = [f"h.py::{name}" for name in ("Ok", "ExitsHard")]
    world = visit(tmp_path, ["building"], "0", lambda root: make_orders(root, targets))
    code, reason, _ = FAIL["ExitsHard"]
    failure = world.run.failed("h.py::ExitsHard")
    assert (failure.code, reason in failure.reason) == (code, True)
    assert world.run.failed("h.py::ExitsHard").output.strip("x") == "\nsaid goodbye"
    assert world.run.measured("h.py::Ok").counts.bytes == 36
    assert (world.after, world.left) == (world.before, {})


WORLDS = ("building", "importing", pytest.param("layout", marks=pytest.mark.thorough))


@pytest.mark.first_cases(1)
@pytest.mark.parametrize("name", WORLDS)
def test_nothing_is_written(request: pytest.FixtureRequest, mode: str, name: str) -> None:
    assert mode
    world: World = request.getfixturevalue(name)
    assert world.after == world.before
    assert world.home == {}
    assert not any("__pycache__" in path for path in world.after)


@on_linux
@pytest.mark.parametrize("name", WORLDS)
def test_no_process_is_left(request: pytest.FixtureRequest, mode: str, name: str) -> None:
    assert mode
    assert request.getfixturevalue(name).left == {}


# --- files that do something when imported ----------------------------------------------------

COUNTED = (
    "another",
    "endless",
    "exits",
    "exits_first",
    "floods",
    "innocent",
    "loops",
    "raises",
    "segfaults",
    "writes",
    "zz_last",
)
COUNTED_OR_REPORTED = ("counts_for_ever", "exits_hard", "imports_looping")
ENDLESS = ("endless.py::Loops", "endless.py::IgnoresSignals")  # constructors


@pytest.fixture(scope="module")
def importing(mode: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    names = sorted((*COUNTED, *COUNTED_OR_REPORTED, "dtype", "patches", "syntax"))
    targets = [*ENDLESS, *(f"{name}.py::Net" for name in names)]
    return visit(
        tmp_path_factory.mktemp("importing"),
        ["importing"],
        mode,
        lambda root: make_orders(root, targets),
        TIMEOUT,
    )


@pytest.mark.parametrize("name", COUNTED)
def test_a_file_that_works_when_imported(importing: World, name: str) -> None:
    counts = importing.run.measured(f"{name}.py::Net").counts
    assert (counts.total, counts.bytes) == (9, 36)


@pytest.mark.parametrize("name", COUNTED_OR_REPORTED)
def test_a_file_that_ends_its_process(importing: World, name: str) -> None:
    result = importing.run.by_label[f"{name}.py::Net"]
    if isinstance(result, Measured):
        assert (result.counts.total, result.counts.bytes) == (9, 36)
    else:
        assert result.code in ("NPL003", "NPL005")
        assert f"{name}.py" in result.reason


@pytest.mark.parametrize("target", ENDLESS)
def test_a_constructor_that_never_ends(importing: World, mode: str, target: str) -> None:
    failure = importing.run.failed(target)
    assert (failure.code, failure.cause) == ("NPL005", "timed_out")
    assert "took longer than 1.5 s" in failure.reason
    if mode == "1" and target.endswith("Loops"):
        assert "endless.py" in failure.output
    assert "launch.py" not in failure.output


def test_a_file_that_changes_torch_changes_it_for_itself(importing: World) -> None:
    assert importing.run.measured("dtype.py::Net").counts.bytes == 72
    assert importing.run.measured("patches.py::Net").counts.total == 90


def test_a_file_with_a_syntax_error(importing: World) -> None:
    failure = importing.run.failed("syntax.py::Net")
    assert failure.code == "NPL003"
    assert "cannot import syntax.py: SyntaxError" in failure.reason
    assert line(importing, failure.source) == "if True"


@pytest.mark.parametrize("name", ["exits", "loops", "writes"])
def test_what_was_read_in_part_is_noted(importing: World, name: str) -> None:
    notes = "".join(importing.run.measured(f"{name}.py::Net").notes)
    assert f"{name}.py was read in part" in notes


@pytest.mark.parametrize("name", ["innocent", "another", "zz_last", "floods"])
def test_what_was_read_whole_has_no_note(importing: World, name: str) -> None:
    assert importing.run.measured(f"{name}.py::Net").notes == ()


# --- scripts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_counted(building: World, name: str) -> None:
    assert total(building, f"{name}.py::Net") == 9


@pytest.mark.parametrize("kind", STALE)
def test_a_value_that_was_not_made_is_not_counted_with(building: World, kind: str) -> None:
    name, work = STALE[kind]
    failure = building.run.failed(f"stale_{kind}.py::Net")
    source = (building.root / f"stale_{kind}.py").read_text().splitlines()
    assert failure.code == "NPL004"
    assert f"'{name}'" in failure.reason
    assert f"line {source.index(work) + 1} " in failure.reason
    assert f"stale_{kind}.py" in failure.reason
    assert total(building, f"stale_{kind}.py::Free") == 9


def test_what_depends_on_a_file_that_was_not_loaded(building: World) -> None:
    failure = building.run.failed("loads.py::OfWeights")
    assert failure.code == "NPL004"
    assert "'weights' in loads.py: set at line 4 by work" in failure.reason


def test_a_package_that_the_model_does_not_need(building: World) -> None:
    (note,) = building.run.measured("frames.py::Net").notes
    assert "nparam_no_such_package" in note


@pytest.mark.parametrize("target", ["needs.py::Uses", "needs.py::Inherits", "frames.py::OfClasses"])
def test_a_package_that_the_model_needs(building: World, target: str) -> None:
    failure = building.run.failed(target)
    assert failure.code in ("NPL003", "NPL004")
    assert "nparam_no_such_package" in "".join((failure.reason, *failure.notes))
    if target != "frames.py::OfClasses":  # there the package is named by a note alone
        assert (failure.cause, failure.package) == ("package_missing", "nparam_no_such_package")
    if failure.code == "NPL003":
        assert "install 'nparam_no_such_package'" in (failure.hint or "")
        places = ("import nparam_no_such_package", "class Inherits(layers.Base)")
        assert line(building, failure.source).startswith(places)


# --- where files stand ------------------------------------------------------------------------

PLACES = {
    "a/model.py::Net": 9,
    "b/model.py::Net": 15,
    "a/train.py::Both": 9,
    "b/train.py::Both": 15,
    "src/pkg/net.py::Net": 9,
    "ns/inner/net.py::Net": 9,
    "ops/net.py::Net": 9,
    "models/net.py::Net": 9,
    "broken/good.py::Net": 9,
}


@pytest.fixture(scope="module")
def layout(mode: str, tmp_path_factory: pytest.TempPathFactory) -> World:
    return visit(
        tmp_path_factory.mktemp("layout"),
        ["layout"],
        mode,
        lambda root: make_orders(root, list(PLACES)),
    )


@pytest.mark.parametrize("target", PLACES)
@pytest.mark.thorough
def test_a_file_is_imported_from_where_it_stands(layout: World, target: str) -> None:
    assert total(layout, target) == PLACES[target]


# --- stale bytecode ---------------------------------------------------------------------------

NET = "from torch import nn\n{}\n\nclass Net(nn.Module):\n    def __init__(self):\n"
NET += "        super().__init__()\n        self.layer = nn.Linear(1, {}, bias=False)\n"


def edit_unseen(path: Path, new: str) -> None:
    """Compile the file as it is, then change it so that its bytecode still looks fresh."""
    py_compile.compile(str(path), doraise=True)
    old = path.stat()
    assert len(new) == old.st_size
    path.write_text(new)
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert list((path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"))


def test_bytecode_is_never_believed(mode: str, tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "__init__.py").touch()
    (tmp_path / "direct.py").write_text(NET.format("", "512"))
    (tmp_path / "far.py").write_text(NET.format("from middle import WIDTH\n", "WIDTH"))
    (tmp_path / "middle.py").write_text("from deep.width import WIDTH\n")
    (tmp_path / "deep" / "width.py").write_text("WIDTH = 512\n")
    (tmp_path / "late.py").write_text(
        NET.format("", 'importlib.import_module("deep.other").WIDTH').replace(
            "from torch", "import importlib\n\nfrom torch"
        )
    )
    (tmp_path / "deep" / "other.py").write_text("WIDTH = 512\n")
    edit_unseen(tmp_path / "direct.py", NET.format("", "768"))
    edit_unseen(tmp_path / "deep" / "width.py", "WIDTH = 768\n")
    edit_unseen(tmp_path / "deep" / "other.py", "WIDTH = 768\n")
    fooled = subprocess.run(
        [PYTHON, "-B", "-c", "from deep.width import WIDTH; print(WIDTH)"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert fooled.stdout == "512\n"
    before = snapshot(tmp_path)
    done = run(
        tmp_path,
        [f"{name}.py::Net" for name in ("direct", "far", "late")],
        environ={"NPARAM_LINT_FORK": mode},
    )
    totals = {name: m.counts.total for name, m in done.by_label.items() if isinstance(m, Measured)}
    assert totals == {"direct.py::Net": 768, "far.py::Net": 768, "late.py::Net": 768}
    assert snapshot(tmp_path) == before


# --- a group that dies -------------------------------------------------------------------------


@on_linux
@pytest.mark.parametrize("width", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_a_model_that_kills_the_process_above_costs_itself(tmp_path: Path, width: int) -> None:
    """Past the guard, through the C library."""
    (tmp_path / "net.py").write_text(NET.format("import ctypes, os", "3"))
    with (tmp_path / "net.py").open("a") as file:
        file.write("\n\nclass Kills(Net):\n    def __init__(self):\n")
        file.write("        ctypes.CDLL(None).kill(os.getppid(), 9)\n")
    jobs = make_orders(tmp_path, ["net.py::Net", "net.py::Kills", *["net.py::Net"] * 3])
    jobs = [replace(j, label=f"{j.id} {j.build.callable}") for j in jobs]
    done = run(tmp_path, jobs, width=width, environ={"NPARAM_LINT_FORK": "1"})
    assert done.failed("1 Kills").code in ("NPL004", "NPL005")  # it may not even be able to
    for number in (0, 2, 3, 4):
        assert done.measured(f"{number} Net").counts.total == 3


IMPATIENT = """\
import time
from torch import nn


class Net(nn.Linear):
    def __init__(self, width, seconds=0):
        time.sleep(seconds)
        super().__init__(width, 1)
"""


@pytest.mark.parametrize("mode", MODES)
def test_what_is_optional_is_left_when_the_time_is_over_and_the_rest_is_not(tmp_path, mode):
    (tmp_path / "nets.py").write_text(IMPATIENT)
    quick, slow, endless = "nets.py::Net(2)", "nets.py::Net(3, 2)", "nets.py::Net(4, 1000)"
    limits = {"patience": 0.1, "optional": {0, 2}, "width": 3}
    environ = {"NPARAM_LINT_FORK": mode}
    done = run(tmp_path, [quick, slow, endless], environ=environ, **limits)
    assert [done.measured(target).counts.total for target in (quick, slow)] == [3, 4]
    assert done.failed(endless).cause == "not_tried"
