"""Counts a model of the running process, for `nparam_lint.count`: what the worker does, without its
processes, its guards, and what it records for a cache."""

import contextlib
import random
import sys
import tempfile

from .building.call_target import bound_arguments, resolve_names
from .building.device_ladder import RUNGS, rung
from .counting.count_model import Count
from .counting.late_layers import why_incomplete
from .job import NOT_THE_DEVICE, only_module
from .state import NOWHERE, STATE
from .torch_compat import Originals
from .tracing.failures import Failure
from .tracing.origin_lines import OriginLines
from .tracing.project_paths import find_libraries


def count_here(model, args, kwargs, names):
    """The result of a job, as JSON has it, of a module, or of what a class or function makes of
    these arguments on the meta device. `names`: those of a formula. Exceptions of a constructor
    pass; raises Failure for what cannot be counted."""
    import torch

    if isinstance(model, torch.nn.Module):
        module, arguments, how = model, {}, "live"
        text = type(model).__name__
        if args or kwargs:
            reason = f"{text} is built already, and takes no arguments"
            raise Failure("NPL004", "not_a_model", reason)
    else:
        text = getattr(model, "__name__", None) or type(model).__name__
        module, how = build(torch, model, args, kwargs, text)
        texts = [*map(short, args), *(f"{name}={short(value)}" for name, value in kwargs.items())]
        text += "({})".format(", ".join(texts))
        arguments = bound_arguments(model, args, kwargs) or {}
    find_libraries(torch)
    count = Count(Originals(torch), module, OriginLines())
    incomplete = why_incomplete(count, text)
    if incomplete:
        raise Failure("NPL009", "lazy", f"{incomplete[0]}\nnext: run the model once on an input")
    result = count.result(True)
    result["call"], result["rung"] = text, how
    result["names"], result["known_names"] = resolve_names(names, arguments, module, model)
    return result


def build(torch, model, args, kwargs, text):
    """(a module, the rung on which it was built): the first rung that builds it, and on which its
    constructor does not look at the device. No random number generator is advanced."""
    state, directory = random.getstate(), tempfile.tempdir
    numpy = sys.modules.get("numpy.random")
    drawn = numpy.get_state() if numpy else None
    STATE.begin_run(NOWHERE, worker="")
    tempfile.tempdir = directory
    try:
        with torch.random.fork_rng(devices=()):
            for name in RUNGS:
                STATE.begin_model()
                try:
                    with rung(torch, name):
                        module = only_module(torch, model(*args, **kwargs), text)
                except (Failure, *NOT_THE_DEVICE):
                    raise
                except Exception:
                    if name == RUNGS[-1]:
                        raise
                else:
                    if not STATE.saw_meta:
                        break
            return module, name
    finally:
        random.setstate(state)
        with contextlib.suppress(Exception):
            numpy.set_state(drawn)


def short(value):
    """An argument as a call has it; a long one is shortened."""
    try:
        text = repr(value)
    except Exception:
        text = type(value).__name__
    return text if len(text) <= 40 else text[:39] + "…"
