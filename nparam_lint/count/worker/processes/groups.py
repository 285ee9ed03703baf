"""The jobs that share an import path, and the processes that build their models."""

from __future__ import annotations

import collections
import contextlib
import faulthandler
import gc
import json
import os
import subprocess
import sys

from ..building.device_ladder import make_mode
from ..building.kernel_guard import restrict
from ..building.project_import import import_target, load_lazily, set_arguments, set_import_path
from ..building.side_effect_guard import guard, refuse_interpreters
from ..job import ModelBuild
from ..state import STATE
from ..tracing.dependency_record import InputLog
from ..tracing.failures import Failure, NextRung, died
from ..tracing.project_modules import project_modules
from ..tracing.project_paths import LAUNCHER
from ..tracing.read_tracer import job_dependencies, start_recording
from ..tracing.state_snapshot import ProcessSnapshot
from .children import ADOPT_ORPHANS, CAN_FORK, Child, fork_child, mark_output, prctl, resident
from .supervision import supervise

START_LIMIT = 300.0  # seconds for importing torch
SPLITS = 4  # times that a group is split because importing a file changed torch for all others
GRACE = 10.0  # seconds that a supervising process gets beyond what it supervises
META_IMPORTS = 300  # modules that a build imports when it is the first to compute on meta
PLENTY = 4  # models that wait for each process, so that one may be given another ahead of time
GROWTH = 1 << 28  # bytes that a process may grow by until another one goes on in its place


class BuilderTask:
    """A process forked from a group, which builds models one after the other: as long as none of
    them fails, or changes what the next one would start from."""

    def __init__(self, group):
        self.group = group
        self.limit = group.settings["timeout"]
        self.given = collections.deque()  # what it was told to build and has not answered for
        self.building = None  # the id of the job that it has begun

    def start(self):
        self.group.import_for_meta()
        self.child = fork_child(self, self.group.build, self.group.settings["nonce"])
        self.feed()
        return self.child

    def feed(self):
        """Tell it what to build next, ahead of time as long as others have enough to do."""
        group = self.group
        while group.waiting and len(self.given) <= group.ahead():
            self.given.append(group.waiting.popleft())
            if group.one_at_a_time:
                group.say_building(self.given[-1][0])
            self.child.tell(self.given[-1])
        if not self.given:
            self.child.tell(None)

    def ended(self):
        """Give back what it was told and did not do; a task to do it, where there is any."""
        self.group.waiting.extendleft(reversed(self.given))
        self.given.clear()
        return [BuilderTask(self.group)] if self.group.waiting else []


class GroupTask:
    """The jobs that share an import path, in one process that imports their modules. `files`: how
    to treat those that have killed a process; `splits`: how often it was split already;
    `one_at_a_time`: whether a builder is told of a model only after the one before, so that it is
    known which one kills it; `stays`: whether the process waits for the jobs of the next run,
    `child` being the one that does."""

    def __init__(
        self, jobs, settings, torch, files, splits=0, width=1, one_at_a_time=False, stays=False
    ):
        self.jobs, self.settings, self.torch = jobs, settings, torch
        self.files, self.splits = files, splits
        self.width, self.one_at_a_time = width, one_at_a_time  # models that it builds at a time
        self.stays, self.child = stays, None
        self.waiting = collections.deque()  # [job's id, failures], not yet given to a builder
        self.lacks_meta = False  # whether a build had to import what the next will need too
        self.limit = settings["timeout"] if CAN_FORK else START_LIMIT
        self.importing = None  # the job whose module is being imported, as its frames tell
        self.running = None  # the file that is being run for that
        self.building = {}  # id -> job, of those being built
        self.torch_changed_by = None  # the job whose module changed torch itself
        self.state_changed = False
        self.answered = set()

    def imports(self):
        """What its process imports, and how: one that has done so can do whatever shares it."""
        modules = dict.fromkeys((job["module"], job["file"]) for job in self.jobs)
        return self.jobs[0]["tolerant"], self.jobs[0]["roots"], list(modules), self.settings

    def start(self):
        if self.child:
            self.child.begin(self)
            self.child.tell(self.jobs)
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
        request = {
            "jobs": self.jobs,
            "settings": self.settings,
            "files": self.files,
            "splits": self.splits,
        }
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.close()
        return Child(self, process.pid, process.stdout.fileno(), process.stderr.fileno(), process)

    def run(self, channel, orders):
        timeout = self.settings["timeout"]
        self.up = channel
        STATE.begin_group(
            self.jobs[0]["tolerant"],
            self.files,
            lambda path: channel.send(event="running", path=path, limit=timeout),
        )
        prctl(ADOPT_ORPHANS, 1)
        self.mode = make_mode(self.torch)
        self.modules = {}
        set_import_path(self.jobs[0]["roots"])
        os.chdir(STATE.root)
        os.environ["PWD"] = STATE.root
        start_recording(self.torch)
        sys.addaudithook(guard)
        refuse_interpreters()
        STATE.is_kernel_guarded = restrict(STATE.temporary)
        STATE.is_guarded = True
        sys.dont_write_bytecode = True  # it would be refused each time
        ready = self.import_all()
        channel.send_record(limit=timeout)
        channel.send(event="imported", limit=timeout + GRACE)
        self.own = project_modules()
        # Once, for all that are forked from here.
        self.around = ProcessSnapshot(self.torch, self.own)
        gc.disable()
        gc.freeze()
        if not CAN_FORK:
            if self.build(channel, self.take(ready)):
                os._exit(0)
            return
        self.build_all(ready)
        if self.stays and len(ready) == len(self.jobs):
            for jobs in self.more(orders):
                self.build_all(jobs)

    def take(self, jobs):
        """What builders are told."""
        self.jobs_by_id = {job["id"]: job for job in jobs}
        return [[job["id"], job.get("failures", ())] for job in jobs]

    def build_all(self, jobs):
        mark_output(self.settings["nonce"])
        self.waiting.extend(self.take(jobs))
        supervise(
            [BuilderTask(self) for _ in range(min(self.width, len(jobs)))],
            dict(self.settings, jobs=self.width),
            self.on_frame,
            self.on_death,
        )

    def more(self, orders):
        """The jobs of one run after the other. What they rest on was read before the first."""
        while True:
            self.up.send(event="idle")
            jobs = next(orders, None)
            if jobs is None:
                return
            STATE.record.report_all_again()
            self.up.send_record(limit=self.settings["timeout"] + GRACE)
            yield jobs

    def import_all(self):
        """The jobs whose modules could be imported. A file that changes torch itself would change
        the counts of all others: the group ends and is split."""
        timeout = self.settings["timeout"]
        around = ProcessSnapshot(self.torch)
        several = len({job["module"] for job in self.jobs}) > 1
        ready = []
        for job in self.jobs:
            mark_output(self.settings["nonce"])
            self.up.send(event="importing", id=job["id"], limit=timeout)
            set_arguments(job)
            try:
                if job["module"] not in self.modules:
                    self.modules[job["module"]] = import_target(job)
                    load_lazily(self.modules[job["module"]], job["callable"])
            except Failure as failure:
                self.up.send_result(job["id"], failure.result, limit=timeout)
            else:
                ready.append(job)
            if several and self.splits < SPLITS and around.changed():
                self.up.send_record(limit=timeout)
                self.up.send(event="changed torch", id=job["id"])
                os._exit(0)
        STATE.on_running = None
        return ready

    def build(self, channel, orders):
        """Build what `orders` tell, [job's id, failures on the rungs before], until None or until
        one changes the process for those that come after; returns whether one did."""
        self.around.begin()
        most = resident() + GROWTH
        timeout = self.settings["timeout"]
        for order in orders:
            if order is None:
                break
            number, failures = order
            mark_output(self.settings["nonce"])
            # While it builds by itself its limit is that of the model; else others watch over it.
            channel.send(event="building", id=number, limit=timeout)
            if CAN_FORK:  # so that the obituary of one that never returns names a line
                faulthandler.dump_traceback_later(0.9 * timeout)
            before = len(sys.modules)
            ok = False
            STATE.begin_model(InputLog())
            set_arguments(self.jobs_by_id[number])
            try:
                result = self.measure(self.jobs_by_id[number], failures)
            except NextRung as more:
                channel.send(event="next rung", id=number, limit=timeout, failures=more.failures)
            else:
                ok = result["ok"]
                imported_meta = len(sys.modules) - before > META_IMPORTS
                channel.send_record(limit=timeout)
                inputs = job_dependencies(self.jobs_by_id[number])
                channel.send_result(
                    number, result, inputs, limit=timeout, imported_meta=imported_meta
                )
                del result
            # A constructor that failed half way may have changed anything.
            if not ok or resident() > most or self.around.changed():
                channel.send(event="changed state")
                return True
        return False

    def on_frame(self, task, frame, body):
        """What a builder says. Where a build had to import what torch computes with on meta (some
        800 modules, a second or more), the group does so once, before it forks again."""
        limit = self.settings["timeout"] + GRACE
        event = frame["event"]
        if event == "building":
            task.building = frame["id"]
            if not self.one_at_a_time:
                self.say_building(frame["id"])
        elif event == "result":
            self.lacks_meta = self.lacks_meta or frame.pop("imported_meta")
            self.up.send(body, **dict(frame, limit=limit))
            task.given.popleft()
            task.feed()
        elif event == "dependencies":
            self.up.send(body, event="dependencies", limit=limit)
        elif event == "next rung":
            self.up.send(event="alive", limit=limit)
            task.given.popleft()
            task.given.appendleft([frame["id"], frame["failures"]])
        elif event == "changed state":
            return task.ended()
        return []

    def ahead(self):
        """How many models a builder is told of besides the one at hand."""
        return 0 if self.one_at_a_time else int(len(self.waiting) > PLENTY * self.width)

    def say_building(self, number):
        self.up.send(event="building", id=number, limit=self.settings["timeout"] + GRACE)

    def on_death(self, task, ending, tail):
        """The job at hand is at fault; one that had not begun gets another chance, once."""
        if task.given:
            job = self.jobs_by_id[task.given[0][0]]
            if task.building == job["id"] or job.get("requeued"):
                task.given.popleft()
                limit = self.settings["timeout"] + GRACE
                self.up.send_result(job["id"], died(job, ending, tail), limit=limit)
            job["requeued"] = True
        return task.ended()

    def import_for_meta(self):
        """Import what a build on meta had to import, for those that are still to be forked."""
        if self.lacks_meta:
            self.lacks_meta = False
            with contextlib.suppress(Exception):
                self.torch.ones(1, device="meta") + 1
            if self.around.changed():  # by that, and not by a model
                self.around = ProcessSnapshot(self.torch, self.own)
            gc.freeze()

    def measure(self, job, failures):
        module = self.modules[job["module"]]
        traced = bool(self.own)  # only lines of the project are told
        try:
            return ModelBuild(job, module, self.torch, self.mode, failures, traced).run()
        except Failure as failure:
            return dict(failure.result, notes=failure.result.get("notes") or STATE.refusals)
