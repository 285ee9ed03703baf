"""Builds models in the worker's own way, with and without noting the lines that make their parts.

    python attribution.py LAUNCH ROOT OUT REPETITIONS CALL…

Runs in the interpreter that has torch. LAUNCH is the worker's launch.py, ROOT a project, CALL an
expression `MODULE::FUNCTION(…)` with a module of ROOT. OUT becomes a JSON object: call → the
processor seconds of each build and count, in pairs [with, without], taken in turn; and the lines
that were found.
"""

import gc
import importlib.util
import json
import sys
import time
from pathlib import Path


def load(launch):
    spec = importlib.util.spec_from_file_location("launch", launch)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.load()
    return lambda name: sys.modules[f"{module.NAME}.worker.{name}"]


def prepared(worker, root):
    """torch, as the worker's processes have it."""
    torch = worker("processes.host").import_torch()
    state = worker("state")
    state.STATE.begin_run({**state.NOWHERE, "root": root}, worker="")
    state.STATE.record = worker("tracing.dependency_record").DependencyRecord()
    worker("tracing.project_paths").find_libraries(torch)
    return torch


def no_lines(worker):
    """Takes the place of what notes the lines: nothing is looked at, and nothing kept."""
    origins = worker("tracing.origin_lines").OriginLines()
    origins.calls_above = lambda *_: (None,)
    origins.keep = lambda *_: None
    return origins


def build(worker, torch, originals, module, text, traced):
    worker("state").STATE.begin_model(worker("tracing.dependency_record").InputLog())
    called = {"callable": "", "recipe": {"call": text}, "device": "meta only"}
    order = {"id": 0, "label": text, "file": None, "attempts": (), "build": called, "ask": {}}
    build = worker("job").ModelBuild(
        job=worker("processes.lifecycle").Job(order),
        module=module,
        torch=torch,
        originals=originals,
        failures=[],
        traced=True,  # with which arguments modules are made is noted in both
        tell_alive=lambda: None,
    )
    job, hooks = worker("job"), worker("job").torch_hooks
    if not traced:
        build.origins, job.torch_hooks = no_lines(worker), lambda _: []
    start = time.process_time()
    result = build.run()
    taken = time.process_time() - start
    job.torch_hooks = hooks
    if not result["ok"]:
        raise SystemExit(result["reason"])
    return taken, result["modules"][0]["total"], len(result["lines"])


def main():
    launch, root, out, repetitions, *calls = sys.argv[1:]
    sys.path[0] = root
    worker = load(launch)
    torch = prepared(worker, root)
    originals = worker("torch_compat").Originals(torch)
    answer = {}
    for call in calls:
        name, _, text = call.partition("::")
        module = importlib.import_module(name)
        taken, lines = [], 0
        for number in range(int(repetitions) + 1):
            pair = {}
            for traced in (True, False) if number % 2 else (False, True):
                gc.collect()
                gc.freeze()
                gc.disable()
                seconds, total, found = build(worker, torch, originals, module, text, traced)
                pair[traced], lines = seconds, max(lines, found)
            taken.append([pair[True], pair[False]])
        answer[call] = {"seconds": taken[1:], "total": total, "lines": lines}
    Path(out).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
