"""Builds models one after the other and sums their parameters: the loop that people write.

    python loop.py HOW ITEMS OUT [--tolerant]

Runs in the interpreter that has torch. ITEMS is a JSON list of "MODULE::EXPRESSION"; OUT becomes a
JSON object: `totals` (item → sum of `numel` over `parameters()`), `failed` (item → why).

    bare    each under torch.device("meta"), nothing else done
    fast    the same, on one core, without garbage collection and with the initialisers turned off
    cpu     each on the CPU, with its values

--tolerant: what cannot be built, or not within half a minute, is left out and told in `failed`.
"""

import argparse
import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from pathlib import Path

PATIENCE = 30  # seconds for one model

# What initialisers end in, besides the functions of torch.nn.init; on meta these change nothing.
IN_PLACE = "normal_ uniform_ random_ erfinv_ bernoulli_ zero_ fill_ mul_ add_ clamp_ copy_"


class Names(dict):
    """The names of a module as those of an expression, the ones that it loads lazily included."""

    def __init__(self, name):
        super().__init__()
        self.module = importlib.import_module(name)

    def __missing__(self, name):
        try:
            return getattr(self.module, name)
        except AttributeError:
            raise KeyError(name) from None  # a builtin, then


def one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def skip_initialisers(torch):
    def unchanged(tensor, *_, **__):
        return tensor

    for name, function in list(vars(torch.nn.init).items()):
        if name.endswith("_") and not name.startswith("_") and callable(function):
            setattr(torch.nn.init, name, unchanged)
    for name in IN_PLACE.split():
        setattr(torch.Tensor, name, unchanged)


def total(item, around):
    module, _, expression = item.partition("::")
    names = Names(module)
    with around():
        model = eval(expression, {"__builtins__": __builtins__}, names)
    return sum(parameter.numel() for parameter in model.parameters())


def out_of_time(*_):
    raise TimeoutError(f"no end within {PATIENCE} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("how", choices=("bare", "fast", "cpu"))
    parser.add_argument("items", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--tolerant", action="store_true")
    options = parser.parse_args()
    sys.path[0] = ""  # the project in the current directory, not this file's
    if options.how == "fast":
        one_core()
        gc.disable()
    import torch

    around = contextlib.nullcontext if options.how == "cpu" else lambda: torch.device("meta")
    if options.how == "fast":
        skip_initialisers(torch)
    if options.tolerant:
        signal.signal(signal.SIGALRM, out_of_time)
    items = json.loads(options.items.read_text(encoding="utf-8"))
    totals, failed = {}, {}
    for item in items:
        if not options.tolerant:
            totals[item] = total(item, around)
            continue
        signal.alarm(PATIENCE)
        try:
            totals[item] = total(item, around)
        except Exception as error:
            failed[item] = f"{type(error).__name__}: {error}"[:200]
        finally:
            signal.alarm(0)
    answer = {"totals": totals, "failed": failed}
    options.out.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
