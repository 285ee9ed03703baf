"""Whatever a constructor asks of torch.cuda is answered as on a machine with one plain GPU, or
refused as it is without one; what is made of the answers: `answers/plain_gpu.txt`."""

import inspect
import types
from pathlib import Path

import pytest
from case_books import model_source
from sample_files import write_files
from worker_runs import run

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
    layer = "self.layer = nn.Linear(8, 16)\n"
    nets = (model_source(f"Net{n}", layer + call) for n, call in enumerate(calls.values()))
    write_files(tmp_path, {"m.py": "import torch\nfrom torch import nn\n" + "".join(nets)})
    found = run(tmp_path, [f"m.py::Net{number}" for number in range(len(calls))])
    refused = set()
    for number, name in enumerate(calls):
        result = found.by_label[f"m.py::Net{number}"]
        if hasattr(result, "counts"):
            assert result.counts.total == 144
        else:
            assert result.reason.startswith(f"Net{number}() raised "), name
            refused.add(name.rpartition(".")[2])
    assert refused <= REFUSED, refused - REFUSED
