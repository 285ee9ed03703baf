"""Builds models with plain torch, and counts them, for `coverage.py`: what the tool counted is
compared with this. It is run by the interpreter that has torch, and knows nothing of the tool. The
project's files are imported, and each model is built, in processes of their own, without a network.

    python coverage_builds.py < JOBS > RESULTS

JOBS is a JSON list of objects: `root`, the directory of the project; `imports`: [module,
[directories]], the ways to import the file whose names the call is written in, of which the first
that works is taken; `setup`, `call`, and `counted`, what the tool counted. RESULTS is a JSON list
of numbers, and of texts that say why there is none.
"""

import contextlib
import gc
import importlib
import json
import os
import resource
import signal
import socket
import sys
import time
import traceback
from itertools import groupby

SECONDS, ALL, BYTES = 30, 900, 12 << 30  # ALL: seconds for all jobs
SMALL = 1 << 29  # parameters that are built in memory where torch's meta device will not do


def imported(root, imports):
    """The names of the first module that can be imported."""
    before, error = list(sys.path), ImportError("nothing to import")
    os.chdir(root)
    for module, roots in imports:
        sys.path[:] = [f"{root}/{place}" for place in roots] + before
        try:
            return dict(vars(importlib.import_module(module)))
        except ImportError as failure:
            error = failure
    raise error


def count(job, names, device):
    import torch

    for name in vars(torch.nn.init):  # the values do not matter, and take long to draw
        if name.endswith("_") and not name.startswith("_"):
            setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    with torch.device(device):
        if job["setup"]:
            exec(job["setup"], names)
        model = eval(job["call"], names)
    return sum(parameter.numel() for parameter in set(model.parameters()))


def count_once(job, names, device):
    yield count(job, names, device)


def answers_of(work, *arguments, seconds):
    """What the generator `work` gives in a child, as long as it lives."""
    reading, writing = os.pipe()
    gc.freeze()  # a collection would copy all memory of the parent
    child = os.fork()
    if not child:
        try:
            os.close(reading)
            signal.alarm(seconds)
            resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
            tell(work, arguments, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answers:
        found = [json.loads(line) for line in answers]
    os.waitpid(child, 0)
    return found


def tell(work, arguments, writing):
    with os.fdopen(writing, "w") as out:
        try:
            for answer in work(*arguments):
                print(json.dumps(answer), file=out, flush=True)
        except BaseException as error:
            text = traceback.format_exception_only(type(error), error)[-1].strip()
            print(json.dumps(text[:200]), file=out, flush=True)


def of_file(jobs):
    """The results of jobs with the same imports, one after the other, each on the device that the
    last one could be built on, if it can."""
    names = imported(jobs[0]["root"], jobs[0]["imports"])
    devices = ["meta", "cpu"]
    for job in jobs:
        allowed = [device for device in devices if device == "meta" or job["counted"] < SMALL]
        for device in allowed:
            found = answers_of(count_once, job, dict(names), device, seconds=SECONDS)
            if found and isinstance(found[0], int):
                devices.sort(key=device.__ne__)
                break
        yield found[0] if found else f"it took more than {SECONDS} s, or the process died"


def no_network(*_):
    raise OSError("there is no network here")


def warm_up():
    """Import once for all what torch imports at the first arithmetic on meta, which takes longer
    than to build most models."""
    import torch
    import torch._dynamo

    tensor = torch.empty(2, 2, device="meta")
    tensor.normal_().mul_(2).erfinv_().clamp_(0, 1)
    (tensor + torch.linspace(0, 1, 2, device="meta")).sum()


def main():
    warm_up()
    socket.socket.connect = no_network
    jobs = json.load(sys.stdin)
    results = {}
    end = time.monotonic() + float(os.environ.get("COVERAGE_SECONDS", ALL))
    order = sorted(range(len(jobs)), key=lambda number: imports_of(jobs[number]))
    for _, group in groupby(order, key=lambda number: imports_of(jobs[number])):
        numbers = list(group)
        left = end - time.monotonic()
        found = []
        if left > 1:
            found = answers_of(of_file, [jobs[n] for n in numbers], seconds=int(left))
        last = "no time was left"
        if found and not isinstance(found[-1], int) and len(found) == 1:
            last = found[-1]  # the file cannot be imported
        results.update(zip(numbers, found + [last] * len(numbers), strict=False))
    return [results[number] for number in range(len(jobs))]


def imports_of(job):
    return json.dumps([job["root"], job["imports"]])


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        answers = main()
    json.dump(answers, sys.stdout)
