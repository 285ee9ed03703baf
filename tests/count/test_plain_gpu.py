"""What a constructor or a file asks of CUDA is answered as on a machine with one plain GPU, where
this machine cannot; and a parameter that is moved there is a plain tensor, as it is on one."""

import inspect
import types
from pathlib import Path

import pytest
from worker_runs import Run, run

A100, V100, H100 = "NVIDIA A100-SXM4-80GB", "Tesla V100-SXM2-16GB", "NVIDIA H100 80GB HBM3"
NET = """

class {name}(nn.Module):
    def __init__(self, device="cuda", d=8):
        super().__init__()
        self.layer = nn.Linear(8, 16)
        {line}
"""
BARE = 144  # parameters of that layer
PARAMETER = "nn.Parameter(torch.zeros(100))"
# An expression that is assigned to an attribute -> the total, and the parameters that it hides.
MOVED = {
    f"{PARAMETER}.cuda()": (BARE, 100),
    f"{PARAMETER}.to(device)": (BARE, 100),
    f"{PARAMETER}.to(0)": (BARE, 100),
    f"{PARAMETER}.to(device='mps', dtype=torch.float32)": (BARE, 100),
    f"{PARAMETER}.to(next(self.layer.cuda().parameters()).device)": (BARE, 100),
    f"{PARAMETER}.pin_memory()": (BARE, 100),
    f"{PARAMETER} * 0.02": (BARE, 100),
    "nn.Parameter(torch.zeros(3000, 1000)).cuda()": (BARE, 3_000_000),
    "torch.zeros(100).cuda()": (BARE, 0),
    f"{PARAMETER}.to('cpu', copy=True)": (BARE, 100),
    f"{PARAMETER}.cuda().cpu()": (BARE, 100),
    "in_context(torch.Tensor.cpu)": (BARE, 100),
    f"{PARAMETER}.to(self.layer.weight)": (BARE + 100, 0),
    f"{PARAMETER}.to(torch.float32)": (BARE + 100, 0),
    f"nn.Parameter({PARAMETER}.cuda())": (BARE + 100, 0),
    "nn.Parameter(torch.zeros(100, device=device)).to(device)": (BARE + 100, 0),
    "nn.Parameter(torch.zeros_like(torch.zeros(100).cuda())).cuda()": (BARE + 100, 0),
    "nn.Parameter(torch.ones(100, pin_memory=True))": (BARE + 100, 0),
    "in_context()": (BARE + 100, 0),
    "nn.Parameter(torch.cat([torch.zeros(50).cuda(), torch.zeros(50).cuda()])).cuda()": (
        BARE + 100,
        0,
    ),
    f"nn.ParameterList([{PARAMETER}.cuda()])": (BARE + 100, 0),
    "nn.Linear(9, 10).to(0)": (BARE + 100, 0),
    "nn.Linear(9, 10).half().to(device='cuda:0')": (BARE + 100, 0),
}
IN_CONTEXT = f"""

def in_context(move=torch.Tensor.cuda):
    with torch.device("cuda"):
        return move({PARAMETER})
"""


def write_nets(path: Path, lines: list[str], start: str = "") -> list[str]:
    """A file with a model for each line; gives their targets."""
    nets = [NET.format(name=f"Net{number}", line=line) for number, line in enumerate(lines)]
    path.write_text(f"import torch\nfrom torch import nn\n{start}{''.join(nets)}")
    return [f"{path.name}::Net{number}" for number in range(len(lines))]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("moved")
    lines = [*(f"self.w = {value}" for value in MOVED)]
    lines.append(f"self.register_parameter('w', {PARAMETER}.cuda())")
    return run(root, write_nets(root / "m.py", lines, IN_CONTEXT))


@pytest.mark.parametrize("value", MOVED)
def test_a_parameter_that_is_moved(moved: Run, value: str) -> None:
    model = moved.measured(f"m.py::Net{[*MOVED].index(value)}")
    assert (model.counts.total, sum(one.count for one in model.hidden)) == MOVED[value]
    assert [one.path for one in model.hidden] == ["w"] * bool(MOVED[value][1])


def test_a_moved_parameter_cannot_be_registered(moved: Run) -> None:
    assert "or None required" in moved.failed(f"m.py::Net{len(MOVED)}").reason


# Functions of torch.cuda that fail as they do without a GPU, and say so: what they give is used to
# compute, or measured.
REFUSED = set(
    "caching_allocator_alloc caching_allocator_delete check_error clock_rate cudart "
    "device_memory_used graph_pool_handle memory_snapshot memory_summary memory_usage power_draw "
    "temperature utilization make_graphed_callables use_mem_pool change_current_allocator".split()
)
ARGUMENTS = {"set_rng_state": "torch.get_rng_state()", "set_rng_state_all": "[]", "mark": "'a'"}
OBJECTS = {
    "torch.cuda.Stream().wait_stream(torch.cuda.current_stream())",
    "torch.cuda.Event(enable_timing=True).record()",
    "torch.Generator(device='cuda').manual_seed(0)",
    "torch.randn(8, device='cuda', generator=torch.Generator('cuda'))",
    "torch.zeros(8, device=torch.cuda.current_device())",
    "torch.cuda.device(0).__enter__()",
    "torch.cuda.stream(torch.cuda.Stream()).__enter__()",
    "torch.cuda.get_device_properties(0).total_memory // torch.cuda.mem_get_info()[0]",
    "torch.cuda.nvtx.range_push('a')",
    "isinstance(torch.default_generator, torch.Generator) or 1 / 0",
    "torch.zeros(1).cuda().is_cuda and self.layer.cuda().weight.is_cuda or 1 / 0",
    "torch.zeros(1).cuda().is_cpu and 1 / 0",
    "1 / (torch.zeros(1).cuda().get_device() == 0)",
}


def public_calls() -> dict[str, str]:
    """A call of each public function of torch.cuda and torch.accelerator, by its name."""
    torch = pytest.importorskip("torch")
    calls = {}
    for space in (torch.cuda, getattr(torch, "accelerator", torch.cuda)):
        for name, function in sorted(vars(space).items()):
            is_public = isinstance(function, types.FunctionType) and not name.startswith("_")
            if is_public and function.__module__.startswith(space.__name__):
                given = inspect.signature(function).parameters.values()
                needed = sum(one.default is one.empty and one.kind < 2 for one in given)
                arguments = ARGUMENTS.get(name, ", ".join(["0"] * needed))
                calls[f"{space.__name__}.{name}"] = f"{space.__name__}.{name}({arguments})"
    return calls


@pytest.mark.thorough
def test_every_question_in_a_constructor(tmp_path: Path) -> None:
    calls = {**{text: text for text in OBJECTS}, **public_calls()}
    found = run(tmp_path, write_nets(tmp_path / "m.py", [*calls.values()]))
    refused = set()
    for number, name in enumerate(calls):
        result = found.by_label[f"m.py::Net{number}"]
        if hasattr(result, "counts"):
            assert result.counts.total == BARE
        else:
            assert result.reason.startswith(f"Net{number}() raised "), name
            refused.add(name.rpartition(".")[2])
    assert refused <= REFUSED, refused - REFUSED


ASSERTS = "assert torch.cuda.is_available(), 'this file needs a GPU'\n"
WIDTH = "WIDTH = 10 if torch.cuda.is_available() else 5\n"
AVAILABLE = "torch.cuda.is_available (at m.py:{})"
# What stands at the top of a file, the line of a constructor, the total, and what had to be asked
# of a machine with a GPU.
FILES = {
    "at import": (ASSERTS, "", BARE, AVAILABLE.format(3)),
    "more at import": (
        f"{ASSERTS}torch.cuda.set_device(torch.device('cuda', 0))\n"
        "SCALE = torch.ones(1, device='cuda') * 2\n",
        "",
        BARE,
        f"{AVAILABLE.format(3)}, torch.cuda.set_device (at m.py:4)",
    ),
    "exits": (
        "",
        "if not torch.cuda.is_available(): raise SystemExit('no GPU')",
        BARE,
        AVAILABLE.format(9),
    ),
    "raises": ("", "torch.cuda.is_available() or self.none", BARE, AVAILABLE.format(9)),
    "one set of answers": (
        WIDTH,
        "torch.cuda.current_device(); self.more = nn.Linear(1, WIDTH)",
        BARE + 20,
        f"{AVAILABLE.format(3)}, torch.cuda.current_device (at m.py:10)",
    ),
    "only without": (
        "",
        "if torch.cuda.is_available(): raise SystemExit('no GPU, please')",
        BARE,
        None,
    ),
    "not needed": (WIDTH, "self.more = nn.Linear(1, WIDTH)", BARE + 10, None),
    "caught": (
        "",
        "try: torch.cuda.current_device()\n        except Exception: self.more = self.layer",
        BARE,
        None,
    ),
}


CAPABILITY = "torch.cuda.get_device_capability()"
OF_CAPABILITY = "torch.cuda.get_device_capability (at m.py:9)"
PROCESSORS = "torch.cuda.get_device_properties(0).multi_processor_count"
# What stands at the top of a file, the line of a constructor, and why there is no count.
FAILURES = {
    "is the one without a GPU": (
        "",
        "raise ValueError('with' if torch.cuda.is_available() else 'without')",
        "Net0() raised ValueError: without",
    ),
    "an older GPU": (
        "",
        f"self.more = nn.Linear(1, 10 if {CAPABILITY} >= (8, 0) else 5)",
        f"Net0() has 164 parameters on one {A100} and 154 on one {V100}; asked: {OF_CAPABILITY}",
    ),
    "a newer GPU": (
        "",
        f"self.more = nn.Linear(1, 10 if {CAPABILITY} >= (9, 0) else 5)",
        f"Net0() has 154 parameters on one {A100} and 164 on one {H100}; asked: {OF_CAPABILITY}",
    ),
    "asked at import": (
        f"WIDTH = {PROCESSORS}\n",
        "self.more = nn.Linear(1, WIDTH)",
        f"Net0() has 360 parameters on one {A100} and 304 on one {V100}; "
        "asked: torch.cuda.get_device_properties (at m.py:3)",
    ),
}
# The line of a constructor, the total, and what is different on a GPU.
CHANGED = {
    "a width": (
        "self.more = nn.Linear(1, 10 if torch.cuda.is_available() else 5, False)",
        BARE + 5,
        ("more.weight: [5, 1] float32, then [10, 1] float32",),
    ),
    "a place": (
        f"self.w = {PARAMETER}.to('cuda' if torch.cuda.is_available() else 'cpu')",
        BARE + 100,
        ("w: [100] float32, then absent",),
    ),
}


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Each of these in a file `m.py` of its own, in a folder of its number."""
    root = tmp_path_factory.mktemp("asking")
    cases = [(start, line) for start, line, *_ in [*FILES.values(), *FAILURES.values()]]
    cases += [("", line) for line, *_ in CHANGED.values()]
    for number, (start, line) in enumerate(cases):
        folder = root / str(number)
        folder.mkdir()
        write_nets(folder / "m.py", [line], start)
    return run(root, [f"{number}/m.py::Net0" for number in range(len(cases))])


@pytest.mark.parametrize("name", FILES)
def test_what_answers_a_model_needs(asking: Run, name: str) -> None:
    number = [*FILES].index(name)
    model = asking.measured(f"{number}/m.py::Net0")
    *_, total, asked = FILES[name]
    note = f"built as on a machine with one {A100}, since it was asked: {asked}"
    assert model.counts.total == total
    assert [text.replace(f"{number}/", "") for text in model.notes] == [note] * bool(asked)


@pytest.mark.parametrize("name", FAILURES)
def test_what_has_no_count(asking: Run, name: str) -> None:
    number = len(FILES) + [*FAILURES].index(name)
    failure = asking.failed(f"{number}/m.py::Net0")
    assert failure.reason.replace(f"{number}/", "") == FAILURES[name][2]
    assert failure.cause == ("device" if " has " in failure.reason else "raised")


@pytest.mark.parametrize("name", CHANGED)
def test_a_count_that_a_gpu_changes(asking: Run, name: str) -> None:
    number = len(FILES) + len(FAILURES) + [*CHANGED].index(name)
    model = asking.measured(f"{number}/m.py::Net0")
    _, total, differences = CHANGED[name]
    assert model.counts.total == total
    assert model.devices[f"a machine with one {A100}"].differences == differences
