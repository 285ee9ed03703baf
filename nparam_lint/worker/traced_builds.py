"""Builds a model at several points with traced numbers, and tells what was recorded."""

import sys
import time
import types

from ..ground.metrics import METRICS
from .building.device_ladder import RUNGS, rung
from .counting.count_model import Count
from .state import STATE
from .symbolic.recorder import Exhausted, Recorder
from .symbolic.shadows import shadowed
from .symbolic.shapes import ROWS, carried
from .symbolic.traced_numbers import row_of
from .tracing.failures import describe
from .tracing.project_paths import may_be_ours

LAYERS = "torch.nn.modules."


def traces(build, model_types, variables):
    """What `measured.Traces` has: one run for each point of the job, as many as there is time for.
    `build`: a ModelBuild; `model_types`: the full names of the classes of the modules in it;
    `variables`: the arguments of its call."""
    values = {
        row["name"]: row["value"]
        for row in variables
        if row["name"] in build.job.ask.names and type(row["value"]) in (int, float)
    }
    until = time.monotonic() + build.job.ask.seconds
    STATE.trace = Recorder()
    runs = []
    try:
        layers = [m for name, m in list(sys.modules.items()) if name.startswith(LAYERS)]
        with shadowed(own_modules(build.module, model_types), layers):
            for point in build.job.ask.points:
                seconds = until - time.monotonic()
                if seconds < 0 or None in runs:  # what has no end may have left numbers in a cache
                    break
                runs.append(run(build, tuple(point or values.items()), seconds))
        return {"expressions": STATE.trace.rows, "runs": runs}
    finally:
        STATE.trace = None


def own_modules(module, model_types):
    """The loaded modules of the project, and of the packages whose layers are in the model. Those
    of torch ask for their numbers themselves."""
    loaded = [(n, m) for n, m in list(sys.modules.items()) if isinstance(m, types.ModuleType)]
    tops = {name.partition(".")[0] for name, _ in loaded}
    packages = {name.partition(".")[0] for name in model_types} - {"torch", "builtins"}
    packages |= {name for name in tops if may_be_ours(name)}
    return [m for name, m in loaded if m is module or name.partition(".")[0] in packages]


def run(build, point, seconds):
    """One build, None if it has no end. A point that the constructor refuses has `error`."""
    trace, torch = STATE.trace, build.torch
    trace.begin(seconds, point)
    job = build.job
    parameters, error = [], None
    try:
        model, _ = build.build(rung(torch, RUNGS[0]), carried(torch))
        trace.paused += 1
        metric = METRICS[job.ask.metric]
        declared = job.build.recipe.experts_per_token
        count = Count(build.originals, model, build.origins, declared, metric.name)
        if metric.needs_routing and count.routing.unknown:
            error = f"the {metric.words} are unknown: {count.routing.unknown}"
        parameters = rows(count, metric.name, job.ask.origins)
    except Exhausted:
        return None
    except Exception as raised:
        error = describe(raised)
    return {
        "parameters": parameters,
        "decisions": list(trace.decisions),
        "lost": list(trace.lost),
        "error": error,
    }


def rows(count, metric, with_origins):
    """[name, what the metric counts of an element, lengths, the row of each length, `uses`,
    origin, other names]: no rows where they were lost; uses: the rows of how many experts are used,
    of how many."""
    parameters = []
    for key, entry, amount in count.weighed(metric):
        shape = [int(length) for length in entry.shape]
        lengths = list(getattr(entry.tensor, ROWS, None) or ())
        uses = count.routing.uses.get(key, ()) if METRICS[metric].needs_routing else ()
        if len(lengths) != len(shape) or None in uses:
            lengths, uses = [], ()
        uses = [[row_of(used), row_of(number)] for used, number in uses]
        origin = count.origin(entry) if with_origins else ""
        parameters.append([entry.name, str(amount), shape, lengths, uses, origin, entry.also])
    return parameters
