"""Builds models on the CPU and counts them with one tool.

    python peers.py torchinfo|fvcore|distinct ITEMS OUT

Runs in the interpreter that has torch and the tool, in a directory that has the models' files.
ITEMS is a JSON list of "MODULE::EXPRESSION"; OUT becomes a JSON object, item → count, or the error
as text. `distinct` sums `numel` over the distinct parameters of all distinct modules. A tool that
does not come to an end (a module cycle) has half a minute and a few GB of memory for it.
"""

import json
import resource
import signal
import sys
import warnings
from pathlib import Path

from loop import PATIENCE, Names, out_of_time

MEMORY = 4 << 30  # bytes beyond what is mapped when torch has been imported


def with_torchinfo():
    from torchinfo import summary

    return lambda model: summary(model, verbose=0).total_params


def with_fvcore():
    from fvcore.nn import parameter_count

    return lambda model: parameter_count(model)[""]


def distinct():
    def count(model):
        parameters = (p for module in model.modules() for p in module._parameters.values())
        return sum(p.numel() for p in {id(p): p for p in parameters if p is not None}.values())

    return count


def limit_memory():
    import torch

    torch.zeros(1)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    wanted = pages * resource.getpagesize() + MEMORY
    if most == resource.RLIM_INFINITY or wanted < most:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


def main():
    tool, items, out = sys.argv[1:]
    sys.path.append("")
    warnings.simplefilter("ignore")
    count = {"torchinfo": with_torchinfo, "fvcore": with_fvcore, "distinct": distinct}[tool]()
    limit_memory()
    signal.signal(signal.SIGALRM, out_of_time)
    counts = {}
    for item in json.loads(Path(items).read_text(encoding="utf-8")):
        module, _, expression = item.partition("::")
        signal.alarm(PATIENCE)
        try:
            model = eval(expression, {"__builtins__": __builtins__}, Names(module))
            counts[item] = count(model)
        except Exception as error:
            counts[item] = f"{type(error).__name__}: {error}"[:80]
        finally:
            signal.alarm(0)
    Path(out).write_text(json.dumps(counts), encoding="utf-8")


if __name__ == "__main__":
    main()
