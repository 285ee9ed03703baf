"""The count of a model is what a fresh interpreter gives that imports its file alone and builds it
alone, whatever other models and files leave behind."""

from pathlib import Path

import pytest
from worker_runs import Run, make_orders, run

# What can be left behind -> what stands in a module that several files import as `held`; what
# leaves a mark, there or in Python and torch; an expression that is true where the mark is seen.
MARKS = {
    "a counter": ("count = [0]", "held.count[0] += 1", "held.count[0]"),
    "a global": ("number = 0", "held.number = 1", "held.number"),
    "a config in a config": (
        "import types\nouter = types.SimpleNamespace(sizes={'inner': []})",
        "held.outer.sizes['inner'].append(1)",
        "held.outer.sizes['inner']",
    ),
    "a class attribute": ("class Kept:\n    n = 0", "held.Kept.n = 1", "held.Kept.n"),
    "slots": (
        "class Slots:\n    __slots__ = 'n'\nslots = Slots()\nslots.n = 0",
        "held.slots.n = 1",
        "held.slots.n",
    ),
    "an iterator": ("numbers = iter([0, 1])", "next(held.numbers)", "next(held.numbers)"),
    "a generator": (
        "numbers = (n for n in [0, 1])",
        "next(held.numbers)",
        "next(held.numbers)",
    ),
    "a random generator": (
        "import random\nrng = random.Random(0)\nfirst = random.Random(0).random()",
        "held.rng.random()",
        "held.rng.random() != held.first",
    ),
    "a default argument": (
        "def f(box=[]):\n    box.append(1)\n    return len(box) > 1",
        "held.f()",
        "held.f()",
    ),
    "the defaults of a function": (
        "def f(n=0):\n    return n",
        "held.f.__defaults__ = (1,)",
        "held.f()",
    ),
    "the code of a function": (
        "def f():\n    return 0",
        "held.f.__code__ = (lambda: 1).__code__",
        "held.f()",
    ),
    "a closure": (
        "def make():\n    n = 0\n    def f():\n        nonlocal n\n        n += 1\n"
        "        return n > 1\n    return f\nf = make()",
        "held.f()",
        "held.f()",
    ),
    "a cache": (
        "import functools\n@functools.lru_cache\ndef f():\n    return []",
        "held.f().append(1)",
        "held.f()",
    ),
    "a partial": (
        "import functools\nf = functools.partial(dict, n=0)",
        "held.f.keywords['n'] = 1",
        "held.f()['n']",
    ),
    "a context variable": (
        "import contextvars\nwidth = contextvars.ContextVar('width', default=0)",
        "held.width.set(1)",
        "held.width.get()",
    ),
    "a tensor": (
        "import torch\nt = torch.zeros(2, device='cpu')",
        "held.t.data[0] = 1",
        "held.t[0].item()",
    ),
    "an array": ("import array\na = array.array('i', [0])", "held.a[0] = 1", "held.a[0]"),
    "bytes in memory": (
        "import io\nfile = io.BytesIO()",
        "held.file.write(b'1')",
        "held.file.tell()",
    ),
    "a weak dictionary": (
        "import weakref\nclass K:\n    pass\nk = K()\nd = weakref.WeakKeyDictionary()",
        "held.d[held.k] = 1",
        "len(held.d)",
    ),
    "an enum": (
        "import enum\nclass E(enum.Enum):\n    A = 0",
        "held.E.A._value_ = 1",
        "held.E.A.value",
    ),
    "the place in an open file": (
        "import os\nfile = os.open(__file__, os.O_RDONLY)",
        "os.read(held.file, 1)",
        "os.lseek(held.file, 0, os.SEEK_CUR)",
    ),
    "a pipe": (
        "import multiprocessing\nqueue = multiprocessing.SimpleQueue()",
        "held.queue.put(1)",
        "not held.queue.empty()",
    ),
    "memory of several processes": (
        "import mmap\nmemory = mmap.mmap(-1, 1)",
        "held.memory[0] = 1",
        "held.memory[0]",
    ),
    "a shared tensor": (
        "import torch\nt = torch.zeros(2, device='cpu').share_memory_()",
        "held.t[0] = 1",
        "held.t[0].item()",
    ),
    "the work of a thread": (
        "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(1)\n"
        "box = []\npool.submit(int).result()",
        "held.pool.submit(held.box.append, 1).result()",
        "held.pool.submit(len, held.box).result()",
    ),
    "a hidden module": (
        "",
        "import sys, types; sys.modules['mark'] = types",
        "'mark' in sys.modules",
    ),
    "the environment": ("", "os.environ['MARK'] = '1'", "'MARK' in os.environ"),
    "the import path": ("", "sys.path.append('/mark')", "'/mark' in sys.path"),
    "the directory": ("", "os.chdir('/')", "os.getcwd() == '/'"),
    "the mask of new files": (
        "",
        "os.umask(0o77)",
        "(lambda m: (os.umask(m), m)[1])(os.umask(0)) == 0o77",
    ),
    "the temporary directory": (
        "",
        "open(tempfile.gettempdir() + '/mark', 'w').close()",
        "os.path.exists(tempfile.gettempdir() + '/mark')",
    ),
    "the place of that": ("", "tempfile.tempdir = '/mark'", "tempfile.gettempdir() == '/mark'"),
    "decimal": ("", "decimal.getcontext().prec = 3", "decimal.getcontext().prec == 3"),
    "logging": ("", "logging.getLogger('mark').setLevel(7)", "logging.getLogger('mark').level"),
    "the limit of recursion": (
        "",
        "sys.setrecursionlimit(4321)",
        "sys.getrecursionlimit() == 4321",
    ),
    "a pickler": ("", "copyreg.pickle(Exception, repr)", "Exception in copyreg.dispatch_table"),
    "how copies are made": (
        "",
        "copy._deepcopy_dispatch[Exception] = repr",
        "Exception in copy._deepcopy_dispatch",
    ),
    "grad mode": ("", "torch.set_grad_enabled(False)", "not torch.is_grad_enabled()"),
    "autocast": ("", "torch.autocast('cpu').__enter__()", "torch.is_autocast_enabled('cpu')"),
    "the default dtype": (
        "",
        "torch.set_default_dtype(torch.float64)",
        "torch.get_default_dtype() is torch.float64",
    ),
    "the default device": (
        "",
        "torch.set_default_device('cpu')",
        "torch.utils._device.CURRENT_DEVICE is not None",
    ),
    "a global hook": (
        "",
        "nn.modules.module.register_module_module_registration_hook(lambda *_: None)",
        "len(nn.modules.module._global_module_registration_hooks) > 1",
    ),
    "a seed": ("", "random.seed(7)", "False"),
    "a layer in the place of another": (
        "",
        "nn.LayerNorm = nn.Identity",
        "nn.LayerNorm is nn.Identity",
    ),
    "a layer of torch.nn": (
        "",
        "torch.nn.LayerNorm = torch.nn.RMSNorm",
        "nn.LayerNorm is nn.RMSNorm",
    ),
    "the code of a layer": (
        "",
        "nn.Bilinear.extra_repr.__code__ = (lambda self: 'mark').__code__",
        "nn.Bilinear(1, 1, 1).extra_repr() == 'mark'",
    ),
    "a function of Python": ("", "json.loads = lambda text: 1", "json.loads('0')"),
    "a builtin": ("", "builtins.mark = 1", "hasattr(builtins, 'mark')"),
}
IMPORTS = """\
import builtins, copy, copyreg, decimal, inspect, json, logging, os, random, sys, tempfile
import torch
from torch import nn
import held_{number} as held
"""
NET = """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        {before}
        self.a = nn.Conv1d({width}, 1, 1, bias=False)
"""


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """For each kind one file whose first model leaves the mark and whose second would see it, a
    file that leaves it when it is imported, and one that would see that; all in one run."""
    root = tmp_path_factory.mktemp("together")
    for number, (held, mark, seen) in enumerate(MARKS.values()):
        (root / f"held_{number}.py").write_text(held)
        start = IMPORTS.format(number=number)
        marks = NET.format(name="Marks", before=mark, width=8)
        sees = NET.format(name="Sees", before="", width=f"8 + bool({seen})")
        quiet = NET.format(name="Quiet", before="", width=8)
        (root / f"builds_{number}.py").write_text(start + marks + sees)
        (root / f"early_{number}.py").write_text(f"{start}{mark}\n{quiet}")
        (root / f"late_{number}.py").write_text(start + sees)
    names = ["builds_{}.py::Marks", "builds_{}.py::Sees", "early_{}.py::Quiet", "late_{}.py::Sees"]
    return run(root, [name.format(number) for number in range(len(MARKS)) for name in names])


@pytest.mark.parametrize("name", MARKS)
def test_a_model_is_counted_as_if_it_were_alone(together: Run, name: str) -> None:
    number = [*MARKS].index(name)
    for target in (f"builds_{number}.py::Sees", f"late_{number}.py::Sees"):
        assert together.measured(target).counts.total == 8, target


def test_the_marks_would_be_seen(tmp_path: Path) -> None:
    """Where a constructor itself leaves it: or the test above would show nothing."""
    for number, (held, mark, seen) in enumerate(MARKS.values()):
        (tmp_path / f"held_{number}.py").write_text(held)
        text = NET.format(name="Net", before=mark, width=f"8 + bool({seen})")
        (tmp_path / f"net_{number}.py").write_text(IMPORTS.format(number=number) + text)
    targets = [f"net_{number}.py::Net" for number in range(len(MARKS))]
    found = run(tmp_path, targets)
    unseen = [
        name
        for name, target in zip(MARKS, targets, strict=True)
        if found.measured(target).counts.total != 9
    ]
    assert unseen == ["a seed"]  # each build starts from the same


def test_a_file_is_imported_after_the_packages_that_it_lies_in(tmp_path: Path) -> None:
    """What `__init__.py` says is seen by all files of a package, what one of them says by none."""
    (tmp_path / "pkg" / "sub").mkdir(parents=True)
    (tmp_path / "pkg" / "__init__.py").write_text("widths = [8]\n")
    (tmp_path / "pkg" / "sub" / "__init__.py").write_text(
        "from pkg import widths\nwidths.append(1)\nfrom . import d\n"
    )
    text = "from torch import nn\nfrom pkg import widths\nwidths.append(1)\n" + NET.format(
        name="Net", before="", width="sum(widths)"
    )
    for name in ("a.py", "b.py", "sub/c.py", "sub/d.py"):
        (tmp_path / "pkg" / name).write_text(text)
    targets = [f"pkg/{name}::Net" for name in ("a.py", "b.py", "sub/c.py", "sub/d.py")]
    found = run(tmp_path, targets)
    assert [found.measured(target).counts.total for target in targets] == [9, 9, 11, 10]


@pytest.mark.parametrize("is_way", [False, True])
def test_what_a_package_provides_when_asked_is_there_for_a_call(
    tmp_path: Path, is_way: bool
) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "net.py").write_text(
        "from torch import nn\n" + NET.format(name="Net", before="", width=8)
    )
    (package / "__init__.py").write_text(
        "def __getattr__(name):\n"
        "    if name != 'Net':\n"
        "        raise AttributeError(name)\n"
        "    from pkg.net import Net\n"
        "    return Net\n"
    )
    (job,) = make_orders(tmp_path, ["pkg/__init__.py::Net"], call="Net()", is_way=is_way)
    assert run(tmp_path, [job]).measured(job.label).counts.total == 8
