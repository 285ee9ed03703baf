"""What one file of a project changes of torch, of Python or of a library is its own affair: the
models of all other files are counted as if it were not there, and none is counted with functions
that the project has changed."""

import sys
from pathlib import Path

import pytest
from worker_runs import Run, run

from nparam_lint.count.measured import NotMeasured

# What is run when a file is imported, or when a model is built. Net has 110 parameters, 440 bytes
# and 7 elements of buffers, and none of this changes which.
COUNTING = {
    "numel": "torch.Tensor.numel = lambda self: 55",
    "numel of parameters": "torch.nn.Parameter.numel = lambda self: 55",
    "size": "torch.Tensor.size = lambda self, dim=None: torch.Size([5])",
    "shape": "torch.Tensor.shape = property(lambda self: torch.Size([5]))",
    "element_size": "torch.Tensor.element_size = lambda self: 1",
    "nelement": "torch.Tensor.nelement = lambda self: 55",
    "requires_grad": "torch.nn.Parameter.requires_grad = False",
    "torch function": (
        "torch.nn.Parameter.__torch_function__ = "
        "classmethod(lambda cls, func, types, args=(), kwargs=None: torch.Size([1]))"
    ),
    "parameters": "nn.Module.parameters = lambda self, recurse=True: iter(())",
    "named_parameters": "nn.Module.named_parameters = lambda self, *_, **__: iter(())",
    "named_modules": "nn.Module.named_modules = lambda self, *_, **__: iter(())",
    "children": "nn.Module.named_children = lambda self: iter(())",
    "_parameters": "nn.Module._parameters = property(lambda self: {}, lambda self, value: None)",
    "lazy": "nn.parameter.UninitializedTensorMixin = nn.Parameter",
    "embedding": "nn.Embedding = nn.Linear",
    "id": "builtins.id = lambda value: 1",
    "len": "builtins.len = lambda value: 1",
    "sum": "builtins.sum = lambda *values: 1",
    "isinstance": "builtins.isinstance = lambda value, kind: True",
    "type": "builtins.type = lambda *_: int",
    "sorted": "builtins.sorted = lambda *_, **__: []",
    "vars": "builtins.vars = lambda *_: {'_parameters': {}, '_buffers': {}, '_modules': {}}",
    "zip": "builtins.zip = lambda *_: iter(())",
    "map": "builtins.map = lambda *_: iter(())",
    "dict": "builtins.dict = lambda *_, **__: {}",
    "getattr": "builtins.getattr = lambda *_: None",
    "open": "builtins.open = lambda *_, **__: None",
    "print": "builtins.print = lambda *_, **__: None",
    "prod": "math.prod = lambda values: 55",
    "dumps": "json.dumps = lambda *_, **__: '{}'",
    "encoder": "json.JSONEncoder.encode = lambda self, value: '{}'",
    "write": "os.write = lambda descriptor, data: len(data)",
    "getpid": "os.getpid = lambda: 1",
    "counter": "collections.Counter = dict",
    "module in place of torch": "sys.modules['torch'] = types.SimpleNamespace(nn=nn)",
    "module in place of json": "sys.modules['json'] = types.SimpleNamespace(dumps=lambda *_: '{}')",
}
# torch itself does not work with these, at least where they are there from the start.
BREAKING = ("size", "_parameters", "len", "isinstance", "dict", "getattr")
MODULE = """\
import builtins, collections, json, math, os, sys, types
import torch
from torch import nn

Module, Linear, zeros = nn.Module, nn.Linear, torch.zeros
{early}

class Net(Module):
    def __init__(self):
        super().__init__()
        self.layer = Linear(10, 10)
        self.register_buffer("table", zeros(7))
        {late}
"""
# What changes the models that are built after it: those of the same file alone are to be changed.
BUILDING = {
    "linear": "nn.Linear = lambda *_: Linear(10, 21, bias=False)",
    "init of linear": (
        "init = nn.Linear.__init__\n"
        "nn.Linear.__init__ = lambda self, a, b, bias=True: init(self, a, 21, bias=False)"
    ),
    "setattr": (
        "init = nn.Module.__setattr__\n"
        "nn.Module.__setattr__ = lambda self, name, value: init(self, name, Linear(10, 21, False)"
        " if isinstance(value, Linear) else value)"
    ),
    "parameter": (
        "new = nn.Parameter.__new__\n"
        "nn.Parameter.__new__ = lambda cls, data=None, requires_grad=True: "
        "new(cls, torch.zeros(105, 1))"
    ),
    "empty": "empty = torch.empty\ntorch.empty = lambda *_, **__: empty(105, 1)",
    "defaults of init": "nn.Linear.__init__.__defaults__ = (False, None, None)",
    "a hook": (
        "from torch.nn.modules.module import register_module_parameter_registration_hook as on\n"
        "on(lambda module, name, part: nn.Parameter(torch.zeros(105, 1)))"
    ),
    "a mode": (
        "from torch.overrides import TorchFunctionMode\n"
        "class Mode(TorchFunctionMode):\n"
        "    def __torch_function__(self, func, types, args=(), kwargs=None):\n"
        "        args = ((105, 1),) if func is torch.empty else args\n"
        "        return func(*args, **(kwargs or {}))\n"
        "Mode().__enter__()"
    ),
    "functional": "import torch.nn.modules.linear as inner\ninner.Parameter = lambda value: "
    "nn.Parameter(torch.zeros(105, 1))",
}
# What a width may be read with; each of these would make one of Reads 20.
READING = {
    "a method of a class": "pathlib.Path.read_text = lambda *_: '20'",
    "a library that torch does not load": "configparser.ConfigParser.getint = lambda *_: 20",
    "a function": "csv.reader = lambda _: [['20']]",
    "a constant": "sys.platform = 'other'",
    "torch.cuda": "torch.cuda.is_available = lambda: True",
    "a tracer": "sys.settrace(lambda frame, *_: frame.f_locals.pop('none', None))",
}
READS = """\
import configparser, csv, pathlib, sys
import torch
from torch import nn

{patch}
HERE, PLATFORM = pathlib.Path(__file__), {platform!r}


class Reads(nn.Module):
    def __init__(self):
        super().__init__()
        config = configparser.ConfigParser()
        config.read_string("[a]\\nwidth = 10")
        widths = [int(HERE.with_name("width").read_text()), config.getint("a", "width")]
        widths += [int(row[0]) for row in csv.reader(["10"])]
        widths += [10 if sys.platform == PLATFORM else 20, 10 * (1 + torch.cuda.is_available())]
        widths += [10 if sys.gettrace() is None else 20]
        self.layers = nn.ModuleList([nn.Linear(width, 1) for width in widths])
"""
# Those that import the first of these, whatever they make of a failure.
IMPORTERS = {
    "imports.py": "import m00",
    "inner.py": "import imports",
    "tries.py": "try:\n    import m00\nexcept:\n    pass",
}
BUILT = MODULE.replace("{early}", "").replace("Linear(", "nn.Linear(") + "\n{early}\n"
HONEST = BUILT.format(early="", late="")
NET = (110, 440 + 28, 7)


def files_of(patches: dict[str, str]) -> dict[str, str]:
    return {f"m{number:02d}.py": patch for number, patch in enumerate(patches.values())}


def counts(found: Run, file: str) -> tuple[int, int, int]:
    counted = found.measured(f"{file}::Net").counts
    return counted.total, counted.bytes, counted.buffers


@pytest.fixture(
    scope="module",
    params=["built", "some imported", pytest.param("imported", marks=pytest.mark.thorough)],
)
def patched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of all, one after the other in one process where nothing tells them apart. Files that
    patch something when they are imported have a process each: at every commit every fifth does."""
    root = tmp_path_factory.mktemp("patched")
    files = files_of(COUNTING)
    if request.param == "some imported":
        files = dict([*files.items()][::5])
    for file, patch in files.items():
        early, late = ("", patch) if request.param == "built" else (patch, "")
        (root / file).write_text(MODULE.format(early=early, late=late))
    (root / "zz.py").write_text(HONEST)
    return run(root, [f"{file}::Net" for file in [*files, "zz.py"]], width=2)


def test_a_model_is_counted_with_what_torch_and_python_had_at_first(patched: Run) -> None:
    files = dict(zip(files_of(COUNTING), COUNTING, strict=True))
    wrong = {
        name: found if isinstance(found, NotMeasured) else found.counts
        for label, found in patched.by_label.items()
        if (name := files.get(file := label.partition("::")[0]))
        and not (name in BREAKING and isinstance(found, NotMeasured))
        and (isinstance(found, NotMeasured) or counts(patched, file) != NET)
    }
    assert wrong == {}


def test_another_model_is_counted_beside_those(patched: Run) -> None:
    assert counts(patched, "zz.py") == NET


@pytest.fixture(scope="module")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("rebuilt")
    for file, patch in files_of(BUILDING).items():
        (root / file).write_text(BUILT.format(early=patch, late=""))
        (root / f"n{file}").write_text(HONEST)
    for file, line in IMPORTERS.items():
        (root / file).write_text(line + "\n" + HONEST)
    names = sorted(path.name for path in Path(root).iterdir())
    return run(root, [f"{name}::Net" for name in names], width=1)


@pytest.mark.parametrize("name", BUILDING)
def test_a_file_that_changes_what_torch_builds_changes_its_own_models(
    rebuilt: Run, name: str
) -> None:
    file = f"m{[*BUILDING].index(name):02d}.py"
    assert counts(rebuilt, file)[0] == (100 if name == "defaults of init" else 210)
    assert counts(rebuilt, f"n{file}") == NET


def test_what_a_width_is_read_with_is_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "width").write_text("10")
    for number, patch in enumerate([*READING.values(), ""]):
        text = READS.format(patch=patch, platform=sys.platform)
        (tmp_path / f"r{number}.py").write_text(text)
    found = run(tmp_path, [f"r{number}.py::Reads" for number in range(len(READING) + 1)], width=1)
    totals = [found.measured(f"r{n}.py::Reads").counts.total for n in range(len(READING) + 1)]
    assert totals == [76] * len(READING) + [66]  # each changes its own


@pytest.mark.parametrize("file", IMPORTERS)
def test_a_file_that_imports_such_a_file_is_changed_by_it(rebuilt: Run, file: str) -> None:
    assert counts(rebuilt, file)[0] == 210
