"""Answers to what is asked of CUDA, as a machine with one plain GPU gives them.

A project is first imported and built with the answers of this machine. Where that fails, and CUDA
was asked, both are done once more in another process (`Job.take_gpu`), which answers as the first
of `GPUS` from the beginning: so no module of it was imported with other answers. What is not
answered (graphs, sensors, memory pools) fails as it does without a GPU.
"""

import collections
import contextlib
import functools
import importlib
import re
import sys
import types
from typing import NamedTuple

from ..state import STATE
from ..tracing.project_paths import OWN, is_ours, line_of, place_of_frame
from .device_ladder import is_accelerator, make_mode


class Gpu(NamedTuple):
    """What `torch.cuda.get_device_properties` gives."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    total_memory: int
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    is_integrated: bool = False


GPUS = (
    Gpu("NVIDIA A100-SXM4-80GB", 8, 0, 108, 80 << 30),
    Gpu("Tesla V100-SXM2-16GB", 7, 0, 80, 16 << 30),
    Gpu("NVIDIA H100 80GB HBM3", 9, 0, 132, 80 << 30),
)
# Causes of failures that an answer may have led to.
ANSWERABLE = ("raised", "import_failed", "not_a_model")
# Functions that give nothing, and those that give 0 where nothing is computed yet.
COMMANDS = re.compile(
    "(init|synchronize|ipc_collect|mark)$|(manual_)?seed|(set|reset|empty|range)_"
)
AMOUNTS = re.compile(
    "current_(device|blas|solver)|(max_)?memory_(allocated|reserved|cached)|initial_seed|"
    "get_sync_debug"
)


class Handle:
    """A stream or an event of a GPU that is not there: its methods do nothing."""

    cuda_stream = stream_id = device_index = priority = 0

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return do_nothing

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def do_nothing(*args, **kwargs):
    pass


def answers(torch):
    """Name of a function → what it gives on a GPU."""
    handle = Handle()
    handle.device = torch.device("cuda", 0)
    return {
        "is_available": lambda gpu: True,
        "is_initialized": lambda gpu: True,
        "device_count": lambda gpu: 1,
        "is_bf16_supported": lambda gpu: gpu.major >= 8,
        "is_tf32_supported": lambda gpu: gpu.major >= 8,
        "is_current_stream_capturing": lambda gpu: False,
        "can_device_access_peer": lambda gpu: False,
        "get_per_process_memory_fraction": lambda gpu: 1.0,
        "get_allocator_backend": lambda gpu: "native",
        "get_arch_list": lambda gpu: [f"sm_{gpu.major}{gpu.minor}"],
        "get_gencode_flags": lambda gpu: "",
        "get_device_name": lambda gpu: gpu.name,
        "get_device_capability": lambda gpu: (gpu.major, gpu.minor),
        "get_device_properties": lambda gpu: gpu,
        "memory_stats": lambda gpu: collections.defaultdict(int),
        "mem_get_info": lambda gpu: (gpu.total_memory, gpu.total_memory),
        "get_memory_info": lambda gpu: (gpu.total_memory, gpu.total_memory),
        "get_rng_state": lambda gpu: torch.get_rng_state(),
        "get_rng_state_all": lambda gpu: [torch.get_rng_state()],
        "current_accelerator": lambda gpu: torch.device("cuda"),
        "current_stream": lambda gpu: handle,
        "default_stream": lambda gpu: handle,
        "get_stream_from_external": lambda gpu: handle,
        "stream": lambda gpu: contextlib.nullcontext(),
    }


def patch_questions(torch):
    """Note what is asked of CUDA, and answer it while `STATE.gpu` is set. To be called before the
    project is imported, so that `from torch.cuda import is_available` gets these functions."""
    replacements, answer_of = {}, answers(torch)
    cuda, accelerator = torch.cuda, getattr(torch, "accelerator", None)  # of torch 2.6
    for space in filter(None, (cuda, cuda.memory, cuda.random, cuda.nvtx, accelerator)):
        for name, function in list(vars(space).items()):
            answer = answer_of.get(name) or (COMMANDS.match(name) and do_nothing)
            answer = answer or (AMOUNTS.match(name) and (lambda gpu: 0))
            if answer and isinstance(function, types.FunctionType):
                asking = with_answer(function, f"{space.__name__}.{name}", answer)
                setattr(space, name, replacements.setdefault(function, asking))
    for kind in (cuda.Stream, cuda.Event):
        make = with_answer(kind.__new__, f"torch.cuda.{kind.__name__}", lambda gpu: Handle())
        kind.__new__ = staticmethod(make)
    for name in ("__enter__", "__exit__"):
        method = getattr(cuda.device, name)
        setattr(cuda.device, name, with_answer(method, "torch.cuda.device", do_nothing))
    torch.Generator = generator_class(torch.Generator)


def with_answer(function, question, answer):
    @functools.wraps(function)
    def ask(*args, **kwargs):
        note(question)
        return function(*args, **kwargs) if STATE.gpu is None else answer(STATE.gpu)

    return ask


def note(question):
    """Questions of torch itself do not count, nor those of packages that are being imported."""
    caller = sys._getframe(2)
    is_importing = bool(STATE.running) or STATE.origins is None
    is_aside = is_importing and place_of_frame(caller) == "package"
    if not (is_aside or caller.f_code.co_filename.startswith((STATE.torch_directory, OWN))):
        STATE.gpu_questions.setdefault(question, line_of(caller))


def generator_class(original):
    """`torch.Generator`, which makes one on the processor while `STATE.gpu` is set."""

    class GeneratorKind(type(original)):
        def __instancecheck__(cls, value):
            return isinstance(value, original)

    class Generator(original, metaclass=GeneratorKind):
        def __new__(cls, device="cpu"):
            if is_accelerator(device):
                note("torch.Generator")
                device = device if STATE.gpu is None else "cpu"
            return original.__new__(original, device)

    Generator.__module__, Generator.__qualname__ = "torch", "Generator"
    return Generator


@contextlib.contextmanager
def answering(gpu):
    """As a machine with this GPU, or, for None, as this machine."""
    before, STATE.gpu = STATE.gpu, gpu
    try:
        yield
    finally:
        STATE.gpu = before


def importing(job):
    """The context in which the modules of such jobs are imported. What one needs of a GPU, it needs
    from now on."""
    if not job.gpu:
        return contextlib.nullcontext()
    STATE.gpu = GPUS[0]
    return make_mode(sys.modules["torch"])("cpu")


@contextlib.contextmanager
def imported_anew(build):
    """Where a file of the project asked, all of them are imported once more for a ModelBuild: with
    the answers of now."""
    if not (build.job.gpu and STATE.gpu_import_questions):
        yield
        return
    module, ours = build.module, {n: m for n, m in sys.modules.items() if is_ours(m)}
    for name in ours:
        del sys.modules[name]
    try:
        with make_mode(build.torch)("cpu"):
            build.module = importlib.import_module(build.job.module)
        yield
    finally:
        sys.modules.update(ours)
        build.module = module


def asked():
    """What was asked, and where, in words."""
    questions = {**STATE.gpu_import_questions, **STATE.gpu_questions}.items()
    return ", ".join(f"{name} (at {line})" if line else name for name, line in questions)


def may_help(cause):
    """Whether a failure of this cause may be one of a machine without a GPU."""
    return STATE.gpu is None and cause in ANSWERABLE and asked() != ""


def other_gpus():
    """Those for which a model is built once more, to see whether its count depends on them."""
    if STATE.gpu is None:
        return GPUS[:1] if STATE.gpu_questions else ()
    return [gpu for gpu in GPUS if gpu is not STATE.gpu]


def gpu_notes():
    if STATE.gpu is None:
        return []
    return [f"built as on a machine with one {STATE.gpu.name}, since it was asked: {asked()}"]
