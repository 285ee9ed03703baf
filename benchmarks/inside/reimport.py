"""Import a file again and build its model, each time that a line comes; tells the seconds of each.

    reimport.py FILE CALL

What the file imports stays imported, as does torch: only the file itself is compiled and run anew.
"""

import importlib.util
import sys
import time
from pathlib import Path

import torch

file, call = sys.argv[1:]


def build():
    spec = importlib.util.spec_from_file_location("model_of_benchmark", file)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    exec(compile(Path(file).read_text("utf-8"), file, "exec"), vars(module))
    with torch.device("meta"):
        return eval(call, vars(module))


build()
for _ in sys.stdin:
    start = time.perf_counter()
    model = build()
    print(time.perf_counter() - start, flush=True)
