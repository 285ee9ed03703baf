"""Runs a script of the project as a command does, as far as it makes a model."""

import argparse
import ast
import builtins
import contextlib
import copy
import functools
import os
import random
import signal
import sys
import types
from multiprocessing.process import BaseProcess
from traceback import walk_tb

from ...ground.script_words import FAILS_HERE, FIRST_OF
from ..state import STATE
from ..tracing.failures import Failure, describe, missing_package
from ..tracing.project_paths import in_packages, is_ours, relative
from .absent_files import watched_files
from .definitions import mark_definitions
from .left_out import ScriptEnds, leave_out, loss_followed
from .process_group import one_process

# As they were before the project ran; Windows has no fork, and no job gets companions there.
fork, getpid, waitpid = getattr(os, "fork", None), os.getpid, getattr(os, "waitpid", None)
value_of = argparse.ArgumentParser._get_value
# What holds a model that is trained as it is.
WRAPPERS = {"DataParallel", "DistributedDataParallel", "OptimizedModule", "LightningModule"}
SHARDED = "FullyShardedDataParallel"
# That a script may take to make its model: of computing, and by the clock on a busy machine.
SECONDS, SECONDS_WAITING = 8, 24
MOST_RUNS = 9  # of others, by which it finds out what the model is made of


class OutOfTime(ScriptEnds):
    """Ends a script that may make its model on another day."""


def out_of_time(number, frame):
    raise OutOfTime


def limit_time(undo):
    """End a script that takes too long."""
    with contextlib.suppress(AttributeError, ValueError):  # of Windows; not the main thread
        for timer, number, seconds in (
            (signal.ITIMER_PROF, signal.SIGPROF, SECONDS),
            (signal.ITIMER_REAL, signal.SIGALRM, SECONDS_WAITING),
        ):
            undo.callback(signal.signal, number, signal.signal(number, out_of_time))
            undo.callback(signal.setitimer, timer, 0)
            signal.setitimer(timer, seconds, 1)  # again: it may be caught


def noting_seed(function):
    @functools.wraps(function)
    def seed(*args, **kwargs):
        STATE.is_seeded |= next(iter((*args, *kwargs.values())), None) is not None
        return function(*args, **kwargs)

    return seed


def spawn(function, args=(), *others, **options):
    """The first of several processes is this one."""
    function(0, *args)


def known_value(parser, action, text):
    """The value of an option, as a reader would have it who fills in `SCAN_ID`."""
    try:
        return value_of(parser, action, text)
    except argparse.ArgumentError:
        if not text.isupper():
            raise
        return action.default


def size_of(model):
    """Of a model; of what holds one, whatever it is."""
    parameters = getattr(model, "parameters", tuple)
    try:
        return sum(parameter.numel() for parameter in parameters())
    except Exception:
        return None


def is_early(exit):
    """Whether the script has ended itself; click ends each command so, when it is done."""
    *_, (frame, _) = walk_tb(exit.__traceback__)
    return not in_packages(frame.f_code.co_filename)


def cause_of(failures):
    """Of (line, error) the error that kept a script from its model: what the last of them follows
    from, or else the first. A package that is missing seldom does."""
    errors = [error for _, error in failures if not isinstance(error, SystemExit)]
    if loss := loss_followed(errors[-1]) if errors else None:
        firsts = (e for at, e in failures if (at, describe(e)) == (loss.line, loss.why))
        return next(firsts, errors[-1])
    others = (e for _, e in failures if not (loss_followed(e) or missing_package(e)))
    return next(others, failures[0][1])


class Wanted:
    """What a `job` looks for in a run: the first model of the class, or of the function, `qualname`
    in the file `location`."""

    def __init__(self, job):
        *_, location, self.qualname = job.build.recipe.run
        self.job = copy.copy(job)
        self.location = os.path.realpath(os.path.join(STATE.root, location))
        self.whole = []  # those of the class whose constructors have come to their ends
        self.returned = []  # by the function


class ScriptRun:
    """A run of the file of a `module` with the words of a command behind its name, in a directory,
    for the model of a `job`. Those of its companions are made by the same run: where one of several
    is made, a process is forked that answers for it, as if it had run the script for it alone."""

    def __init__(self, module, job):
        self.words, folder, *_ = job.build.recipe.run
        self.folder = os.path.join(STATE.root, folder)
        self.path, self.package = module.__file__, module.__package__
        self.job, self.wanted = job, [*map(Wanted, (job, *job.companions))]
        self.torch = sys.modules["torch"]
        self.made = []  # all modules whose constructors have begun
        self.runs, self.is_running = 0, False  # of modules
        self.forgotten = []  # objects that the last statement that failed would have changed
        # (line, error) of each statement that was left out, with what had been made before, if it
        # only asked for files.
        self.failures = []

    def model(self):
        """The model as it is when the script begins to train, or ends."""
        refusals, ending = [*STATE.refusals], None
        with contextlib.ExitStack() as undo:
            self.watch(undo)
            try:
                self.run()
            except ScriptEnds as end:
                ending = end
            except (Exception, SystemExit) as error:
                ending = error
                if not isinstance(error, SystemExit) or error.code:
                    self.note_failure(relative(self.path), error)
            while not self.goes_on_for(self.wanted[0]):
                pass  # each of the others is answered by a process of its own
            (wanted,) = self.wanted
            model = self.found(wanted)
        makes_none = f"{relative(self.path)} makes no {wanted.qualname}"
        if isinstance(ending, OutOfTime):  # what is being made may be incomplete
            raise Failure("NPL004", "timed_out", f"{makes_none} within {SECONDS} s")
        failures = [(at, error) for at, error, made in self.failures if wanted not in made]
        if model is None and failures:
            STATE.refused = None
            raise cause_of(failures)
        if model is None:
            words = f" {ending}".rstrip() if isinstance(ending, ScriptEnds) else ""
            is_sure = not (words or (isinstance(ending, SystemExit) and is_early(ending)))
            is_sure = is_sure and any(map(self.is_other_model, self.made))
            raise Failure("NPL004", "not_a_model" if is_sure else "raised", makes_none + words)
        if failures:
            STATE.refusals[:] = refusals
            STATE.refusals.append(f"without {failures[0][0]}, {FAILS_HERE}")
        if len(set(map(size_of, wanted.returned or wanted.whole))) > 1:
            STATE.refusals.append(f"{FIRST_OF} that {relative(self.path)} makes")
        return model

    def goes_on_for(self, wanted):
        """Whether this process goes on for this one alone. Of several, a process that is forked
        does; the one that it comes from waits for its answer, and goes on for the others."""
        if len(self.wanted) > 1:
            drawn = random.getstate()
            if child := fork():
                waitpid(child, 0)
                self.wanted.remove(wanted)
                return False
            STATE.branch = getpid()
            random.setstate(drawn)  # Python seeds it anew
        self.wanted = [wanted]
        self.job.become(wanted.job)
        return True

    def note_failure(self, place, error, made=()):
        self.failures.append((place, error, made))

    def is_other_model(self, module):
        """Whether this is a model of the project: a script that makes none at all, or a loss, may
        have missed a GPU, or a file."""
        name = type(module).__module__
        is_own = name == "__main__" or is_ours(sys.modules.get(name))
        return is_own and next(self.torch.nn.Module.parameters(module), None) is not None

    def watch(self, undo):
        """Note what is made, and end the script where it has the model and trains."""
        undo.callback(sys.modules.__setitem__, "__main__", sys.modules["__main__"])
        undo.callback(os.chdir, os.getcwd())
        os.chdir(self.folder)
        undo.callback(setattr, STATE, "script_run", None)
        STATE.script_run = self
        limit_time(undo)
        words = self.words[self.words[:1] == ("--",) :]  # behind what torchrun takes
        changes = [
            *self.watched_modules(),
            *watched_files(self.folder, self.note_absence),
            *one_process(self.torch),
            (random, "seed", noting_seed(random.seed)),
            (self.torch, "manual_seed", noting_seed(self.torch.manual_seed)),
            (self.torch.multiprocessing, "spawn", spawn),
            (BaseProcess, "start", self.in_this_process(BaseProcess.start)),
            (BaseProcess, "join", lambda process, timeout=None: None),
            (argparse.ArgumentParser, "_get_value", known_value),
            (sys, "argv", [self.path, *map(self.from_folder, words)]),
        ]
        for owner, name, value in changes:
            undo.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, value)

    def watched_modules(self):
        """(owner, name, value) of what notes the modules that are made, and ends the script where
        one that is wanted is run, data are loaded or an optimizer is made."""
        kind = self.torch.nn.Module
        make, call = kind.__init__, kind.__call__

        def note(module, *args, **kwargs):
            if type(module).__name__ == SHARDED:  # it would replace the parameters by its own
                raise NotImplementedError("there is one process here")
            self.made.append(module)
            make(module, *args, **kwargs)

        def run_module(module, *args, **kwargs):
            if self.is_wanted(module):
                self.end_with(module)
            self.runs += not self.is_running
            if self.runs > MOST_RUNS and not self.in_constructor():
                raise ScriptEnds("before it trains another")
            before, self.is_running = self.is_running, True
            try:
                return call(module, *args, **kwargs)
            finally:
                self.is_running = before

        def ending(function):
            @functools.wraps(function)
            def end_or_go_on(*args, **kwargs):
                self.end_with()
                return function(*args, **kwargs)

            return end_or_go_on

        loader, optimizer = self.torch.utils.data.DataLoader, self.torch.optim.Optimizer
        return [
            (kind, "__init__", note),
            (kind, "__call__", run_module),
            (loader, "__iter__", ending(loader.__iter__)),
            (optimizer, "__init__", ending(optimizer.__init__)),
        ]

    def in_this_process(self, start):
        """What starts a process, or does its work here if that is the project's."""

        @functools.wraps(start)
        def run_or_start(process):
            self.end_with()
            work = getattr(process, "_target", None) or type(process)
            name = getattr(work, "__module__", "")
            is_own = name == "__main__" or is_ours(sys.modules.get(name))
            return process.run() if is_own else start(process)

        return run_or_start

    def note_absence(self, place, error):
        """Note the line that asks for files that are not there: the script may go on without."""
        made = [wanted for wanted in self.wanted if self.found(wanted) is not None]
        self.note_failure(place, error, made)

    def from_folder(self, word):
        """A word of the command, which may name a config file as it is from the root."""
        flag, sign, path = word.rpartition("=")
        at_root = os.path.join(STATE.root, path)
        is_there = os.path.isfile(at_root) and not os.path.exists(os.path.join(self.folder, path))
        return f"{flag}{sign}{at_root}" if is_there else word

    def noted(self, function, path):
        """What the file `path` defines; a function that is wanted notes what it returns, a class
        the objects whose constructors have come to their ends."""
        qualname, location = getattr(function, "__qualname__", ""), os.path.realpath(path)
        for wanted in self.wanted:
            if (wanted.qualname, wanted.location) == (qualname, location):
                break
        else:
            return function
        if isinstance(function, type):
            make = function.__init__

            @functools.wraps(make)
            def make_whole(module, *args, **kwargs):
                make(module, *args, **kwargs)
                if type(module) is function:
                    wanted.whole.append(module)

            function.__init__ = make_whole
        if not isinstance(function, types.FunctionType):
            return function

        @functools.wraps(function)
        def note(*args, **kwargs):
            value = function(*args, **kwargs)
            wanted.returned.append(value)
            return value

        return note

    def end_with(self, module=None):
        """End the script for what is made; `module`: if it is that."""
        for wanted in [*self.wanted]:
            model = self.found(wanted)
            is_whole = isinstance(model, self.torch.nn.Module)  # else it may hold one more later
            is_made = is_whole and module in (None, model) and not self.in_constructor()
            if is_made and self.goes_on_for(wanted):
                raise ScriptEnds

    def in_constructor(self):
        """Whether a module is being made, which may run what it has made."""
        frame = sys._getframe()
        while frame is not None:
            is_constructor = frame.f_code.co_name == "__init__"
            if is_constructor and isinstance(frame.f_locals.get("self"), self.torch.nn.Module):
                return True
            frame = frame.f_back
        return False

    def run(self):
        STATE.record.inputs().note("content", self.path)
        with open(self.path, "rb") as file:
            tree = ast.parse(file.read(), self.path)
        mark_definitions(tree, self.path)
        leave_out(tree, self.path, is_script=True)
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        main.__file__, main.__package__, main.__builtins__ = self.path, self.package, builtins
        exec(compile(tree, self.path, "exec"), vars(main))

    def found(self, wanted):
        """What the function returned first; or the first model of the class that is a part of no
        other."""
        if wanted.returned:
            return wanted.returned[0]
        parts = set()
        for module in self.made:
            if WRAPPERS.isdisjoint(kind.__name__ for kind in type(module).__mro__):
                parts.update(map(id, vars(module).get("_modules", {}).values()))
        return next((module for module in wanted.whole if id(module) not in parts), None)

    def is_wanted(self, module):
        return any(
            module is value for wanted in self.wanted for value in wanted.whole + wanted.returned
        )
