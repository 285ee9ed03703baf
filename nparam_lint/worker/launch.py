"""Builds models and counts their parameters, in the project's own interpreter.

The contract. This file, and the package around it that it loads, need the
standard library and torch, nothing else, and keep to Python 3.9's syntax; the front end runs this
file by path and imports neither.

In:    two lines of JSON on standard input: the variables that only Python code may see
       (`count/worker_process.py` writes it), and the orders (`count/run.py`). Standard input
       then stays open, and its end means that the front end is gone: everything is killed.
Out:   frames, one a line, `NONCE JSON`, on a private copy of standard output that is taken away
       from file descriptor 1 before any code of the project runs. What it prints goes elsewhere.
       {"event": "ready", "protocol": 12, "torch": …, "version": …}   of torch, and of Python
       {"event": "alive"}                                        every second
       {"event": "dependencies"} TAB DEPENDENCIES             what was read while importing
       {"event": "building", "id": …}                            a model is begun
       {"event": "result", "id": …, "ok": true | false} TAB RESULT TAB DEPENDENCIES
                                  one for each job; what follows a tab is passed on unread from
                                  process to process
       {"event": "end", "more": true | false, "guards": […]}   as soon as every job has its result,
                                  nothing after it (but "alive", while processes end);
                                  more: where another line of orders may follow, which is answered
                                  in the same way; guards: those that were on in every process
       A job without a result was not measured, and neither was a run without its end.

Four kinds of process; one loop (`Supervision`) watches over what each of the inner two starts:
    host      imports torch, once; forks a server for each run
    server    puts on the guards, which all below it have; imports installed packages that several
              groups need, and no code of the project
    group     imports the modules of jobs: a package, and goes on to those in it in a process each
    builder   forked from a group for one model: builds it, counts it, and ends
Where forking is impossible, the host hands the jobs out, and each gets a group that is spawned
afresh and builds its model by itself.
Where the settings say that other runs will follow (`reuse`), a group that does all jobs of a run
waits for those of the next. If these import the same in the same way, it builds them without
importing anything again, and tells once more what it had read; otherwise it is ended.
A process that dies, hangs or grows too large only costs its current job; the others are still
counted.

The project's code is executed. These guards prevent accidents (they are not a sandbox): no standard
input; writes, programs and connections refused by an audit hook; limits on time and memory.
"""

import builtins
import importlib
import importlib.machinery
import os
import sys
import types

NAME = "<nparam-lint>"  # of our package: nothing in the project can be called so
BUILTINS = dict(vars(builtins))


class OwnLoader(importlib.machinery.SourceFileLoader):
    """Gives a module Python's own functions as they are before any code of the project runs: the
    worker uses no replacement (`builtins.id = …`)."""

    def exec_module(self, module):
        vars(module)["__builtins__"] = BUILTINS
        super().exec_module(module)


class OwnFinder:
    """Finds the modules of the package, for that loader."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if not name.startswith(NAME + "."):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        spec.loader = OwnLoader(name, spec.origin)
        return spec


def load():
    """The module that does the work. The directory of this file is ours, not a place for the
    project to import from."""
    here = os.path.dirname(os.path.abspath(__file__))
    ours = (here, os.path.dirname(os.path.realpath(__file__)))  # Python follows a link to this file
    sys.path[:] = [path for path in sys.path if os.path.abspath(path) not in ours]
    package = sys.modules[NAME] = types.ModuleType(NAME)
    package.__path__ = [os.path.dirname(os.path.realpath(here))]
    sys.meta_path.insert(0, OwnFinder)
    try:
        return importlib.import_module(NAME + ".worker.processes.host")
    finally:
        sys.meta_path.remove(OwnFinder)


if __name__ == "__main__":
    load().main()
