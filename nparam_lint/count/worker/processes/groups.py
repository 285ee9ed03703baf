"""Groups: the jobs that share an import path, and the processes that build their models."""

import collections
import contextlib
import dataclasses
import faulthandler
import gc
import importlib
import itertools
import json
import os
import subprocess
import sys
import time
import types
from os import _exit as leave
from typing import Optional

from ..building.device_ladder import make_mode
from ..building.kernel_guard import prctl, restrict
from ..building.project_import import import_target, load_lazily, set_arguments, set_import_path
from ..building.side_effect_guard import guard, refuse_interpreters
from ..job import ModelBuild, rehearse
from ..state import STATE
from ..torch_compat import Originals
from ..tracing import environment
from ..tracing.dependency_record import InputLog
from ..tracing.failures import Failure, NextRung, died
from ..tracing.project_paths import LAUNCHER, is_installed, project_modules
from ..tracing.read_tracer import job_dependencies, record_held, start_recording
from ..tracing.state_snapshot import ProcessSnapshot
from .children import (
    ADOPT_ORPHANS,
    CAN_FORK,
    Child,
    fork_child,
    mark_output,
    news_of_record,
    resident,
    result_body,
)
from .supervision import Supervision

PASSED_ON = ("jobs", "settings", "files", "apart", "allowed")  # to a group that is spawned
GIVEN = (*PASSED_ON, "width", "one_at_a_time", "run_size")  # to one that was made ready before
START_LIMIT = 300.0  # seconds for importing torch
GRACE = 10.0  # seconds that a supervising process gets beyond what it supervises
FEW = 50  # newly imported modules: so few are imported again by each process
PLENTY = 4  # models that wait for each process, so that one may be given others ahead of time
SEVERAL = 16  # models that are built between two looks at all that they might have patched
QUICK = 0.1  # seconds that an order takes which may be followed by one of twice as many models
SEVERAL_LIMIT = 5.0  # seconds for several models, before each of them is built by itself
# Causes of failures after which a process may go on, if nothing in it has changed.
HARMLESS = ("raised", "package_missing", "arguments_missing", "argument_unknown")
GROWTH = 1 << 28  # bytes that a process may grow by until another one goes on in its place


class BuilderTask:
    """A process forked from a group, which builds models one after the other: as long as none of
    them fails, or changes what the next one would start from."""

    def __init__(self, group):
        self.group = group
        self.limit = group.settings["timeout"]
        # Orders without all results yet, each a list of [job's id, failures on the rungs before].
        self.given = collections.deque()
        self.building, self.begun = (), 0.0  # the ids of the order that it has begun, and when
        self.size = 1  # models in the next order

    def start(self):
        self.group.import_packages()
        self.child = fork_child(self, self.group.build, self.group.settings["nonce"])
        self.feed()
        return self.child

    def feed(self):
        """Send it the next models to build, ahead of time as long as others have enough to do."""
        group = self.group
        while group.waiting and len(self.given) <= min(1, group.share()):
            size = min(self.size, group.longest, max(1, group.share()))
            self.given.append([group.waiting.popleft() for _ in range(size)])
            if group.one_at_a_time:
                group.up.send(event="building", ids=[self.given[-1][0][0]])
            self.child.tell(self.given[-1])
        if not self.given:
            self.child.tell(None)

    def begin(self, ids):
        """It has begun an order."""
        self.building, self.begun = ids, time.monotonic()
        self.expect(len(ids))

    def expect(self, models):
        """Give it the time that so many models have."""
        limit = min(self.limit, SEVERAL_LIMIT) if models > 1 else self.limit
        self.child.deadline = time.monotonic() + limit

    def answered(self):
        """The first model that it was given has its result; those of the others come together."""
        self.given[0].pop(0)
        if self.given[0]:
            self.expect(len(self.building))
        else:
            self.given.popleft()
            is_quick = time.monotonic() - self.begun < QUICK
            self.size = min(2 * self.size, SEVERAL) if is_quick else 1
            self.feed()

    def ended(self):
        """Return the models that it did not build to the group; gives a task for them, if there are
        any."""
        self.group.waiting.extendleft(reversed([*itertools.chain(*self.given)]))
        self.given.clear()
        return [BuilderTask(self.group)] if self.group.waiting else []


@dataclasses.dataclass(eq=False)
class GroupTask:
    """The jobs that share an import path, in one process that imports their modules. `files`: how
    to treat those that have killed a process; `apart`: those that change torch for all others (None
    where it is not known that there are any); `allowed`: those of them that its jobs need; `width`:
    models that it builds at a time; `one_at_a_time`: whether a builder gets a model only after the
    one before, so that it is known which one kills it; `run_size`: how many jobs the run has. The
    process that does them all waits for those of the next; `child` is one that did."""

    jobs: list
    settings: dict
    torch: types.ModuleType
    files: dict
    apart: Optional[list] = None
    allowed: tuple = ()
    width: int = 1
    one_at_a_time: bool = False
    run_size: int = 0
    lead: Optional[tuple] = None  # whether it is tolerant, and its roots, before it has jobs
    packages_ahead: tuple = ()  # names of installed modules that it imports before that
    alone: bool = False  # whether it builds a model by itself, if that is its only one

    def __post_init__(self):
        if self.lead is None:
            self.lead = self.jobs[0]["tolerant"], self.jobs[0]["roots"]
        self.child = None
        self.waiting = collections.deque()  # [job's id, failures], not yet given to a builder
        self.longest = SEVERAL  # models in an order
        self.packages = {}  # names of modules that builds had to import, as keys
        self.limit = self.settings["timeout"] if CAN_FORK else START_LIMIT
        # As its frames tell: the job whose module is being imported, the file that is being run for
        # that, the jobs that are being built by their ids, and what they changed: "torch", "state".
        self.importing = self.running = self.changed = self.culprits = None
        self.building = {}
        self.answered = set()
        self.guards = None  # that are on in its process

    def imports(self):
        """What its process imports, and how: a process that has done so can do any group with the
        same imports."""
        modules = dict.fromkeys((job["module"], job["file"]) for job in self.jobs)
        return self.jobs[0]["tolerant"], self.jobs[0]["roots"], list(modules), self.settings

    def start(self):
        if self.child:
            is_ready = not self.child.task.jobs
            self.child.begin(self)
            self.child.tell(
                {name: getattr(self, name) for name in GIVEN} if is_ready else self.jobs
            )
            return self.child
        if CAN_FORK:
            return fork_child(self, self.run, self.settings["nonce"])
        isolated = ["-I"] if sys.flags.isolated else []
        process = subprocess.Popen(
            [sys.executable, *isolated, "-X", "faulthandler", LAUNCHER, "--group"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=os.name == "posix",
        )
        request = {name: getattr(self, name) for name in PASSED_ON}
        for line in ({"environ": environment.variables()}, request):
            process.stdin.write(json.dumps(line).encode() + b"\n")
        process.stdin.close()
        channel, output = process.stdout.fileno(), process.stderr.fileno()
        return Child(self, process.pid, channel, output, process=process)

    def run(self, channel, orders):
        self.up = channel
        self.up.limit = self.settings["timeout"]
        tolerant, roots = self.lead
        before = frozenset(sys.modules)

        def begin():
            STATE.begin_group(
                tolerant, self.files, lambda path: channel.send(event="running", path=path)
            )

        begin()
        prctl(ADOPT_ORPHANS, 1)
        self.mode, self.originals = make_mode(self.torch), Originals(self.torch)
        self.modules = {}
        set_import_path(roots)
        os.chdir(STATE.root)
        os.environ["PWD"] = STATE.root
        start_recording(self.torch)
        restrict(STATE.temporary)
        sys.addaudithook(guard)
        refuse_interpreters()
        STATE.is_guarded = True
        self.up.send(event="guards", guards=STATE.guards)
        sys.dont_write_bytecode = True  # it would be refused each time
        self.around = ProcessSnapshot(self.torch)
        if not self.jobs:
            self.await_jobs(orders)
            begin()
        environ = environment.contents()
        known = dict(sys.modules)  # none of them is the project's
        ready = self.import_all()
        builds_itself = self.alone and len(ready) == 1 and not self.settings["reuse"]
        if not builds_itself:  # else it tells when the model is built, which somebody waits for
            record_held()
            channel.send_record()
        channel.limit += GRACE
        channel.send(event="imported")
        self.own = project_modules(known)
        gc.disable()  # a module may have turned it on again
        gc.freeze()
        if not CAN_FORK:
            channel.limit -= GRACE  # while it builds by itself
            self.prepare(is_last=False)
            if self.build(channel, ([one] for one in self.take(ready))):
                os._exit(0)
            return
        is_same, imported = environment.contents() == environ, list(sys.modules)
        self.is_plain = not any("failures" in job for job in ready)
        if builds_itself:
            channel.limit -= GRACE
            self.prepare(is_last=True)
            self.build(channel, [self.take(ready)])
        else:
            self.build_all(ready)
        if self.settings["ahead"] and is_same:
            new = (name for name in imported if name not in before)
            names = [*filter(is_installed, new), *self.packages]
            channel.send(event="ahead", names=names, lead=self.lead, alone=self.is_plain)
        if self.settings["reuse"] and len(ready) == self.run_size:
            channel.send(event="idle")
            for jobs in orders:  # of one run after the other, that rest on what was read before
                STATE.record.report_all_again()
                channel.send_record()
                self.build_all(jobs)
                channel.send(event="idle")

    def await_jobs(self, orders):
        """Import the installed packages that the run before had to import, and wait for the jobs of
        the next one. What packages may do beyond that is for a process of its own."""
        for name in self.packages_ahead:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        with contextlib.suppress(Exception):  # a package may have changed torch: that is seen below
            result_body(rehearse(self.torch, self.originals, self.mode), None)
        record_held()
        if self.around.changed() or project_modules({}):
            leave(0)
        news = news_of_record()  # nearly all that there will be
        gc.freeze()
        order = next(orders, None)
        if order is None:
            leave(0)
        for name in GIVEN:
            setattr(self, name, order[name])
        self.up.send_record(news)  # not before: nobody reads it while the order is written

    def take(self, jobs):
        """What orders for builders are made of."""
        self.jobs_by_id = {job["id"]: job for job in jobs}
        return [[job["id"], job.get("failures", ())] for job in jobs]

    def prepare(self, is_last):
        """`is_last`: each builder ends after one model, so that it need not see what that changes;
        else what must stay as it is is looked up once, for all that are forked from here."""
        self.is_last = is_last
        if not (is_last or self.around.process):
            self.around = ProcessSnapshot(self.torch, self.own)

    def build_all(self, jobs):
        mark_output(self.settings["nonce"])
        self.waiting.extend(self.take(jobs))
        self.prepare(is_last=len(jobs) <= self.width)
        tasks = [BuilderTask(self) for _ in range(min(self.width, len(jobs)))]
        settings = dict(self.settings, jobs=self.width)
        handlers = self.on_frame, self.on_death, self.widen
        self.builders = Supervision(tasks, settings, *handlers)
        self.builders.run(self.up.orders)

    def widen(self, data):
        """Build as many models at a time as `data` says in its last line: a group has ended."""
        width = int(data.split()[-1])
        added = min(width - self.width, len(self.waiting))
        self.builders.waiting.extend(BuilderTask(self) for _ in range(added))
        self.width = self.builders.settings["jobs"] = width

    def import_all(self):
        """The jobs whose modules could be imported. A file that changes torch itself would change
        the counts of all others. Then the group ends, and the next finds out which files do so;
        that ends too, and those that import such a file are left to a group of their own."""
        several = len({job["module"] for job in self.jobs}) > 1
        ready, left, culprits = [], {}, []  # left: name of a module -> why it is

        def blame(path):
            if self.around.changed() and path not in (*self.allowed, *culprits):
                culprits.append(path)
                self.up.send(event="changed", what="torch", culprits=culprits)

        def leave_if(changed):
            if several and not culprits and changed():
                self.up.send_record()
                self.up.send(event="changed", what="torch", culprits=())
                leave(0)

        if self.apart is not None:
            STATE.set_apart = frozenset(self.apart) - frozenset(self.allowed)
            STATE.on_run = blame if several else None
        for number, job in enumerate(self.jobs):
            STATE.met = left.get(job["module"])
            if STATE.met:
                continue
            mark_output(self.settings["nonce"])
            self.up.send(event="importing", id=job["id"])
            set_arguments(job)
            try:
                if job["module"] not in self.modules:
                    self.modules[job["module"]] = import_target(job)
                    load_lazily(self.modules[job["module"]], job["callable"])
            except Failure as failure:
                leave_if(self.around.changed)  # then that may be why
                if not STATE.met and not culprits:
                    self.up.send_result(job["id"], failure.result)
            else:
                ready += [] if STATE.met else [job]
            if STATE.met:
                left[job["module"]] = STATE.met
            leave_if(self.around.state_changed if number % SEVERAL else self.around.changed)
        leave_if(self.around.changed)
        if culprits:
            self.up.send_record()
            leave(0)
        STATE.on_running = STATE.on_run = None
        STATE.set_apart = frozenset()  # what is imported while models are built
        for path in dict.fromkeys(left.values()):
            ids = [job["id"] for job in self.jobs if left.get(job["module"]) == path]
            self.up.send(event="apart", path=path, jobs=ids)
        return ready

    def build(self, channel, orders):
        """Build what `orders` tell, until None or until a model changes the process for those that
        come after; returns whether one did."""
        if not self.is_last:
            self.around.begin()
        most = resident() + GROWTH
        for order in orders:
            if order is None:
                break
            if self.build_order(channel, order, most):
                channel.send(event="changed", what="state")
                return True
        return False

    def build_order(self, channel, order, most):
        """Build the models of an order, [job's id, failures on the rungs before], one after the
        other; returns whether this process can build no others. The first result is sent at once,
        since it holds whatever follows. After each model the state of the project and of torch is
        compared; patches of whatever library are looked for once, at the end: if there is one, the
        other results are dropped, and these models are built again. `most`: bytes that this process
        may take."""
        mark_output(self.settings["nonce"])
        channel.send(event="building", ids=[number for number, _ in order])
        if CAN_FORK:  # so that the message about one that never returns names a line
            faulthandler.dump_traceback_later(0.9 * self.settings["timeout"])
        before, held, is_changed = set(sys.modules), [], False
        for place, (number, failures) in enumerate(order):
            frame, is_over = self.build_one(channel, self.jobs_by_id[number], failures)
            if place == 0:
                channel.send_record()
                channel.write(frame)
            else:
                held.append(frame)
            is_over = is_over or self.is_last or resident() > most
            if not is_over:
                is_changed = is_over = self.around.state_changed()
            if is_over:
                break
        new = [name for name in list(sys.modules) if name not in before]
        asks = held or not is_over or len(new) > FEW
        is_patched = asks and self.around.torch_changed()
        if held and not is_patched:
            channel.send_record()
            channel.write(b"".join(held))
        if len(new) > FEW and not (is_patched or is_changed):
            names = [*filter(is_installed, new)]
            self.packages.update(dict.fromkeys(names))
            channel.send(event="imported", names=names)
        return is_over or is_patched

    def build_one(self, channel, job, failures):
        """(frame with the result, whether this process can build no others)."""
        size = len(sys.modules)
        STATE.begin_model(InputLog())
        set_arguments(job)
        try:
            result = ModelBuild(
                job=job,
                module=self.modules[job["module"]],
                torch=self.torch,
                originals=self.originals,
                mode=self.mode,
                failures=failures,
                traced=self.is_traced(job),
            ).run()
        except NextRung as rung:
            self.is_plain = False
            return channel.frame(event="next rung", id=job["id"], failures=rung.failures), True
        frame = channel.result(job["id"], result, job_dependencies(job))
        # A constructor that failed half way may have left anything: a module that lacks what was to
        # be imported next, a limit that was reached.
        is_harmless = result.get("cause") in HARMLESS and len(sys.modules) == size
        return frame, not (result["ok"] or is_harmless)

    def is_traced(self, job):
        """Whether the lines that make its parts are wanted: those of the project, and of packages
        where somebody asks for this one model."""
        return (bool(self.own) or job["parameters"]) and (job["origins"] or not job["points"])

    def on_frame(self, task, frame, body):
        """Handle a frame of a builder."""
        event = frame["event"]
        if event == "building":
            task.begin(frame["ids"])
            if not self.one_at_a_time:
                self.up.send(**frame)
        elif event == "result":
            self.up.send(body, **frame)
            task.answered()
        elif event == "dependencies":
            self.up.send(body, **frame)
        elif event == "imported":
            self.packages.update(dict.fromkeys(frame["names"]))
        elif event == "next rung":
            self.is_plain = False
            self.up.send(event="alive")
            task.given[0][0] = [frame["id"], frame["failures"]]
        elif event == "changed":
            return task.ended()
        return []

    def share(self):
        """How many of the models that wait a builder may be given ahead of time."""
        return 0 if self.one_at_a_time else len(self.waiting) // (PLENTY * self.width)

    def on_death(self, task, ending, tail):
        """The current job is at fault, or one of several, which are then built by themselves; a job
        that had not begun is retried once."""
        self.is_plain = False
        if len(task.building) > 1:
            self.longest = 1
        elif task.given:
            job = self.jobs_by_id[task.given[0][0][0]]
            if job["id"] in task.building or job.get("requeued"):
                task.given[0].pop(0)
                result = died("built " + job["label"], ending, tail)
                self.up.send_result(job["id"], result)
            job["requeued"] = True
        return task.ended()

    def import_packages(self):
        """Import what builds had to import of installed packages, once for all that are still to be
        forked: what torch needs to compute on meta (some 800 modules), Hydra, Lightning."""
        names = [name for name in self.packages if name not in sys.modules]
        if self.is_last or not names:
            return
        self.up.send(event="alive")
        for name in names:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
        record_held()
        self.up.send_record()
        if self.around.changed():  # by that, and not by a model
            self.around = ProcessSnapshot(self.torch, self.own)
        gc.freeze()
