"""What one file of a project changes of torch, of Python or of a library is its own affair: the
models of all other files are counted as if it were not there, and none is counted with functions
that the project has changed."""

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
    "setattr": (
        "init = nn.Module.__setattr__\n"
        "nn.Module.__setattr__ = lambda self, name, value: init(self, name, Linear(10, 21, False)"
        " if isinstance(value, Linear) else value)"
    ),
    "empty": "empty = torch.empty\ntorch.empty = lambda *_, **__: empty(105, 1)",
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
}
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


@pytest.fixture(scope="module", params=[5, pytest.param(1, marks=pytest.mark.thorough)])
def patched(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of all: each patches when it is built, and every so many once more when they are
    imported, which takes a process each."""
    root = tmp_path_factory.mktemp("patched")
    files = files_of(COUNTING)
    for file, patch in files.items():
        (root / file).write_text(MODULE.format(early="", late=patch))
    imported = {f"i{file}": patch for file, patch in [*files.items()][:: request.param]}
    for file, patch in imported.items():
        (root / file).write_text(MODULE.format(early=patch, late=""))
    (root / "zz.py").write_text(HONEST)
    return run(root, [f"{file}::Net" for file in [*files, *imported, "zz.py"]], width=2)


def test_a_model_is_counted_with_what_torch_and_python_had_at_first(patched: Run) -> None:
    names = dict(zip(files_of(COUNTING), COUNTING, strict=True))
    wrong = {}
    for label, result in patched.by_label.items():
        name = names.get(label.partition("::")[0].removeprefix("i"), "")
        if isinstance(result, NotMeasured):
            if name not in BREAKING:
                wrong[label] = result.reason
        elif name and (result.counts.total, result.counts.bytes, result.counts.buffers) != NET:
            wrong[label] = str(result.counts)
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
    assert counts(rebuilt, file)[0] == 210
    assert counts(rebuilt, f"n{file}") == NET


@pytest.mark.parametrize("file", IMPORTERS)
def test_a_file_that_imports_such_a_file_is_changed_by_it(rebuilt: Run, file: str) -> None:
    assert counts(rebuilt, file)[0] == 210
