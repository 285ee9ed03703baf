"""The server of a run: hands the jobs out to groups, and passes their results on."""

import collections
import os
import sys

from ...ground.facts import fact
from ..building.device_ladder import make_mode
from ..building.devices import DEVICES
from ..building.kernel_guard import prctl, restrict
from ..building.side_effect_guard import guard, refuse_interpreters
from ..state import STATE
from ..torch_compat import Originals
from ..tracing.dependency_record import front_end_path
from ..tracing.project_paths import is_within
from ..tracing.read_tracer import start_recording
from .children import ADOPT_ORPHANS, CAN_FORK, result_body, use_large_pages
from .groups import MANY, JobGroup, Parent
from .jobs import Job
from .supervision import Supervision

PROTOCOL = 11


def guard_process(torch):
    """Put on all guards, for this process and whatever it forks, and record what is read."""
    prctl(ADOPT_ORPHANS, 1)
    os.chdir(STATE.root or os.curdir)
    os.environ["PWD"] = STATE.root
    start_recording(torch)
    restrict(STATE.temporary)
    sys.addaudithook(guard)
    refuse_interpreters()
    STATE.is_guarded = True
    sys.dont_write_bytecode = True  # it would be refused each time


class Server(Parent):
    """Hands the jobs of each run to groups, and follows up on what becomes of them. What a group
    had to import of installed packages is then imported here, once for all that are forked later;
    of the project nothing is imported here."""

    def __init__(self, settings, torch, sites):
        """`sites`: the states of what belongs to the interpreter, by path."""
        files = {"suspects": [], "barred": {}}
        super().__init__(settings, files, torch, make_mode(torch), Originals(torch))
        self.sites = sites
        # The guards that are on in every process that has run code of the project.
        self.guards = STATE.guards if CAN_FORK else None
        self.idle = None  # a process that has done the jobs of the run before, and waits for others

    def run(self, request, channel, alive):
        """Do the jobs of a run. `alive`: a descriptor that ends with the front end."""
        self.channel = channel
        self.jobs = {job.id: job for job in map(Job, request["orders"])}
        self.first_failure, self.answered, self.is_over = {}, set(), False
        self.tell_ready(request.get("probe"))
        STATE.record.report_all_again()
        self.tell_record()
        todo = [*self.jobs.values()]
        if len(todo) > MANY:
            use_large_pages()
        while todo:
            self.retry = []
            groups = self.groups_of(todo)
            is_first = len([group for group in groups if group.jobs[0].file]) > 1
            # The first shows what the others are likely to import of installed packages.
            width = 1 if is_first and not self.packages else self.settings["jobs"]
            handlers = self.on_frame, self.on_death
            self.groups = Supervision(groups, self.settings, width, *handlers)
            idle = self.groups.run(alive, lambda: self.channel.send(event="alive"))
            self.idle = idle[0] if idle else None
            todo = self.retry
        if not self.is_over:
            self.end()

    def tell_ready(self, is_probe):
        torch, devices = self.torch, None
        if is_probe:
            devices = ["meta", *(n for n, d in DEVICES.items() if d.why_absent(torch) is None)]
        self.channel.send(
            event="ready",
            protocol=PROTOCOL,
            torch=str(torch.__version__),
            python=sys.executable,
            version=".".join(map(str, sys.version_info[:3])),
            devices=devices,
            sites={
                fact("state", front_end_path(path)): state
                for path, state in self.sites.items()
                if not is_within(path)
            },
        )

    def groups_of(self, jobs):
        """Jobs that import in the same way, and whose modules lie in the same package, together. To
        import a package takes seconds on one core; two packages are imported on two."""
        alike = collections.defaultdict(list)
        for job in jobs:
            is_alone = job.failures or not CAN_FORK
            top = job.module.partition(".")[0]
            how = job.tolerant, job.gpu, job.roots
            place = how, bool(job.file), top
            alike[place, job.id if is_alone else None].append(job)
        width = max(1, self.settings["jobs"] // len(alike))
        groups = [JobGroup(group, self, width) for group in alike.values()]
        if self.idle is not None:
            if len(groups) == 1 and groups[0].modules() == self.idle.task.modules():
                groups[0].child = self.idle
            else:
                self.idle.end()
            self.idle = None
        return sorted(groups, key=lambda group: len(group.jobs), reverse=True)

    def hand_over(self, ended):
        """Let the group that has most to do build on the cores of the one that has ended, unless
        others wait for these."""
        others = [child for child in self.groups.running if child.task is not ended]
        free = self.settings["jobs"] - sum(child.task.width for child in others)
        if CAN_FORK and others and free > 0 and not self.groups.waiting:
            child = max(others, key=lambda child: len(child.task.left()))
            child.task.width += free
            child.tell(child.task.width)

    def end(self):
        """Tell that nothing follows: what the processes still have to do is not waited for."""
        self.is_over = True
        if self.jobs:
            self.groups.disown()
        # Without fork a thread reads the orders, in order to see their end: it would take more.
        guards = self.guards or []
        if not self.jobs:  # somebody asks what there is
            guards = [*guards, *STATE.unguarded]
        self.channel.send(event="end", jobs=len(self.answered), more=CAN_FORK, guards=guards)

    def on_frame(self, group, frame, body):
        event, job = frame["event"], self.jobs.get(frame.get("id"))
        following = group.hear(frame)
        if event == "packages":
            self.packages.update(dict.fromkeys(frame["names"]))
            self.groups.width = self.settings["jobs"]
        if self.is_over:
            return []
        if event == "guards":
            self.guards = [
                name for name in self.guards or frame["guards"] if name in frame["guards"]
            ]
        elif event == "done":
            self.hand_over(group)
        elif event == "building":
            self.channel.send(event="building", id=frame["id"])
        elif event == "dependencies":
            self.channel.send(body, event="dependencies")
        elif event == "result":
            self.answer(job, frame, body)
        elif event == "next rung":  # from a process that has built it by itself
            job.failures = frame["failures"]
            self.retry.append(job)
        return following

    def answer(self, job, frame, body):
        """Pass a result on; or, when the import failed, try the next way to import: every path
        strictly, then every path without the imports that fail, unless git lacks what they need."""
        if frame.get("not_tracked"):
            job.is_needed = True
            self.first_failure[job.id] = frame, body
        if frame.get("next_attempt"):
            self.first_failure.setdefault(job.id, (frame, body))
            job.attempt += 1
            tolerable = not job.tolerant and not job.is_needed
            if job.attempt == len(job.attempts) and tolerable:
                job.attempt, job.tolerant = 0, True
            if job.attempt < len(job.attempts):
                self.retry.append(job)
                return
        if frame.get("asks_gpu"):
            if frame["code"] != "NPL003":
                self.first_failure[job.id] = frame, body
            self.first_failure.setdefault(job.id, (frame, body))
            job.gpu, job.attempt, job.tolerant, job.failures = True, 0, False, ()
            self.retry.append(job)
            return
        fails_again = job.gpu and not (frame["ok"] or frame.get("depends_on_gpu"))
        if frame.get("code") == "NPL003" or fails_again:
            frame, body = self.first_failure.get(job.id, (frame, body))
        if job.id not in self.answered:
            self.answered.add(job.id)
            # A first attempt that failed read things too; a file that hung may hang no more.
            retried = job.attempt > 0 or job.tolerant or job.gpu
            retried = retried or frame.get("code") == "NPL003"
            kept = not self.files["suspects"] and not self.files["barred"]
            frame = {"id": job.id, "ok": frame["ok"], "retried": retried, "kept": kept}
            self.channel.send(body, event="result", **frame)
            if len(self.answered) == len(self.jobs):
                self.end()

    def on_death(self, group, ending, tail):
        groups, results = group.after_death(ending, tail)
        for job, result in results:
            frame = {"ok": False, "code": result["code"]}
            self.answer(job, frame, result_body(result, None))
        return groups
