"""Whatever the project's code does costs the one model, with a message that helps; the others are
counted right, nothing is written, and nothing stays behind.

All hostile files are in one project, run once with forked and once with spawned processes, and
looked at by many tests; those that never end are in a second one, with a short limit of time.
"""

import os
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from processes import marked
from sample_files import write_files
from worker_runs import (
    LINUX,
    MODES,
    Run,
    class_source,
    make_orders,
    model_source,
    run,
    snapshot,
)

from nparam_lint.count.measured import Measured

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


def visit(
    place: Path,
    files: Mapping[str, str],
    targets: Sequence[str],
    mode: dict[str, str],
    timeout: float = PATIENCE,
) -> World:
    """A run on these files, and in it on each target, which has its number in its label where it
    is `h.py::Ok`."""
    root, home, marker = write_files(place / "project", files), place / "home", uuid.uuid4().hex
    home.mkdir()
    before = snapshot(root)
    environ = {
        **mode,
        "HOME": str(home),
        "TORCH_SURVIVAL_MARKER": marker,
        "HARMLESS_SETTING": "kept",
        **SECRETS,
    }
    orders = [
        replace(order, label=f"Ok {order.id}") if order.label == "h.py::Ok" else order
        for order in make_orders(root, targets)
    ]
    done = run(root, orders, timeout=timeout, memory=MEMORY, environ=environ)
    return World(done, root, before, snapshot(root), snapshot(home), marked(marker))


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> dict[str, str]:
    return dict(request.param)


def line(world: World, source: str | None) -> str:
    assert source is not None
    path, _, number = source.rpartition(":")
    return (world.root / path).read_text().splitlines()[int(number) - 1].strip()


def total(world: World, target: str) -> int:
    return world.run.measured(target).counts.total


# --- constructors -----------------------------------------------------------------------------

OK = """\
import atexit, ctypes, os, signal, socket, subprocess, sys, tempfile, threading, time
import torch
from torch import nn


class Ok(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


class ByMeta(type):
    def __call__(cls, *arguments, **keywords):
        return 5


class Replaced(nn.Module, metaclass=ByMeta):
    pass


@lambda cls: lambda: Ok()
class Decorated(nn.Module):
    def __init__(self, needed):
        raise RuntimeError


class Needs(nn.Module):
    def __init__(self, width, depth, bias=True):
        super().__init__()
"""
# What a constructor does, why it fails, and what the reason says. The line that is named is one of
# these.
FAIL = {
    "RaisesMuch": (
        "raise ValueError('x' * 2_000_000)",
        "raised",
        "RaisesMuch() raised ValueError: xxx",
    ),
    "RaisesUnprintable": ("raise Unprintable", "raised", "raised Unprintable"),
    "RaisesBase": ("raise BaseException('base')", "raised", "raised BaseException: base"),
    "Interrupts": ("raise KeyboardInterrupt", "raised", "Interrupts() raised KeyboardInterrupt"),
    "Exits": ("sys.exit(0)", "raised", "Exits() called sys.exit(0)"),
    "ExitsHard": (
        "print('x' * 30_000 + '\\nsaid goodbye', flush=True)\nos._exit(0)",
        "died",
        "ended with exit status 0 while it was built",
    ),
    "Segfaults": (  # its stack is longer than what a terminal shows
        "def go_down(further):\n"
        "    ctypes.string_at(0) if further == 0 else go_down(further - 1)\n"
        "go_down(90)",
        "died",
        "killed by SIGSEGV",
    ),
    "Eats": (
        "self.food = []\nwhile True:\n    self.food.append(b'x' * 50_000_000)",
        "out_of_memory",
        "needed more than 1 GiB of memory while it was built",
    ),
    "Recurses": ("self.inner = Recurses()", "raised", "raised RecursionError"),
    "ForksAndDies": (
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\nos._exit(0)",
        "died",
        "ended with exit status 0 while it was built",
    ),
    "WritesTree": ("open('evil.txt', 'w')", "refused", "refused to write 'evil.txt'"),
    "Renames": ("os.rename('data.txt', 'evil')", "refused", "refused os.rename of 'data.txt'"),
    "Connects": (
        "socket.create_connection(('127.0.0.1', 9), timeout=1)",
        "refused",
        "refused a network connection to '127.0.0.1'",
    ),
    "StartsProgram": (
        "subprocess.run(['touch', 'evil.txt'])",
        "refused",
        "refused to start the program 'touch'",
    ),
    "KillsParent": ("os.kill(os.getppid(), 9)", "refused", "refused to kill process"),
    "KillsParentGroup": ("os.killpg(os.getppid(), 9)", "refused", "refused to kill process"),
    "KillsEverything": ("os.kill(-1, 0)", "refused", "refused to kill process -1"),
    "ClosesAll": ("os.closerange(0, 4096)", "died", "while it was built"),
    "Asks": ("super().__init__()\nself.name = input('name? ')", "raised", "EOFError"),
    "NoSuper": ("self.layer = nn.Linear(2, 3)", "raised", "AttributeError"),
    "Replaced": ("", "not_a_model", "Replaced() returned int, not a model"),
    "Needs": ("", "arguments_missing", "Needs needs width, depth"),
}
# What a constructor does after that of `Ok`, and the model has 9 parameters.
SURVIVE = {
    "Talks": "print('talked before', flush=True)",
    # Within the limit, but only once: what it leaves behind is a cycle.
    "Heavy": "self.ballast = [b'x' * 300_000_000]\nself.ballast.append(self.ballast)",
    "Floods": """\
print("x" * 1_500_000)
sys.stderr.write("y" * 1_500_000)
os.write(1, b"z" * 1_200_000)
os.write(2, b"\\xff\\x00" * 600_000)""",
    "Forges": """\
for descriptor in (1, 2):
    for number in range(3):
        os.write(descriptor, b'{"event":"result","id":%d,"ok":true,"counts":{}}\\n' % number)
    os.write(descriptor, b'{"event":"end","jobs":0}\\n')""",
    "WritesCaught": "try:\n    torch.save({}, 'weights.pt')\nexcept Exception:\n    pass",
    "UsesTemporary": """\
with tempfile.TemporaryDirectory() as directory:
    inner = os.path.join(directory, "inner")
    os.mkdir(inner)
    with open(os.path.join(inner, "file.txt"), "w") as file:
        file.write("text")""",
    "Threads": "threading.Thread(target=time.sleep, args=(1000,)).start()",
    "Decorated": "",
    "ChangesDirectory": "os.chdir('/')",
    "ReadsRelative": "self.layer = nn.Linear(2, int(open('data.txt').read()))",
    "ChangesImports": """\
sys.path.clear()
sys.meta_path.clear()
sys.modules["math"] = None
sys.modules["h"] = None
os.environ.clear()""",
    "ImportsLate": "import late\nself.layer = nn.Linear(2, late.WIDTH)",
    "ChangesDtype": "torch.set_default_dtype(torch.float64)\nself.layer = nn.Linear(2, 3)",
    "AtExit": "atexit.register(time.sleep, 1000)",
    "WithSecret": """\
names = {"MY_API_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "OPENAI_API_KEY"}
self.layer = nn.Linear(2, 3 + len(names & set(os.environ)))
assert os.environ["HARMLESS_SETTING"] == "kept\"""",
    "ReadsInput": "self.layer = nn.Linear(2, 3 + len(sys.stdin.read()))",
}
if os.name == "posix":
    SURVIVE |= {
        "Daemon": """\
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(1000)
    os._exit(0)""",
        # The child comes back from the constructor as well, and with another width.
        "ForkedChildReturns": """\
child = os.fork()
if child == 0:
    self.layer = nn.Linear(1, 1)
else:
    os.waitpid(child, 0)""",
        # The child ends with sys.exit, as daemons of old do.
        "ForkedChildExits": "if (child := os.fork()) == 0:\n    sys.exit(0)\nos.waitpid(child, 0)",
    }
HOSTILE = OK + "".join(
    [
        *(class_source(name, code, "Ok") for name, (code, *_) in FAIL.items() if code),
        *(model_source(name, code, "Ok") for name, code in SURVIVE.items() if code),
    ]
)

# --- scripts ----------------------------------------------------------------------------------

TORCH = "import torch\nfrom torch import nn\n"


def net(width: str = "3", name: str = "Net", base: str = "nn.Module") -> str:
    return model_source(name, f"self.layer = nn.Linear(2, {width})", base) + "\n\n"


PARSES = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("files", nargs="+")
parser.add_argument("--name", required=True)
parser.add_argument("--width", type=int, default=3)
args = parser.parse_args()
print("reading", args.data.upper())
"""
TRAINS = """\
model = Net().cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(10**9):
    optimizer.zero_grad()
    loss = model.layer(torch.zeros(1, 2)).sum()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "weights.pt")
"""
# As nanoGPT's.
CONFIGURED = """\
n_in = 2
n_out = 3
config_keys = [k for k, v in globals().items() if not k.startswith("_") and isinstance(v, int)]
exec(open("configurator.py").read())
config = {k: globals()[k] for k in config_keys}
"""
CONFIGURATOR = """\
import sys

for arg in sys.argv[1:]:
    key, value = arg.split("=")
    globals()[key] = int(value)
"""
BATCHES = """\
from torch.utils.data import DataLoader, TensorDataset
loader = DataLoader(TensorDataset(torch.zeros(4, 2)), batch_size=2)
for (batch,) in loader:
    print(Net()(batch))
"""
REGISTERS = """\
from nparam_no_such_package import REGISTRY


@REGISTRY
def other():
    import torch.nn as nn  # its own name

    return nn


@REGISTRY.register_module()
"""
MISSING = "import nparam_no_such_package as "
SCRIPTS = {
    "parses": TORCH + PARSES + net("args.width"),
    "trains": TORCH + net() + TRAINS,
    "configured": TORCH + CONFIGURED + net("n_out"),
    "loads": f"{TORCH}\nweights = torch.load('no_such_file.pt'){net()}"
    + net("weights['width']", "OfWeights"),
    "batches": TORCH + net() + BATCHES,
    "frames": f"{MISSING}pd\n{TORCH}classes = pd.read_csv('data.csv')['label'].nunique(){net()}"
    + net("classes", "OfClasses"),
    "braces": f"{TORCH}TABLE = {{}}\nif TABLE['{{width}}'] > 3:\n    WIDTH = 4\ninput('go on? ')"
    + net(),
    "registers": TORCH + REGISTERS + net().lstrip(),
}
NEEDS = f"{MISSING}layers\n{TORCH}" + model_source("Uses", "self.layer = layers.Layer(2, 3)")
NEEDS += net("3", "Inherits", "layers.Base")
# What work that is not run would have changed -> the name, and the statement that does it.
STALE = {
    "value": ("WIDTH", "WIDTH = search()"),
    "global": ("WIDTH", "setup()"),
    "argument": ("CONFIG", "configure(CONFIG)"),
    "attribute": ("CONFIG", "CONFIG.width = search()"),
    "setattr": ("CONFIG", "setattr(CONFIG, 'width', search())"),
    "method": ("CONFIG", "CONFIG.load(search())"),
}
STALE_FILE = """\
class Config:
    width = 3

    def load(self, width):
        self.width = width


CONFIG, WIDTH = Config(), 3


def search():
    return 30


def setup():
    global WIDTH
    WIDTH = search()


def configure(config):
    config.width = search()


def train():
    raise RuntimeError("nobody trains here")


{}
train()
"""


def stale(name: str, work: str) -> str:
    width = name if name == "WIDTH" else f"{name}.width"
    return TORCH + STALE_FILE.format(work) + net(width) + net(name="Free")


# --- where files stand ------------------------------------------------------------------------

WIDTH = TORCH + "from {} import WIDTH\n" + net("WIDTH")
BOTH = """\
from model import Net


class Both(Net):
    pass


if __name__ == "__main__":
    raise SystemExit("this must not run")
"""
NOT_INSTALLED = "raise RuntimeError('this is not the installed package')\n"
PLACES = {
    "a/width.py": "WIDTH = 3\n",
    "a/model.py": WIDTH.format("width"),
    "a/train.py": BOTH,
    "b/width.py": "WIDTH = 5\n",
    "b/model.py": WIDTH.format("width"),
    "b/train.py": BOTH,
    "src/pkg/__init__.py": "",
    "src/pkg/width.py": "WIDTH = 3\n",
    "src/pkg/net.py": WIDTH.format("pkg.width"),
    "ns/base.py": "WIDTH = 3\n",
    "ns/inner/width.py": "from ..base import WIDTH\n",
    "ns/inner/net.py": WIDTH.format(".width"),
    "ops/typing_extensions/__init__.py": NOT_INSTALLED,
    "ops/ops_width.py": "WIDTH = 3\n",
    "ops/net.py": "from typing_extensions import Self\n" + WIDTH.format("ops_width"),
    "models/torch/__init__.py": NOT_INSTALLED,
    "models/models_width.py": "WIDTH = 3\n",
    "models/net.py": WIDTH.format("models_width"),
    "broken/__init__.py": "from .bad import Bad\nfrom .good import Net\n",
    "broken/good.py": TORCH + net(),
    "broken/bad.py": "class Bad:\n    def (self):\n",
}
PLACED = {
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
def building(mode: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> World:
    """Of all that ends by itself. A good model comes after each constructor that fails."""
    files = {
        "h.py": HOSTILE,
        "late.py": "WIDTH = 3\n",
        "data.txt": "3",
        "configurator.py": CONFIGURATOR,
        "needs.py": NEEDS,
        **{f"{name}.py": text for name, text in SCRIPTS.items()},
        **{f"stale_{kind}.py": stale(*row) for kind, row in STALE.items()},
        **PLACES,
    }
    targets = [target for name in FAIL for target in (f"h.py::{name}", "h.py::Ok")]
    targets += [f"h.py::{name}" for name in SURVIVE]
    targets += [f"{name}.py::Net" for name in SCRIPTS]
    targets += ["loads.py::OfWeights", "frames.py::OfClasses"]
    targets += ["needs.py::Uses", "needs.py::Inherits", *PLACED]
    targets += [f"stale_{kind}.py::{name}" for kind in STALE for name in ("Net", "Free")]
    return visit(tmp_path_factory.mktemp("building"), files, targets, mode)


@on_posix
@pytest.mark.parametrize("name", FAIL)
def test_a_constructor_that_fails(building: World, name: str) -> None:
    code, cause, reason = FAIL[name]
    failure = building.run.failed(f"h.py::{name}")
    assert (failure.cause, reason in failure.reason) == (cause, True), failure
    assert failure.code == ("NPL005" if cause in ("died", "out_of_memory") else "NPL004")
    assert len(failure.reason) < 1000
    assert "\n" not in failure.reason
    if failure.source or cause in ("raised", "refused"):
        assert line(building, failure.source) in code
    if cause == "refused":
        assert f"(requested at {failure.source})" in failure.reason


@pytest.mark.parametrize("name", SURVIVE)
def test_a_constructor_that_survives(building: World, name: str) -> None:
    result = building.run.measured(f"h.py::{name}")
    assert result.counts.total == 9
    assert result.counts.bytes == (72 if name == "ChangesDtype" else 36)
    assert bool(result.notes) == (name == "WritesCaught")


def test_every_other_model_is_counted(building: World) -> None:
    others = [m for label, m in building.run.by_label.items() if label.startswith("Ok")]
    assert len(others) == len(FAIL)
    wrong = [
        m.counts if isinstance(m, Measured) else m.reason
        for m in others
        if not (isinstance(m, Measured) and (m.counts.total, m.counts.bytes) == (9, 36))
    ]
    assert wrong == []


def test_a_refusal_that_was_caught_is_noted(building: World) -> None:
    (note,) = building.run.measured("h.py::WritesCaught").notes
    assert "refused to write 'weights.pt'" in note


def test_what_a_constructor_lacks_is_named(building: World) -> None:
    assert building.run.failed("h.py::Needs").missing == ("width", "depth")
    assert "super().__init__()" in (building.run.failed("h.py::NoSuper").hint or "")


@on_linux
def test_a_crash_shows_where(building: World) -> None:
    output = building.run.failed("h.py::Segfaults").output
    assert output.startswith("Fatal Python error: Segmentation fault")
    assert "h.py" in output


def test_only_what_the_model_printed_is_shown(building: World) -> None:
    output = building.run.failed("h.py::ExitsHard").output
    assert output.strip("x") == "\nsaid goodbye"
    assert len(output) == 4000


def test_nothing_is_written(building: World, importing: World) -> None:
    for world in (building, importing):
        assert world.after == world.before
        assert world.home == {}
        assert not any("__pycache__" in path for path in world.after)


@on_linux
def test_no_process_is_left(building: World, importing: World) -> None:
    assert (building.left, importing.left) == ({}, {})


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_counted(building: World, name: str) -> None:
    assert total(building, f"{name}.py::Net") == 9


@pytest.mark.parametrize("kind", STALE)
def test_a_value_that_was_not_made_is_not_counted_with(building: World, kind: str) -> None:
    name, work = STALE[kind]
    failure = building.run.failed(f"stale_{kind}.py::Net")
    source = stale(name, work).splitlines()
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


@pytest.mark.parametrize("target", PLACED)
def test_a_file_is_imported_from_where_it_stands(building: World, target: str) -> None:
    assert total(building, target) == PLACED[target]


@pytest.mark.thorough
@on_posix
def test_spawned_processes_tell_the_same(tmp_path: Path) -> None:
    """Of some; the tests above do it of all, where they are asked for."""
    world = visit(
        tmp_path, {"h.py": HOSTILE}, ["h.py::Ok", "h.py::ExitsHard"], {"NPARAM_LINT_FORK": "0"}
    )
    failure = world.run.failed("h.py::ExitsHard")
    assert (failure.code, FAIL["ExitsHard"][2] in failure.reason) == ("NPL005", True)
    assert failure.output.strip("x") == "\nsaid goodbye"
    assert world.run.measured("Ok 0").counts.bytes == 36
    assert (world.after, world.left) == (world.before, {})


# --- files that do something when imported ----------------------------------------------------

FLOODS = """\
print("x" * 1_500_000)
sys.stderr.write("y" * 1_500_000)
os.write(1, b"z" * 1_500_000)
os.write(2, b"z" * 1_500_000)
"""
HEAD = f"import ctypes, itertools, os, pathlib, sys\n{TORCH}"
# Right when it is run, lost when it is read in part.
INNOCENT = f"{HEAD}def widen(width):\n    return width + 1\n\nWIDTH = widen(2)\n" + net("WIDTH")
COUNTED = {
    "exits": HEAD + net() + "sys.exit(0)\n",
    "exits_first": f"{HEAD}sys.exit(0)\n{net()}",
    "floods": f"{HEAD}{FLOODS}{net()}",
    "innocent": INNOCENT,
    "loops": f"{HEAD}{net()}while True:\n    pass\n",
    "raises": f"{HEAD}{net()}VERSION = undefined_name\n",
    "segfaults": f"{HEAD}{net()}ctypes.string_at(0)\n",
    "writes": f"{HEAD}pathlib.Path('evil.txt').write_text('evil')\n{net()}",
    "zz_last": INNOCENT,
}
COUNTED_OR_REPORTED = {
    "counts_for_ever": f"{HEAD}{net()}for _ in itertools.count():\n    pass\n",
    "exits_hard": f"{HEAD}{net()}os._exit(0)\n",
    "imports_looping": f"{TORCH}from loops_below import WIDTH\n{net('WIDTH')}",
}
OTHERS = {
    "dtype": f"{TORCH}torch.set_default_dtype(torch.float64)\n{net()}",
    "patches": f"{TORCH}Linear = nn.Linear\nnn.Linear = lambda i, o: Linear(i, 10 * o)\n{net()}",
    "syntax": f"{TORCH}{net()}if True\n    pass\n",
}
ENDLESS = f"""\
import signal, time
{TORCH}

class Loops(nn.Module):
    def __init__(self):
        while True:
            pass


class IgnoresSignals(nn.Module):
    def __init__(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def importing(mode: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> World:
    texts = {**COUNTED, **COUNTED_OR_REPORTED, **OTHERS}
    files = {f"{name}.py": text for name, text in texts.items()}
    files |= {"endless.py": ENDLESS, "loops_below.py": "WIDTH = 3\n\nwhile True:\n    pass\n"}
    targets = ["endless.py::Loops", "endless.py::IgnoresSignals"]
    targets += [f"{name}.py::Net" for name in sorted(texts)]
    return visit(tmp_path_factory.mktemp("importing"), files, targets, mode, TIMEOUT)


@pytest.mark.parametrize("name", COUNTED)
def test_a_file_that_works_when_imported(importing: World, name: str) -> None:
    result = importing.run.measured(f"{name}.py::Net")
    assert (result.counts.total, result.counts.bytes) == (9, 36)
    is_whole = name in ("floods", "innocent", "zz_last")
    assert (f"{name}.py was read in part" in "".join(result.notes)) != is_whole
    assert not (is_whole and result.notes)


@pytest.mark.parametrize("name", COUNTED_OR_REPORTED)
def test_a_file_that_ends_its_process(importing: World, name: str) -> None:
    result = importing.run.by_label[f"{name}.py::Net"]
    if isinstance(result, Measured):
        assert (result.counts.total, result.counts.bytes) == (9, 36)
    else:
        assert result.code in ("NPL003", "NPL005")
        assert f"{name}.py" in result.reason


@pytest.mark.parametrize("name", ["Loops", "IgnoresSignals"])
def test_a_constructor_that_never_ends(importing: World, mode: dict[str, str], name: str) -> None:
    failure = importing.run.failed(f"endless.py::{name}")
    assert (failure.code, failure.cause) == ("NPL005", "timed_out")
    assert "took longer than 1.5 s" in failure.reason
    if not mode and name == "Loops":
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
